"""Draws lines in one frame, each named at its end; on a narrow canvas the names stand above."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart
from httpdyno.report.charts.canvas import (
    FACE,
    LABEL_SIZE,
    Canvas,
    domain,
    drawn,
    fits,
    named,
    number,
    placed,
    scale,
    share,
)
from httpdyno.report.charts.labels import apart, point_words, pointed_at, text_width

__all__ = ["draw"]

_HEIGHT: Final = 300
_LABEL_GAP: Final = 17
_LEADER: Final = 26
_NAMES_AT_MOST: Final = 180
_SIDE: Final = 62
"""Room for the labels of the vertical axis."""
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
_OPACITY: Final = {"condition": {"test": "datum.faint", "value": 0.3}, "value": 1}


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``LINES``."""
    names = drawn(chart)
    longest = min(max((text_width(name, LABEL_SIZE) for name in names), default=0), _NAMES_AT_MOST)
    beside = 0 if canvas.narrow else _LEADER + longest
    width = int(canvas.width - _SIDE - beside)
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [y for series in chart.series for y in series.y])
    encoding = {
        "x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width)),
        "y": number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _HEIGHT)),
        "color": canvas.colour(chart, names, legend={"columns": 2, "offset": _ABOVE} if canvas.narrow else None),
    }
    one_by_one = {"detail": named("line"), "order": number("place"), "strokeOpacity": _OPACITY}
    drawing = alt.layer(
        canvas.marks("line", _rows(chart), encoding | one_by_one, strokeWidth=2, strokeJoin="round"),
        # What a pointer finds: points that nobody sees, few enough to keep the page small.
        canvas.marks(
            "point", _hover_rows(chart), encoding | {"description": named("words")}, filled=True, size=40, opacity=0
        ),
    )
    if not canvas.narrow:
        side = _names(chart, names, canvas, width, (across, up))
        drawing = alt.layer(drawing, side).resolve_scale(x="independent", y="independent")
    return drawing.properties(width=width, height=_HEIGHT)


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
        {"x": placed(chart.x, x), "y": y, "name": series.name, "words": point_words(series, place, chart.x, chart.y)}
        for series in chart.series
        if not series.faint
        for place in pointed_at(chart, series)
        for x, y in [(series.x[place], series.y[place])]
        if not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
    ]


def _names(
    chart: Chart,
    names: list[str],
    canvas: Canvas,
    width: int,
    extents: tuple[tuple[float, float], tuple[float, float]],
) -> Any:  # noqa: ANN401
    """Write the names at the right, each joined to the end of its line by a thin one."""
    across, up = extents
    ends: dict[str, tuple[float, float]] = {}
    for series in chart.series:
        known = [
            (share(chart.x, across, x) * width, (1 - share(chart.y, up, y)) * _HEIGHT)
            for x, y in zip(series.x, series.y, strict=True)
            if y is not None and not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
        ]
        if known and not series.faint:
            ends[series.name] = known[-1]
    heights = apart([y for _, y in ends.values()], _LABEL_GAP, 0, _HEIGHT)
    rows = [
        {"name": name, "fromX": x, "fromY": y, "toX": width + _LEADER - 6, "textX": width + _LEADER, "toY": height}
        for (name, (x, y)), height in zip(ends.items(), heights, strict=True)
    ]
    pixels_x, pixels_y = {"domain": [0, width]}, {"domain": [_HEIGHT, 0]}
    leader = {
        "x": number("fromX", scale=pixels_x, axis=None),
        "x2": {"field": "toX"},
        "y": number("fromY", scale=pixels_y, axis=None),
        "y2": {"field": "toY"},
        "color": canvas.colour(chart, names),
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
