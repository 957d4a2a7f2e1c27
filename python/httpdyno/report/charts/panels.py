"""Draws a small frame for each series, all on the same scales, with the others in grey behind it."""

from collections.abc import Iterable
from typing import Any, Final, cast

import altair as alt

from httpdyno.model import Chart, Series
from httpdyno.report.charts.canvas import FACE, Canvas, Part, domain, drawn, fits, named, number, scale, unit
from httpdyno.report.charts.labels import point_words, pointed_at

__all__ = ["draw"]

_SIDE: Final = 40
"""Room for the labels of the vertical axis, which only the first frame of a row has."""
_GAP: Final = 20
_FEW: Final = 4
_SOME: Final = 9


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``PANELS``."""
    names = drawn(chart)
    columns = _columns(len(names), canvas)
    width = (canvas.width - 10 - _SIDE - (columns - 1) * _GAP) // columns
    height = max(90, min(130, width * 5 // 12))
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [y for series in chart.series for y in series.y])
    plain = {"title": None}
    place = {
        "x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width, grid=False) | plain),
        "y": number(
            "y",
            scale=scale(chart.y, up),
            axis=canvas.axis(chart.y, up, height, upright=True) | plain | {"tickCount": 3},
        ),
        "detail": named("line"),
    }
    coloured = place | {"color": canvas.colour(chart, names)}
    layers = [
        _layer("others", "line", place, strokeWidth=1, color=canvas.theme.others, opacity=0.7),
        _layer("trial", "line", coloured, strokeWidth=1, opacity=0.35),
        _layer("main", "line", coloured, strokeWidth=2.2),
        _layer("point", "point", coloured | {"description": named("words")}, filled=True, size=36, opacity=0),
    ]
    frames = alt.layer(*layers, data=canvas.data(_rows(chart, names))).properties(width=width, height=height)
    facet = named("frame", sort=[canvas.text(name) for name in names], header=_header(canvas, width))
    return frames.facet(facet=cast(Any, facet), columns=columns, spacing=_GAP)


def _columns(count: int, canvas: Canvas) -> int:
    if canvas.narrow:
        return 1 if count <= _FEW else 2
    return max(1, min(count, 2 if count <= _FEW else 3 if count <= _SOME else 4))


def _header(canvas: Canvas, width: int) -> Part:
    return {
        "title": None,
        "labelAnchor": "start",
        "labelColor": canvas.theme.ink,
        "labelFontSize": 13,
        "labelFontWeight": 600,
        "labelLimit": int(FACE * width),
        "labelPadding": 6,
    }


def _layer(role: str, kind: str, encoding: Part, **looks: Any) -> Any:  # noqa: ANN401
    return alt.Chart(alt.Undefined, **unit(kind, encoding, looks)).transform_filter(f"datum.role == '{role}'")


def _rows(chart: Chart, names: list[str]) -> list[dict[str, Any]]:
    """Draw the series of every frame, as lines and as points for a pointer to find, and those of the others."""
    # Each of many frames has lines of all others: every second point of them says as much.
    sparse = 2 if len(names) > _FEW else 1
    rows: list[dict[str, Any]] = []
    for frame in names:
        for place, series in enumerate(chart.series):
            line = {"frame": frame, "line": place, "name": series.name}
            if series.name == frame:
                rows += [line | point for point in _own(chart, series)]
            elif not series.faint:
                points = _points(chart, series, range(0, len(series.x), sparse))
                rows += [line | point | {"role": "others"} for point in points]
    return rows


def _own(chart: Chart, series: Series) -> list[dict[str, Any]]:
    points = _points(chart, series, range(len(series.x)))
    if series.faint:
        return [point | {"role": "trial"} for point in points]
    told = [
        point | {"role": "point", "words": point_words(series, place, chart.x, chart.y)}
        for place in pointed_at(chart, series)
        for point in _points(chart, series, [place])
    ]
    return [point | {"role": "main"} for point in points] + told


def _points(chart: Chart, series: Series, places: Iterable[int]) -> list[dict[str, Any]]:
    return [
        {"x": series.x[place], "y": series.y[place]}
        for place in places
        if fits(chart.x, series.x[place]) and fits(chart.y, series.y[place])
    ]
