"""Draws a row for each series: the values, their estimate, its interval, and both in figures at the right."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Scale, Series
from httpdyno.report.charts.canvas import LABEL_SIZE, Canvas, domain, drawn, fits, scale
from httpdyno.report.charts.labels import figure, point_words, text_width

__all__ = ["draw"]

_ROW: Final = 34
_NAMES_AT_MOST: Final = 200
_FIGURES: Final = 150
_FIGURES_NARROW: Final = 54


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``INTERVALS``."""
    names = drawn(chart)
    left = min(max((text_width(name, LABEL_SIZE + 1) for name in names), default=0) + 12, _limit(canvas))
    width = int(canvas.width - left - (_FIGURES_NARROW if canvas.narrow else _FIGURES) - 14)
    everything = [value for series in chart.series for value in (*series.y, *series.low, *series.high)]
    extent = domain(chart.y, [*everything, chart.reference])
    row = alt.Y(
        "name:N",
        sort=[canvas.text(name) for name in names],
        scale={"domain": [canvas.text(name) for name in names]},
        axis={
            "title": None,
            "labelColor": canvas.theme.ink,
            "labelFontSize": LABEL_SIZE + 1,
            "labelLimit": int(left),
            "labelPadding": 10,
        },
    )
    across = canvas.axis(chart.y, extent, width)
    value = alt.X("value:Q", scale=scale(chart.y, extent), axis=across)
    colour = canvas.colour(chart, names)
    rows = _rows([series for series in chart.series if not series.faint], chart)
    trials = _rows([series for series in chart.series if series.faint], chart)
    words = {"align": "left", "fontSize": LABEL_SIZE + 1}
    layers = [
        canvas.marks("point", trials, filled=True, size=34, opacity=0.32).encode(color=colour),
        canvas.marks("rule", rows, strokeWidth=3, strokeCap="round").encode(
            x=alt.X("low:Q", scale=scale(chart.y, extent), axis=across), x2="high:Q", color=colour
        ),
        canvas.marks(
            "point", rows, filled=True, size=120, opacity=1, stroke=canvas.theme.surface, strokeWidth=1.5
        ).encode(color=colour, description="words:N"),
        canvas.marks("text", rows, dx=12, fontWeight=600, color=canvas.theme.ink, **words).encode(
            x=alt.value(width), text="estimate:N"
        ),
    ]
    if not canvas.narrow:
        interval = canvas.marks("text", rows, dx=62, color=canvas.theme.quiet, **words)
        layers.append(interval.encode(x=alt.value(width), text="interval:N"))
    placed = [layer.encode(y=row, **({} if _has_x(layer) else {"x": value})) for layer in layers]
    if chart.reference is not None:
        rule = alt.Chart(canvas.data([{"value": chart.reference}])).mark_rule(
            color=canvas.theme.quiet, strokeDash=[3, 3]
        )
        placed.insert(0, rule.encode(x=value))
    return alt.layer(*placed).properties(width=width, height=_ROW * max(1, len(names)))


def _limit(canvas: Canvas) -> int:
    return canvas.width * 2 // 5 if canvas.narrow else _NAMES_AT_MOST


def _has_x(layer: Any) -> bool:  # noqa: ANN401
    return layer.encoding.x is not alt.Undefined


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
    return f"{value:.2f}x" if chart.y.scale is Scale.LOGARITHMIC else figure(value)


def _interval(series: Series, place: int, chart: Chart) -> str:
    low, high = (bounds[place] if bounds else None for bounds in (series.low, series.high))
    if low is None or high is None:
        return ""
    return f"{_estimate(low, chart)} to {_estimate(high, chart)}"
