"""Draws a row for each series: the values, their estimate, its interval, and both in figures at the right."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Scale, Series
from httpdyno.report.charts.canvas import LABEL_SIZE, Canvas, Part, domain, drawn, fits, named, number, scale
from httpdyno.report.charts.labels import figure, point_words, text_width

__all__ = ["draw"]

_ROW: Final = 34
_NAMES_AT_MOST: Final = 240
_FIGURES: Final = 150
_FIGURES_NARROW: Final = 54


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``INTERVALS``."""
    names = drawn(chart)
    left = min(max((text_width(name, LABEL_SIZE + 1) for name in names), default=0) + 12, _limit(canvas))
    width = int(canvas.width - left - (_FIGURES_NARROW if canvas.narrow else _FIGURES) - 14)
    everything = [value for series in chart.series for value in (*series.y, *series.low, *series.high)]
    extent = domain(chart.y, [*everything, chart.reference])
    row = {"y": canvas.names(names, left)}
    value = {"x": number("value", scale=scale(chart.y, extent), axis=canvas.axis(chart.y, extent, width))}
    colour = {"color": canvas.colour(chart, names)}
    at_the_right = row | {"x": {"value": width}}
    rows = _rows([series for series in chart.series if not series.faint], chart)
    trials = _rows([series for series in chart.series if series.faint], chart)
    dot = {"filled": True, "size": 120, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 1.5}
    text = {"align": "left", "fontSize": LABEL_SIZE + 1}
    told = {"description": named("words")}
    layers = [
        canvas.marks("point", trials, row | value | colour | told, filled=True, size=34, opacity=0.32),
        canvas.marks("rule", rows, row | colour | _ends(value["x"]), strokeWidth=3, strokeCap="round"),
        canvas.marks("point", rows, row | value | colour | told, **dot),
        canvas.marks(
            "text",
            rows,
            at_the_right | {"text": named("estimate")},
            dx=12,
            fontWeight=600,
            color=canvas.theme.ink,
            **text,
        ),
    ]
    if not canvas.narrow:
        interval = at_the_right | {"text": named("interval")}
        layers.append(canvas.marks("text", rows, interval, dx=66, color=canvas.theme.quiet, **text))
    if chart.reference is not None:
        dashed = {"color": canvas.theme.quiet, "strokeDash": [3, 3]}
        layers.insert(0, canvas.marks("rule", [{"value": chart.reference}], value, **dashed))
    return alt.layer(*layers).properties(width=width, height=_ROW * max(1, len(names)))


def _ends(value: Part) -> Part:
    return {"x": value | {"field": "low"}, "x2": {"field": "high"}}


def _limit(canvas: Canvas) -> int:
    return canvas.width * 2 // 5 if canvas.narrow else _NAMES_AT_MOST


def _rows(many: list[Series], chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "name": series.name,
            "value": value,
            "low": series.low[place] if series.low else None,
            "high": series.high[place] if series.high else None,
            "estimate": _estimate(value, chart),
            "interval": _interval(series, place, chart),
            "words": point_words(series, place, chart.x, chart.y),
        }
        for series in many
        for place, value in enumerate(series.y)
        if value is not None and fits(chart.y, value)
    ]


def _estimate(value: float, chart: Chart) -> str:
    return f"{value:.2f}\u00d7" if chart.y.scale is Scale.LOGARITHMIC else figure(value)


def _interval(series: Series, place: int, chart: Chart) -> str:
    low, high = (bounds[place] if bounds else None for bounds in (series.low, series.high))
    if low is None or high is None:
        return ""
    return f"{_estimate(low, chart)} to {_estimate(high, chart)}"
