"""Draws a row for each subject, divided into the shares of its outcomes."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart
from httpdyno.report.charts.canvas import LABEL_SIZE, Canvas, drawn, named, number
from httpdyno.report.charts.labels import text_width

__all__ = ["draw"]

_ROW: Final = 34
_NAMES_AT_MOST: Final = 200


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``STACKED_BARS``."""
    names = drawn(chart)
    bars = list(dict.fromkeys(str(x) for series in chart.series for x in series.x))
    left = min(
        max((text_width(bar, LABEL_SIZE + 1) for bar in bars), default=0) + 12,
        canvas.width * 2 // 5 if canvas.narrow else _NAMES_AT_MOST,
    )
    width = int(canvas.width - left - 26)
    rows = _rows(chart, width)
    row = {"y": canvas.names(bars, left, paddingInner=0.3, paddingOuter=0.1) | {"field": "bar"}}
    along = {
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"title": None, "labelExpr": "format(100 * datum.value, '~r') + ' %'", "grid": False, "tickCount": 5},
    }
    extent = {"x": number("from", **along), "x2": {"field": "to"}, "description": named("words")}
    colour = {"color": canvas.colour(chart, names, legend={"columns": 3 if canvas.narrow else 6})}
    share = {"x": number("middle", **along), "text": named("share")}
    return alt.layer(
        canvas.marks("bar", rows, row | extent | colour, stroke=canvas.theme.surface, strokeWidth=1),
        canvas.marks("text", rows, row | share, fontSize=LABEL_SIZE, color=canvas.theme.on_fill),
    ).properties(width=width, height=_ROW * max(1, len(bars)))


def _rows(chart: Chart, width: int) -> list[dict[str, Any]]:
    """Lay the outcomes of each bar end to end; a share is written where there is room for it."""
    totals: dict[str, float] = {}
    for series in chart.series:
        for x, y in zip(series.x, series.y, strict=True):
            totals[str(x)] = totals.get(str(x), 0.0) + (y or 0.0)
    rows = []
    reached = dict.fromkeys(totals, 0.0)
    for series in chart.series:
        for x, y in zip(series.x, series.y, strict=True):
            bar, count = str(x), y or 0.0
            if not count:
                continue
            begin, portion = reached[bar], count / totals[bar]
            reached[bar] = end = begin + portion
            text = percent(portion)
            rows.append(
                {
                    "bar": bar,
                    "name": series.name,
                    "from": begin,
                    "to": end,
                    "middle": (begin + end) / 2,
                    "share": text if text_width(text, LABEL_SIZE) + 8 < portion * width else "",
                    "words": f"{bar}, {series.name}: {count:,.0f} of {totals[bar]:,.0f}, {text}",
                }
            )
    return rows


def percent(portion: float) -> str:
    """Write a share: ``79 %``, ``0.05 %``; what is not quite all or nothing is not written as such."""
    value = 100 * portion
    if 10 <= value <= 99 or value in {0, 100}:  # two digits say enough in between
        return f"{value:.0f} %"
    return f"{value:.1f} %" if 0.1 <= value < 99.95 else f"{value:.2g} %" if value < 1 else "> 99.9 %"
