"""Draws how far each series reaches at each place: a step line of what is reached for sure, its bounds as a band."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import Canvas, Part, domain, drawn, fits, named, number, scale, share
from httpdyno.report.charts.ends import beside, named_ends
from httpdyno.report.charts.labels import with_unit

__all__ = ["draw"]

_HEIGHT: Final = 320
_SIDE: Final = 62
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
_APART: Final = 3
"""Pixels between lines that would lie on each other: clients that hold the same are seen side by side."""
_ROOM: Final = 1.06
"""An arrow stands above the largest value."""
_REACHED, _OPEN_ABOVE, _OPEN_BELOW = "reached", "open above", "open below"
_SHAPES: Final = {_REACHED: "circle", _OPEN_ABOVE: "triangle-up", _OPEN_BELOW: "triangle-down"}


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``STAIRS``."""
    names = drawn(chart)
    width = int(canvas.width - _SIDE - (0 if canvas.narrow else beside(chart)))
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    highest = domain(chart.y, [y for series in chart.series for y in (*series.low, *series.high, *series.y)])
    up = (highest[0], highest[1] * _ROOM)
    x = number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width))
    y = number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _HEIGHT))
    legend: Part = {"columns": 1, "offset": _ABOVE, "symbolOpacity": 1}
    colour = canvas.colour(chart, names, legend=legend if canvas.narrow else None)
    place = {"x": x, "y": y, "color": colour}
    steps = [series for series in chart.series if not series.faint]
    aside = {series.name: _APART * (nth - (len(steps) - 1) / 2) for nth, series in enumerate(steps)}
    drawn_one_by_one = [_series(chart, canvas, series, place, aside[series.name]) for series in steps]
    # What is in doubt of one lies behind what is known of all others.
    layers = [layer for alike in zip(*drawn_one_by_one, strict=True) for layer in alike]
    for series in chart.series:
        if series.faint:
            rows = [{"x": x, "y": y, "name": series.name} for x, y in _known(chart, series)]
            dashes = {"strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.8}
            layers.append(canvas.marks("line", rows, place, **dashes))
    drawing = alt.layer(*layers) if layers else canvas.marks("line", [], place)
    if not canvas.narrow:
        ends = {
            series.name: (end[0] + aside.get(series.name, 0.0), end[1] - aside.get(series.name, 0.0))
            for series in chart.series
            if (end := _end(chart, series, width, (across, up)))
        }
        side = named_ends(chart, ends, canvas, (width, _HEIGHT))
        drawing = alt.layer(drawing, side).resolve_scale(x="independent", y="independent")
    return drawing.properties(width=width, height=_HEIGHT)


def _series(chart: Chart, canvas: Canvas, series: Series, place: Part, aside: float) -> list[Any]:
    """Draw one series, moved aside by so many pixels."""
    moved = {"xOffset": aside, "yOffset": -aside}
    moved_band = moved | {"x2Offset": aside, "y2Offset": -aside}
    box = place | {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    told = place | {"description": named("words")}
    bound = place | {"y": place["y"] | {"field": "low"}, "y2": {"field": "high"}}
    points = _points(chart, series)
    line = [{"x": x, "y": y, "name": series.name, "place": at} for at, (x, y) in enumerate(_corners(chart, series))]
    bounded = [row for row in points if row["high"] is not None]
    solid: Part = {"strokeWidth": 2, "strokeJoin": "round"}
    layers = [
        canvas.marks("rect", list(_bands(chart, series)), box, opacity=0.1, **moved_band),
        canvas.marks("rule", bounded, bound, strokeWidth=4, strokeCap="round", opacity=0.35, **moved_band),
        canvas.marks("line", line, place | {"order": number("place")}, **solid, **moved),
    ]
    for kind, shape in _SHAPES.items():
        rows = [row for row in points if row["kind"] == kind]
        looks: Part = {"shape": shape, "filled": True, "size": 70 if kind == _REACHED else 110, "opacity": 1}
        edge = {"stroke": canvas.theme.surface, "strokeWidth": 1}
        layers.append(canvas.marks("point", rows, told, **looks, **edge, **moved))
    return layers


def _points(chart: Chart, series: Series) -> list[dict[str, Any]]:
    rows = []
    for x, reached, low, high in zip(series.x, series.y, series.low, series.high, strict=True):
        if isinstance(x, str) or not fits(chart.x, x):
            continue
        kind = _OPEN_BELOW if reached is None else _OPEN_ABOVE if high is None else _REACHED
        at = reached if reached is not None else high
        if at is not None and fits(chart.y, at):
            said = _said(chart, reached, low, high)
            words = f"{series.name}, {chart.x.label} {with_unit(x, chart.x)}: {said}"
            rows.append(
                {"x": x, "y": at, "low": low or 0.0, "high": high, "name": series.name, "kind": kind, "words": words}
            )
    return rows


def _said(chart: Chart, reached: float | None, low: float | None, high: float | None) -> str:
    """Describe what is reached and how sure that is, and where nothing was tried beyond."""
    if reached is None:
        return "nothing is known" if high is None else f"not even {with_unit(high, chart.y)}, the least that was tried"
    if high is None:
        return f"{with_unit(reached, chart.y)} or more"
    sure = f"{with_unit(low, chart.y)} for sure, " if low is not None and low != reached else ""
    return f"{with_unit(reached, chart.y)}: {sure}not {with_unit(high, chart.y)}"


def _falls(chart: Chart, series: Series) -> bool:
    """Return whether a series reaches less the further to the right: then what it reaches there, it reaches before."""
    known = [y for _, y in _known(chart, series)]
    return bool(known) and known[-1] <= known[0]


def _corners(chart: Chart, series: Series) -> Iterator[tuple[float, float]]:
    """Walk along what is reached for sure: between two places that is the lesser of both."""
    known = list(_known(chart, series))
    falls = _falls(chart, series)
    for place, (x, y) in enumerate(known):
        yield x, y
        if place + 1 < len(known):
            next_x, next_y = known[place + 1]
            yield (x, next_y) if falls else (next_x, y)


def _bands(chart: Chart, series: Series) -> Iterator[dict[str, Any]]:
    """Cover what is neither reached for sure nor known to be out of reach, from each place to the next."""
    falls = _falls(chart, series)
    whole = [
        (x, low or 0.0, high)
        for x, low, high in zip(series.x, series.low, series.high, strict=True)
        if not isinstance(x, str) and fits(chart.x, x)
    ]
    for (x, low, high), (next_x, next_low, next_high) in pairwise(whole):
        bottom, top = (next_low, high) if falls else (low, next_high)
        if top is not None and fits(chart.y, bottom):
            yield {"x": x, "x2": next_x, "y": bottom, "y2": top, "name": series.name}


def _known(chart: Chart, series: Series) -> Iterator[tuple[float, float]]:
    """Return the line: where nothing is reached it runs along the bottom."""
    for x, reached in zip(series.x, series.y, strict=True):
        y = 0.0 if reached is None else reached
        if not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y):
            yield x, y


def _end(
    chart: Chart, series: Series, width: int, extents: tuple[tuple[float, float], tuple[float, float]]
) -> tuple[float, float] | None:
    across, up = extents
    known = list(_known(chart, series))
    if not known:
        return None
    x, y = known[-1]
    return share(chart.x, across, x) * width, (1 - share(chart.y, up, y)) * _HEIGHT
