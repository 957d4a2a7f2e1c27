"""Charts with a row for each subject: intervals of an estimate, and stacked bars."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.model import Chart, Scale, Series
from httpdyno.report.cell import figure_text
from httpdyno.report.charts.canvas import (
    LABEL_SIZE,
    Canvas,
    Frame,
    Part,
    Ruler,
    bounds,
    dot,
    drawn,
    fits,
    named,
    number,
    point_words,
    text_width,
    with_unit,
)

_ROW: Final = 34
_INTERVAL_NAMES_AT_MOST: Final = 240
_FIGURES: Final = 150
_FIGURES_NARROW: Final = 54


def _names_width(names: Sequence[str], canvas: Canvas, most: int) -> float:
    widest = max((text_width(name, LABEL_SIZE + 1) for name in names), default=0) + 12
    return min(widest, canvas.width * 2 // 5 if canvas.narrow else most)


def draw_intervals(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``INTERVALS``."""
    names = drawn(chart)
    theme = canvas.theme
    left = _names_width(names, canvas, _INTERVAL_NAMES_AT_MOST)
    width = canvas.width - left - (_FIGURES_NARROW if canvas.narrow else _FIGURES) - 14
    frame = Frame.around(chart, canvas, width, _ROW * max(1, len(names)))
    row = {"y": canvas.names(names, left), "color": canvas.colour(chart)}
    along = replace(frame.up, pixels=frame.across.pixels)
    value = {"x": along.encode("value")}
    ends = {"x": along.encode("low"), "x2": {"field": "high"}}
    hover = row | value | {"description": named("words")}
    right = {"y": row["y"], "x": {"value": along.pixels}}
    rows, trials = (
        [row for series in chart.series if series.faint is faint for row in _interval_rows(chart, series)]
        for faint in (False, True)
    )
    text = {"align": "left", "fontSize": LABEL_SIZE + 1}
    estimate = right | {"text": named("estimate")}
    layers = [
        canvas.trials(trials, hover),
        canvas.marks("rule", rows, row | ends, strokeWidth=3, strokeCap="round"),
        canvas.marks("point", rows, hover, **dot(canvas, 120)),
        canvas.marks("text", rows, estimate, dx=12, fontWeight=600, color=theme.ink, **text),
    ]
    if not canvas.narrow:
        interval = right | {"text": named("interval")}
        layers.append(canvas.marks("text", rows, interval, dx=66, color=theme.quiet, **text))
    if chart.reference is not None:
        line = [{"value": chart.reference}]
        layers.insert(0, canvas.marks("rule", line, value, color=theme.quiet, strokeDash=[3, 3]))
    return {"layer": layers, **frame.size}


def _interval_rows(chart: Chart, series: Series) -> list[Part]:
    def text(value: float) -> str:
        return f"{value:.2f}\u00d7" if chart.y.scale is Scale.LOGARITHMIC else figure_text(value)

    rows = []
    for place, value in enumerate(series.y):
        if not fits(value, chart.y):
            continue
        low, high = bounds(series, place)
        rows.append(
            {
                "name": series.name,
                "value": value,
                "low": low,
                "high": high,
                "estimate": text(value),
                "interval": "" if low is None or high is None else f"{text(low)} to {text(high)}",
                "words": point_words(chart, series, place),
            }
        )
    return rows


_BAR_NAMES_AT_MOST: Final = 200
_SHARES: Final = frozenset({"", "%"})
_SUM: Final = 60
"""Room for the sum at the end of a bar."""
_PER_CENT: Final = "format(100 * datum.value, '~r') + ' %'"


def draw_stacked_bars(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``STACKED_BARS``."""
    sums: dict[str, float] = {}
    for series in chart.series:
        for bar, count in zip(map(str, series.x), series.y, strict=True):
            sums[bar] = sums.get(bar, 0.0) + (count or 0.0)
    bars = list(sums)
    left = _names_width(bars, canvas, _BAR_NAMES_AT_MOST)
    shares = chart.y.unit in _SHARES
    width = int(canvas.width - left - (26 if shares else _SUM))
    most = 1.0 if shares else max(sums.values(), default=0.0) or 1.0
    axis: Part = {"title": None, "labelExpr": _PER_CENT, "grid": False, "tickCount": 5}
    if not shares:
        axis = Ruler(chart.y, 0, most, width).labels() | {"grid": False}
    along = {"scale": {"domain": [0, most], "nice": False}, "axis": axis}
    row = {"y": canvas.names(bars, left, paddingInner=0.3, paddingOuter=0.1) | {"field": "bar"}}
    colour = canvas.colour(chart, legend={"columns": 3 if canvas.narrow else 6})
    extent = {"x": number("from", **along), "x2": {"field": "to"}, "color": colour, "description": named("words")}
    share = {"x": number("middle", **along), "text": named("share")}
    rows = _bar_rows(chart, sums, width)
    layers = [
        canvas.marks("bar", rows, row | extent, stroke=canvas.theme.surface, strokeWidth=1),
        canvas.marks("text", rows, row | share, fontSize=LABEL_SIZE, color=canvas.theme.on_fill),
    ]
    if not shares:
        ends = [{"bar": bar, "to": total, "sum": figure_text(total)} for bar, total in sums.items()]
        whole = row | {"x": number("to", **along), "text": named("sum")}
        layers.append(canvas.marks("text", ends, whole, align="left", dx=6, fontWeight=600, color=canvas.theme.ink))
    return {"layer": layers, "width": width, "height": _ROW * max(1, len(bars))}


def _bar_rows(chart: Chart, sums: Mapping[str, float], width: int) -> list[Part]:
    """Lay the parts of each bar end to end; a figure is written on each part that has room for it."""
    shares = chart.y.unit in _SHARES
    longest = 1.0 if shares else max(sums.values(), default=0.0)
    rows = []
    reached = dict.fromkeys(sums, 0.0)
    for series in chart.series:
        for bar, count in zip(map(str, series.x), series.y, strict=True):
            if not count:
                continue
            portion = count / sums[bar]
            length = portion if shares else count
            begin, end = reached[bar], reached[bar] + length
            reached[bar] = end
            text = percent(portion) if shares else figure_text(count)
            wide = length / longest * width
            words = f"{count:,.0f} of {sums[bar]:,.0f}, {text}" if shares else with_unit(count, chart.y)
            rows.append(
                {
                    "bar": bar,
                    "name": series.name,
                    "from": begin,
                    "to": end,
                    "middle": (begin + end) / 2,
                    "share": text if text_width(text, LABEL_SIZE) + 8 < wide else "",
                    "words": f"{bar}, {series.name}: {words}",
                }
            )
    return rows


def percent(portion: float) -> str:
    """Write a share: ``79 %``, ``0.05 %``; a share is 0 % or 100 % only if it is exact."""
    value = 100 * portion
    if 10 <= value <= 99 or value in {0, 100}:  # two digits are enough in between
        return f"{value:.0f} %"
    return f"{value:.1f} %" if 0.1 <= value < 99.95 else f"{value:.2g} %" if value < 1 else "> 99.9 %"
