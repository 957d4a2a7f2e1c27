"""Lines and step lines in one frame, each named at its end."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import (
    FACE,
    LABEL_SIZE,
    Canvas,
    Part,
    apart,
    domain,
    drawn,
    fits,
    named,
    number,
    placed,
    point_words,
    pointed_at,
    scale,
    share,
    text_width,
    with_unit,
)

_GAP: Final = 17
_LEADER: Final = 26
_NAMES_AT_MOST: Final = 180


def ends_width(chart: Chart) -> float:
    """Estimate the room that the names of a chart's series need, in pixels."""
    return _LEADER + min(max((text_width(name, LABEL_SIZE) for name in drawn(chart)), default=0), _NAMES_AT_MOST)


def named_ends(chart: Chart, ends: Mapping[str, tuple[float, float]], canvas: Canvas, frame: tuple[int, int]) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Write the names of a chart's series next to the ends of their lines.

    ``ends`` are by name, in pixels from the top left; ``frame`` is the width and height of what the lines are in.
    """
    width, height = frame
    heights = apart([y for _, y in ends.values()], _GAP, 0, height)
    rows = [
        {"name": name, "fromX": x, "fromY": y, "toX": width + _LEADER - 6, "textX": width + _LEADER, "toY": at}
        for (name, (x, y)), at in zip(ends.items(), heights, strict=True)
    ]
    pixels_x, pixels_y = {"domain": [0, width]}, {"domain": [height, 0]}
    leader = {
        "x": number("fromX", scale=pixels_x, axis=None),
        "x2": {"field": "toX"},
        "y": number("fromY", scale=pixels_y, axis=None),
        "y2": {"field": "toY"},
        "color": canvas.colour(chart, drawn(chart)),
    }
    text = {
        "x": number("textX", scale=pixels_x, axis=None),
        "y": number("toY", scale=pixels_y, axis=None),
        "text": named("name"),
    }
    looks = {
        "align": "left",
        "baseline": "middle",
        "fontSize": LABEL_SIZE,
        "color": canvas.theme.ink,
        "limit": int(FACE * _NAMES_AT_MOST),
    }
    return alt.layer(
        canvas.marks("rule", rows, leader, strokeWidth=1, opacity=0.6), canvas.marks("text", rows, text, **looks)
    )


_LINES_HEIGHT: Final = 300
_SIDE: Final = 62
"""Room for the labels of the vertical axis."""
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
_OPACITY: Final = {"condition": {"test": "datum.faint", "value": 0.3}, "value": 1}
_ALONE: Final = {"condition": {"test": "datum.alone", "value": 1}, "value": 0}


def draw_lines(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``LINES``."""
    names = drawn(chart)
    width = int(canvas.width - _SIDE - (0 if canvas.narrow else ends_width(chart)))
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [y for series in chart.series for y in series.y])
    encoding = {
        "x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width)),
        "y": number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _LINES_HEIGHT)),
        "color": canvas.colour(chart, names, legend={"columns": 2, "offset": _ABOVE} if canvas.narrow else None),
    }
    one_by_one = {"detail": named("line"), "order": number("place"), "strokeOpacity": _OPACITY}
    drawing = alt.layer(
        canvas.marks("line", _rows(chart), encoding | one_by_one, strokeWidth=2, strokeJoin="round"),
        # Invisible points for the pointer, few enough to keep the page small. One alone makes no line.
        canvas.marks(
            "point",
            _hover_rows(chart),
            encoding | {"description": named("words"), "opacity": _ALONE},
            filled=True,
            size=40,
        ),
    )
    if not canvas.narrow:
        side = named_ends(chart, _ends(chart, width, (across, up)), canvas, (width, _LINES_HEIGHT))
        drawing = alt.layer(drawing, side).resolve_scale(x="independent", y="independent")
    return drawing.properties(width=width, height=_LINES_HEIGHT)


def _rows(chart: Chart) -> list[dict[str, Any]]:
    return [
        {"x": placed(chart.x, x), "y": y, "name": series.name, "line": number, "place": place, "faint": series.faint}
        # The first is drawn last, so that it lies on top.
        for number, series in reversed(list(enumerate(chart.series)))
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
    ]


def _hover_rows(chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "x": placed(chart.x, x),
            "y": y,
            "name": series.name,
            "words": point_words(series, place, chart.x, chart.y),
            "alone": sum(value is not None for value in series.y) == 1,
        }
        for series in chart.series
        if not series.faint
        for place in pointed_at(chart, series)
        for x, y in [(series.x[place], series.y[place])]
        if not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
    ]


def _ends(
    chart: Chart, width: int, extents: tuple[tuple[float, float], tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Find where each line ends, in pixels from the top left."""
    across, up = extents
    ends: dict[str, tuple[float, float]] = {}
    for series in chart.series:
        known = [
            (share(chart.x, across, x) * width, (1 - share(chart.y, up, y)) * _LINES_HEIGHT)
            for x, y in zip(series.x, series.y, strict=True)
            if y is not None and not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
        ]
        if known and not series.faint:
            ends[series.name] = known[-1]
    return ends


_STAIRS_HEIGHT: Final = 320
"""A legend stands above the title of the vertical axis."""
_APART: Final = 3
"""Pixels between lines that would lie on each other: clients that hold the same are seen side by side."""
_ROOM: Final = 1.06
"""An arrow stands above the largest value."""
_REACHED, _OPEN_ABOVE, _OPEN_BELOW = "reached", "open above", "open below"
_SHAPES: Final = {_REACHED: "circle", _OPEN_ABOVE: "triangle-up", _OPEN_BELOW: "triangle-down"}


def draw_stairs(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``STAIRS``."""
    names = drawn(chart)
    width = int(canvas.width - _SIDE - (0 if canvas.narrow else ends_width(chart)))
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    highest = domain(chart.y, [y for series in chart.series for y in (*series.low, *series.high, *series.y)])
    up = (highest[0], highest[1] * _ROOM)
    x = number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width))
    y = number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _STAIRS_HEIGHT))
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
        side = named_ends(chart, ends, canvas, (width, _STAIRS_HEIGHT))
        drawing = alt.layer(drawing, side).resolve_scale(x="independent", y="independent")
    return drawing.properties(width=width, height=_STAIRS_HEIGHT)


def _series(chart: Chart, canvas: Canvas, series: Series, place: Part, aside: float) -> list[Any]:
    """Draw one series, moved aside by so many pixels."""
    moved = {"xOffset": aside, "yOffset": -aside}
    moved_band = moved | {"x2Offset": aside, "y2Offset": -aside}
    box = place | {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    hover = place | {"description": named("words")}
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
        layers.append(canvas.marks("point", rows, hover, **looks, **edge, **moved))
    return layers


def _points(chart: Chart, series: Series) -> list[dict[str, Any]]:
    rows = []
    for x, reached, low, high in zip(series.x, series.y, series.low, series.high, strict=True):
        if isinstance(x, str) or not fits(chart.x, x):
            continue
        kind = _OPEN_BELOW if reached is None else _OPEN_ABOVE if high is None else _REACHED
        at = reached if reached is not None else high
        if at is not None and fits(chart.y, at):
            said = _step_words(chart, reached, low, high)
            words = f"{series.name}, {chart.x.label} {with_unit(x, chart.x)}: {said}"
            rows.append(
                {"x": x, "y": at, "low": low or 0.0, "high": high, "name": series.name, "kind": kind, "words": words}
            )
    return rows


def _step_words(chart: Chart, reached: float | None, low: float | None, high: float | None) -> str:
    """Describe the value reached, its certainty, and whether more was tried."""
    if reached is None:
        return "unknown" if high is None else f"less than {with_unit(high, chart.y)}, the least that was tried"
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
    return share(chart.x, across, x) * width, (1 - share(chart.y, up, y)) * _STAIRS_HEIGHT
