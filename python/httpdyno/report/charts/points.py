"""Draws single points, each series named beside its main one."""

from collections.abc import Iterator
from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import LABEL_SIZE, Canvas, domain, drawn, fits, named, number, scale, share
from httpdyno.report.charts.labels import point_words, text_width

__all__ = ["draw"]

_HEIGHT: Final = 300
_SIDE: Final = 62
_RADIUS: Final = 9
_Box = tuple[float, float, float, float]


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``POINTS``."""
    width = canvas.width - _SIDE
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [y for series in chart.series for y in series.y])
    place = {
        "x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width)),
        "y": number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _HEIGHT)),
    }
    told = place | {"color": canvas.colour(chart, drawn(chart)), "description": named("words")}
    main = [series for series in chart.series if not series.faint]
    rows = _rows([series for series in chart.series if series.faint], chart)
    names = _rows(main, chart)
    offsets = _placed(names, [(across, width), (up, _HEIGHT)], chart)
    dot = {"filled": True, "size": 130, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 1.5}
    text = {"align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "color": canvas.theme.ink, "limit": 200}
    layers = [
        canvas.marks("point", rows, told, filled=True, size=34, opacity=0.32),
        canvas.marks("point", names, told, **dot),
        *(
            canvas.marks("text", [row], place | {"text": named("name")}, dx=dx, dy=dy, **text)
            for row, (dx, dy) in zip(names, offsets, strict=True)
        ),
    ]
    return alt.layer(*layers).properties(width=width, height=_HEIGHT)


def _rows(many: list[Series], chart: Chart) -> list[dict[str, Any]]:
    return [
        {"x": x, "y": y, "name": series.name, "words": point_words(series, place, chart.x, chart.y)}
        for series in many
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if fits(chart.x, x) and fits(chart.y, y)
    ]


def _placed(
    rows: list[dict[str, Any]], frame: list[tuple[tuple[float, float], int]], chart: Chart
) -> list[tuple[float, float]]:
    """Choose for each name where it stands beside its point: the first place that is free, else the right."""
    (across, width), (up, height) = frame
    centres = [(share(chart.x, across, row["x"]) * width, (1 - share(chart.y, up, row["y"])) * height) for row in rows]
    taken = [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in centres]
    offsets = []
    for row, (x, y) in zip(rows, centres, strict=True):
        places = list(_places(text_width(row["name"], LABEL_SIZE)))
        boxes = [(x + dx, y + dy - LABEL_SIZE / 2, x + dx + w, y + dy + LABEL_SIZE / 2) for dx, dy, w in places]
        free = [
            number
            for number, box in enumerate(boxes)
            if box[0] >= 0 and box[2] <= width and not any(_overlap(box, other) for other in taken)
        ]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        offsets.append(places[chosen][:2])
    return offsets


def _places(width: float) -> Iterator[tuple[float, float, float]]:
    """Right, left, above and below of a point, then further away: the offsets and the width of a text."""
    for away in (1.0, 2.0):
        yield _RADIUS + 3, 0, width
        yield -_RADIUS - 3 - width, 0, width
        yield -width / 2, -16 * away, width
        yield -width / 2, 16 * away, width
        yield _RADIUS, -13 * away, width
        yield _RADIUS, 13 * away, width


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
