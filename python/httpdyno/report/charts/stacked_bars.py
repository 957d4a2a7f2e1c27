"""Draws a row for each subject, divided into the shares of its outcomes, or into the parts of a sum."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart
from httpdyno.report.charts.canvas import LABEL_SIZE, Canvas, drawn, named, number
from httpdyno.report.charts.labels import figure, text_width, with_unit

__all__ = ["draw"]

_ROW: Final = 34
_NAMES_AT_MOST: Final = 200
_SHARES: Final = frozenset({"", "%"})
_SUM: Final = 60
"""Room for the sum at the end of a bar."""
_PER_CENT: Final = "format(100 * datum.value, '~r') + ' %'"


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``STACKED_BARS``."""
    names = drawn(chart)
    bars = list(dict.fromkeys(str(x) for series in chart.series for x in series.x))
    left = min(
        max((text_width(bar, LABEL_SIZE + 1) for bar in bars), default=0) + 12,
        canvas.width * 2 // 5 if canvas.narrow else _NAMES_AT_MOST,
    )
    shares = chart.y.unit in _SHARES
    width = int(canvas.width - left - (26 if shares else _SUM))
    rows = _rows(chart, width)
    sums = _sums(chart)
    row = {"y": canvas.names(bars, left, paddingInner=0.3, paddingOuter=0.1) | {"field": "bar"}}
    most = 1.0 if shares else max(sums.values(), default=0.0) or 1.0
    along = {"scale": {"domain": [0, most], "nice": False}}
    if shares:
        along["axis"] = {"title": None, "labelExpr": _PER_CENT, "grid": False, "tickCount": 5}
    else:
        along["axis"] = canvas.axis(chart.y, (0, most), width, grid=False)
    extent = {"x": number("from", **along), "x2": {"field": "to"}, "description": named("words")}
    colour = {"color": canvas.colour(chart, names, legend={"columns": 3 if canvas.narrow else 6})}
    share = {"x": number("middle", **along), "text": named("share")}
    layers = [
        canvas.marks("bar", rows, row | extent | colour, stroke=canvas.theme.surface, strokeWidth=1),
        canvas.marks("text", rows, row | share, fontSize=LABEL_SIZE, color=canvas.theme.on_fill),
    ]
    if not shares:
        ends = [{"bar": bar, "to": total, "sum": figure(total)} for bar, total in sums.items()]
        whole = row | {"x": number("to", **along), "text": named("sum")}
        layers.append(canvas.marks("text", ends, whole, align="left", dx=6, fontWeight=600, color=canvas.theme.ink))
    return alt.layer(*layers).properties(width=width, height=_ROW * max(1, len(bars)))


def _sums(chart: Chart) -> dict[str, float]:
    """Add up the parts of each bar."""
    totals: dict[str, float] = {}
    for series in chart.series:
        for x, y in zip(series.x, series.y, strict=True):
            totals[str(x)] = totals.get(str(x), 0.0) + (y or 0.0)
    return totals


def _rows(chart: Chart, width: int) -> list[dict[str, Any]]:
    """Lay the parts of each bar end to end; a figure is written on one where there is room for it."""
    totals = _sums(chart)
    shares = chart.y.unit in _SHARES
    longest = max(totals.values(), default=0.0)
    rows = []
    reached = dict.fromkeys(totals, 0.0)
    for series in chart.series:
        for x, y in zip(series.x, series.y, strict=True):
            bar, count = str(x), y or 0.0
            if not count:
                continue
            portion = count / totals[bar]
            begin, length = reached[bar], portion if shares else count
            reached[bar] = end = begin + length
            text = percent(portion) if shares else figure(count)
            wide = (length if shares else length / longest) * width
            said = f"{count:,.0f} of {totals[bar]:,.0f}, {text}" if shares else with_unit(count, chart.y)
            rows.append(
                {
                    "bar": bar,
                    "name": series.name,
                    "from": begin,
                    "to": end,
                    "middle": (begin + end) / 2,
                    "share": text if text_width(text, LABEL_SIZE) + 8 < wide else "",
                    "words": f"{bar}, {series.name}: {said}",
                }
            )
    return rows


def percent(portion: float) -> str:
    """Write a share: ``79 %``, ``0.05 %``; what is not quite all or nothing is not written as such."""
    value = 100 * portion
    if 10 <= value <= 99 or value in {0, 100}:  # two digits say enough in between
        return f"{value:.0f} %"
    return f"{value:.1f} %" if 0.1 <= value < 99.95 else f"{value:.2g} %" if value < 1 else "> 99.9 %"
