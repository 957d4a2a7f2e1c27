"""Charts as Vega-Lite specifications, drawn as SVG or PNG."""

from typing import Any, Final

import vl_convert

from httpdyno.model import Chart, ChartKind
from httpdyno.report.charts.canvas import Canvas, distinct_short_forms, drawn
from httpdyno.report.charts.lines import draw_lines, draw_stairs
from httpdyno.report.charts.panels import draw_panels, draw_tiles, draw_trends
from httpdyno.report.charts.points import draw_fitted, draw_points
from httpdyno.report.charts.rows import draw_intervals, draw_stacked_bars

_DRAW: Final = {
    ChartKind.LINES: draw_lines,
    ChartKind.PANELS: draw_panels,
    ChartKind.POINTS: draw_points,
    ChartKind.INTERVALS: draw_intervals,
    ChartKind.STACKED_BARS: draw_stacked_bars,
    ChartKind.FITTED: draw_fitted,
    ChartKind.TILES: draw_tiles,
    ChartKind.STAIRS: draw_stairs,
    ChartKind.TRENDS: draw_trends,
}
_VEGA_LITE: Final = "6.4"
_PIXELS: Final = 2
"""Pixels of a PNG for each pixel of the chart, so that it is sharp on high-density screens."""


def specification(chart: Chart, canvas: Canvas) -> dict[str, Any]:
    """Describe a chart in Vega-Lite."""
    bars = [x for series in chart.series for x in series.x if isinstance(x, str)]
    canvas.short.update(distinct_short_forms([*drawn(chart), *bars], canvas.characters))
    return {**_DRAW[chart.kind](chart, canvas), "config": canvas.configuration(), "datasets": canvas.rows}


def svg(chart: Chart, canvas: Canvas) -> str:
    """Draw a chart as the text of an SVG."""
    return vl_convert.vegalite_to_svg(specification(chart, canvas), vl_version=_VEGA_LITE)


def png(chart: Chart, canvas: Canvas) -> bytes:
    """Draw a chart as a PNG, two pixels for each of the canvas."""
    return vl_convert.vegalite_to_png(specification(chart, canvas), vl_version=_VEGA_LITE, scale=_PIXELS)
