"""Lines and step lines in one frame, each with its name at the end."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import (
    ABOVE,
    FACE,
    LABEL_SIZE,
    SIDE,
    Canvas,
    Frame,
    Part,
    apart,
    dot,
    drawn,
    fits,
    named,
    number,
    pixel,
    text_width,
    with_unit,
)

_GAP: Final = 17
_LEADER: Final = 26
_NAMES_AT_MOST: Final = 180


def _framed(chart: Chart, canvas: Canvas, height: int, headroom: float = 1.0) -> Frame:
    """Return the frame of a chart, with room for the names of its series at the right unless it is narrow."""
    longest = max((text_width(name, LABEL_SIZE) for name in drawn(chart)), default=0)
    names = 0 if canvas.narrow else _LEADER + min(longest, _NAMES_AT_MOST)
    return Frame.around(chart, canvas, canvas.width - SIDE - names, height, headroom=headroom)


def _with_ends(frame: Frame, layers: list[Part], ends: Mapping[str, tuple[float, float]]) -> Part:
    """Write the names of the series next to the ends of their lines; a narrow canvas has a legend instead.

    ``ends`` are the ends of lines by name, in pixels from the top left.
    """
    canvas = frame.canvas
    if canvas.narrow:
        return {"layer": layers, **frame.size}
    heights = apart([y for _, y in ends.values()], _GAP, 0, frame.up.pixels)
    text = frame.across.pixels + _LEADER
    rows = [
        {"name": name, "fromX": x, "fromY": y, "toX": text - 6, "textX": text, "toY": at}
        for (name, (x, y)), at in zip(ends.items(), heights, strict=True)
    ]
    leader = {
        "x": pixel("fromX"),
        "x2": {"field": "toX"},
        "y": pixel("fromY"),
        "y2": {"field": "toY"},
        "color": canvas.colour(frame.chart),
    }
    words = {"x": pixel("textX"), "y": pixel("toY"), "text": named("name")}
    looks: Part = {"align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "limit": int(FACE * _NAMES_AT_MOST)}
    side = [
        canvas.marks("rule", rows, leader, strokeWidth=1, opacity=0.6),
        canvas.marks("text", rows, words, color=canvas.theme.ink, **looks),
    ]
    return {"layer": [*layers, *side], **frame.size}


_LINES_HEIGHT: Final = 300
_OPACITY: Final = {"condition": {"test": "datum.faint", "value": 0.3}, "value": 1}
_ALONE: Final = {"condition": {"test": "datum.alone", "value": 1}, "value": 0}


def draw_lines(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``LINES``."""
    frame = _framed(chart, canvas, _LINES_HEIGHT)
    legend = {"columns": 2, "offset": ABOVE} if canvas.narrow else None
    place = frame.place() | {"color": canvas.colour(chart, legend=legend)}
    lines = [
        row | {"line": line, "faint": series.faint}
        # The first series is drawn last, so that it is on top.
        for line, series in reversed(list(enumerate(chart.series)))
        for row in frame.points(series)
    ]
    shown = [series for series in chart.series if not series.faint]
    hover = [
        row | {"alone": sum(value is not None for value in series.y) == 1}
        for series in shown
        for row in frame.hovered(series)
    ]
    one_by_one = {"detail": named("line"), "order": number("place"), "strokeOpacity": _OPACITY}
    pointed_at = {"description": named("words"), "opacity": _ALONE}
    layers = [
        canvas.marks("line", lines, place | one_by_one, strokeWidth=2, strokeJoin="round"),
        # Invisible points show a tooltip. A series of a single point has no line.
        canvas.marks("point", hover, place | pointed_at, filled=True, size=40),
    ]
    points = {series.name: frame.points(series) for series in shown}
    return _with_ends(frame, layers, {name: frame.pixels(rows[-1]) for name, rows in points.items() if rows})


_STAIRS_HEIGHT: Final = 320
_APART: Final = 3
"""Pixels between lines that would otherwise coincide, because their clients have the same limits."""
_HEADROOM: Final = 1.06
"""An arrow stands above the largest value."""
_REACHED, _OPEN_ABOVE, _OPEN_BELOW = "reached", "open above", "open below"
_SHAPES: Final = {_REACHED: "circle", _OPEN_ABOVE: "triangle-up", _OPEN_BELOW: "triangle-down"}


def draw_stairs(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``STAIRS``."""
    frame = _framed(chart, canvas, _STAIRS_HEIGHT, _HEADROOM)
    legend: Part | None = {"columns": 1, "offset": ABOVE, "symbolOpacity": 1} if canvas.narrow else None
    place = frame.place() | {"color": canvas.colour(chart, legend=legend)}
    steps = [series for series in chart.series if not series.faint]
    aside = {series.name: _APART * (nth - (len(steps) - 1) / 2) for nth, series in enumerate(steps)}
    drawn_one_by_one = [_series(frame, series, place, aside[series.name]) for series in steps]
    # The uncertain range of each series lies behind the lines of all others.
    layers = [layer for alike in zip(*drawn_one_by_one, strict=True) for layer in alike]
    lines = [(series, _line(chart, series)) for series in chart.series]
    for series, line in lines:
        if series.faint:
            dashes = {"strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.8}
            layers.append(canvas.marks("line", line, place, **dashes))
    ends = {}
    for series, line in lines:
        if line:
            left, top = frame.pixels(line[-1])
            moved = aside.get(series.name, 0.0)
            ends[series.name] = (left + moved, top - moved)
    return _with_ends(frame, layers or [canvas.marks("line", [], place)], ends)


def _series(frame: Frame, series: Series, place: Part, aside: float) -> list[Part]:
    chart, canvas = frame.chart, frame.canvas
    moved = {"xOffset": aside, "yOffset": -aside}
    moved_band = moved | {"x2Offset": aside, "y2Offset": -aside}
    box = place | {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    bound = place | {"y": place["y"] | {"field": "low"}, "y2": {"field": "high"}}
    line = _line(chart, series)
    falls = bool(line) and line[-1]["y"] <= line[0]["y"]
    points = list(_points(chart, series))
    bounded = [row for row in points if row["high"] is not None]
    corners = [row | {"place": nth} for nth, row in enumerate(_corners(line, falls=falls))]
    solid: Part = {"strokeWidth": 2, "strokeJoin": "round"}
    layers = [
        canvas.marks("rect", _bands(chart, series, falls=falls), box, opacity=0.1, **moved_band),
        canvas.marks("rule", bounded, bound, strokeWidth=4, strokeCap="round", opacity=0.35, **moved_band),
        canvas.marks("line", corners, place | {"order": number("place")}, **solid, **moved),
    ]
    for kind, shape in _SHAPES.items():
        rows = [row for row in points if row["kind"] == kind]
        looks = dot(canvas, 70 if kind == _REACHED else 110, 1)
        layers.append(
            canvas.marks("point", rows, place | {"description": named("words")}, shape=shape, **looks, **moved)
        )
    return layers


def _points(chart: Chart, series: Series) -> Iterator[Part]:
    """Yield a row for each value that is reached; if none is, for the smallest value that was tried."""
    for x, reached, low, high in zip(series.x, series.y, series.low, series.high, strict=True):
        at = reached if reached is not None else high
        if not fits(x, chart.x) or not fits(at, chart.y):
            continue
        if reached is None:
            kind, words = _OPEN_BELOW, f"less than {with_unit(at or 0.0, chart.y)}, the smallest value tried"
        elif high is None:
            kind, words = _OPEN_ABOVE, f"{with_unit(reached, chart.y)} or more"
        else:
            sure = f"{with_unit(low, chart.y)} for sure, " if low is not None and low != reached else ""
            kind, words = _REACHED, f"{with_unit(reached, chart.y)}: {sure}not {with_unit(high, chart.y)}"
        words = f"{series.name}, {chart.x.label} {with_unit(x, chart.x)}: {words}"
        yield {"x": x, "y": at, "low": low or 0.0, "high": high, "name": series.name, "kind": kind, "words": words}


def _line(chart: Chart, series: Series) -> list[Part]:
    """Return the line, which is at the bottom where no value is reached."""
    return [
        {"x": x, "y": reached or 0.0, "name": series.name}
        for x, reached in zip(series.x, series.y, strict=True)
        if fits(x, chart.x) and fits(reached or 0.0, chart.y)
    ]


def _corners(line: list[Part], *, falls: bool) -> Iterator[Part]:
    """Yield the corners of the line: between two places, the smaller of their values is certainly reached.

    ``falls``: the values fall to the right, so that each is also reached at the place before.
    """
    for here, after in pairwise(line):
        yield here
        yield here | {"y": after["y"]} if falls else here | {"x": after["x"]}
    yield from line[-1:]


def _bands(chart: Chart, series: Series, *, falls: bool) -> Iterator[Part]:
    """Yield the uncertain range between each place and the next."""
    whole = [
        (x, low or 0.0, high)
        for x, low, high in zip(series.x, series.low, series.high, strict=True)
        if fits(x, chart.x)
    ]
    for (x, low, high), (next_x, next_low, next_high) in pairwise(whole):
        bottom, top = (next_low, high) if falls else (low, next_high)
        if top is not None and fits(bottom, chart.y):
            yield {"x": x, "x2": next_x, "y": bottom, "y2": top, "name": series.name}
