"""Draws measured points joined by lines, a frame for each panel, and the line of what was asked for."""

from collections.abc import Sequence
from typing import Any, Final, cast

import altair as alt

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import (
    FACE,
    LABEL_SIZE,
    Canvas,
    Part,
    domain,
    drawn,
    fits,
    named,
    number,
    scale,
    unit,
)
from httpdyno.report.charts.labels import point_words, text_width

__all__ = ["draw"]

_SIDE: Final = 56
_GAP: Final = 24
_TALL: Final = 300
_LEAST: Final = 130
_FEW: Final = 4
_POINT: Final = 5.5
_WIDER: Final = 1.4
_SYMBOL: Final = 16
_APART: Final = 24
"""Between the names of a legend: long ones come out wider in the face of a page than they are drawn for."""
_NAME: Final = 190
_MOST_NAMES: Final = 6
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis; of several panels it stands above their names."""


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``TRENDS``."""
    panels = list(dict.fromkeys(series.panel for series in chart.series))
    columns = _columns(len(panels), canvas)
    width = (canvas.width - 10 - _SIDE - (columns - 1) * _GAP) // columns
    height = _TALL if len(panels) < 2 else max(_LEAST, width * 5 // 9)
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [*(y for series in chart.series for y in series.y), chart.reference])
    quantity = number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, height))
    place = {"x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width)), "y": quantity}
    alone = panels in ([], [""])
    names = drawn(chart)
    legend = _legend(names, canvas) | {"offset": _ABOVE if alone else 10, "symbolOpacity": 1}
    coloured = place | {"color": canvas.colour(chart, names, legend=legend), "detail": named("line")}
    reference = {"y": quantity, "text": named("text"), "x": {"value": 5}}
    asked = {"dy": -8, "align": "left", "fontSize": LABEL_SIZE, "limit": int(FACE * width)}
    halo = {"color": canvas.theme.surface, "stroke": canvas.theme.surface, "strokeWidth": 4, "strokeJoin": "round"}
    dot = {"filled": True, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 0.7}
    size = number("size", scale=None, legend=None)
    layers = [
        _layer("asked", "rule", {"y": quantity}, strokeWidth=1.5, strokeDash=[5, 4], color=canvas.theme.quiet),
        _layer("faint", "line", coloured, strokeWidth=1.5, strokeDash=[3, 3], opacity=0.75),
        _layer("line", "line", coloured, strokeWidth=2, strokeJoin="round"),
        _layer("point", "point", coloured | {"description": named("words"), "size": size}, **dot),
        # Lines run behind its name.
        _layer("asked", "text", reference, **asked, **halo),
        _layer("asked", "text", reference, **asked, color=canvas.theme.quiet),
    ]
    rows = []
    for line, series in enumerate(chart.series):
        # The more lines are drawn over one, the larger its points: where they coincide, they are seen as rings.
        under = len(names) - 1 - names.index(series.name)
        rows += [row | {"size": (_POINT + _WIDER * under) ** 2} for row in _rows(chart, series, line)]
    if chart.reference is not None:
        words = canvas.text(chart.reference_name)
        rows += [{"panel": panel, "role": "asked", "y": chart.reference, "text": words} for panel in panels]
    frames = alt.layer(*layers, data=canvas.data(rows)).properties(width=width, height=height)
    if alone:
        return frames
    facet = named("panel", sort=[canvas.text(panel) for panel in panels], header=_header(canvas, width))
    return frames.facet(facet=cast(Any, facet), columns=columns, spacing=_GAP)


def _columns(panels: int, canvas: Canvas) -> int:
    if canvas.narrow or panels < 2:
        return 1
    return 2 if panels <= _FEW else 3


def _legend(names: Sequence[str], canvas: Canvas) -> Part:
    """Lay a legend out in as many columns as fit: one that is wider than the chart makes it smaller."""
    widest = min(max((text_width(name, LABEL_SIZE) for name in names), default=0), _NAME) + _SYMBOL + _APART
    columns = max(1, min(_MOST_NAMES, int(canvas.width / widest)))
    return {"columns": columns, "columnPadding": _APART, "labelLimit": _NAME}


def _header(canvas: Canvas, width: int) -> Part:
    return {
        "title": None,
        "labelAnchor": "start",
        "labelColor": canvas.theme.ink,
        "labelFontSize": 13,
        "labelFontWeight": 600,
        "labelLimit": int(FACE * width),
        "labelPadding": 24,
    }


def _layer(role: str, kind: str, encoding: Part, **looks: Any) -> Any:  # noqa: ANN401
    return alt.Chart(alt.Undefined, **unit(kind, encoding, looks)).transform_filter(f"datum.role == '{role}'")


def _rows(chart: Chart, series: Series, line: int) -> list[dict[str, Any]]:
    """Return the points of a series for its line, and once more for a pointer to find unless they lie behind."""
    rows: list[dict[str, Any]] = []
    for place, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        if isinstance(x, str) or not fits(chart.x, x) or not fits(chart.y, y):
            continue
        row = {"panel": series.panel, "name": series.name, "line": line, "x": x, "y": y}
        rows.append(row | {"role": "faint" if series.faint else "line"})
        if not series.faint:
            rows.append(row | {"role": "point", "words": point_words(series, place, chart.x, chart.y)})
    return rows
