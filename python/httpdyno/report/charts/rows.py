"""Charts with a row for each subject: intervals of an estimate, and stacked bars."""

from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Scale, Series
from httpdyno.report.charts.canvas import (
    LABEL_SIZE,
    Canvas,
    Part,
    domain,
    drawn,
    figure,
    fits,
    named,
    number,
    point_words,
    scale,
    text_width,
    with_unit,
)

_ROW: Final = 34
_INTERVAL_NAMES_AT_MOST: Final = 240
_FIGURES: Final = 150
_FIGURES_NARROW: Final = 54


def draw_intervals(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
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
    rows = _interval_rows([series for series in chart.series if not series.faint], chart)
    trials = _interval_rows([series for series in chart.series if series.faint], chart)
    dot = {"filled": True, "size": 120, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 1.5}
    text = {"align": "left", "fontSize": LABEL_SIZE + 1}
    hover = {"description": named("words")}
    layers = [
        canvas.marks("point", trials, row | value | colour | hover, filled=True, size=34, opacity=0.32),
        canvas.marks("rule", rows, row | colour | _ends(value["x"]), strokeWidth=3, strokeCap="round"),
        canvas.marks("point", rows, row | value | colour | hover, **dot),
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
    return canvas.width * 2 // 5 if canvas.narrow else _INTERVAL_NAMES_AT_MOST


def _interval_rows(many: list[Series], chart: Chart) -> list[dict[str, Any]]:
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


_BAR_NAMES_AT_MOST: Final = 200
_SHARES: Final = frozenset({"", "%"})
_SUM: Final = 60
"""Room for the sum at the end of a bar."""
_PER_CENT: Final = "format(100 * datum.value, '~r') + ' %'"


def draw_stacked_bars(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``STACKED_BARS``."""
    names = drawn(chart)
    bars = list(dict.fromkeys(str(x) for series in chart.series for x in series.x))
    left = min(
        max((text_width(bar, LABEL_SIZE + 1) for bar in bars), default=0) + 12,
        canvas.width * 2 // 5 if canvas.narrow else _BAR_NAMES_AT_MOST,
    )
    shares = chart.y.unit in _SHARES
    width = int(canvas.width - left - (26 if shares else _SUM))
    rows = _bar_rows(chart, width)
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


def _bar_rows(chart: Chart, width: int) -> list[dict[str, Any]]:
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
