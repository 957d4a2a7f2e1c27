"""Draws lines in one frame, each named at its end; on a narrow canvas the names stand above."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart
from httpdyno.report.charts.canvas import Canvas, domain, drawn, fits, named, number, placed, scale, share
from httpdyno.report.charts.ends import beside, named_ends
from httpdyno.report.charts.labels import point_words, pointed_at

__all__ = ["draw"]

_HEIGHT: Final = 300
_SIDE: Final = 62
"""Room for the labels of the vertical axis."""
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
_OPACITY: Final = {"condition": {"test": "datum.faint", "value": 0.3}, "value": 1}
_ALONE: Final = {"condition": {"test": "datum.alone", "value": 1}, "value": 0}


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``LINES``."""
    names = drawn(chart)
    width = int(canvas.width - _SIDE - (0 if canvas.narrow else beside(chart)))
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
        # What a pointer finds: points that nobody sees, few enough to keep the page small. One alone makes no line.
        canvas.marks(
            "point",
            _hover_rows(chart),
            encoding | {"description": named("words"), "opacity": _ALONE},
            filled=True,
            size=40,
        ),
    )
    if not canvas.narrow:
        side = named_ends(chart, _ends(chart, width, (across, up)), canvas, (width, _HEIGHT))
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
            (share(chart.x, across, x) * width, (1 - share(chart.y, up, y)) * _HEIGHT)
            for x, y in zip(series.x, series.y, strict=True)
            if y is not None and not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
        ]
        if known and not series.faint:
            ends[series.name] = known[-1]
    return ends
