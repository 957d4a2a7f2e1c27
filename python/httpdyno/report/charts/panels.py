"""Charts of several small frames on the same scales: lines, trends, and grids of tiles."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

import altair as alt

from httpdyno.model import Chart, Series, Tile, Tone
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
    point_words,
    pointed_at,
    scale,
    text_width,
    unit,
)

_PANEL_SIDE: Final = 40
"""Room for the labels of the vertical axis, which only the first frame of a row has."""
_PANEL_GAP: Final = 20
_FEW: Final = 4
_SOME: Final = 9


def draw_panels(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``PANELS``."""
    names = drawn(chart)
    columns = _panel_columns(len(names), canvas)
    width = (canvas.width - 10 - _PANEL_SIDE - (columns - 1) * _PANEL_GAP) // columns
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
    frames = alt.layer(*layers, data=canvas.data(_panel_rows(chart, names))).properties(width=width, height=height)
    facet = named("frame", sort=[canvas.text(name) for name in names], header=_frame_header(canvas, width, 6))
    return frames.facet(facet=cast(Any, facet), columns=columns, spacing=_PANEL_GAP)


def _panel_columns(count: int, canvas: Canvas) -> int:
    if canvas.narrow:
        return 1 if count <= _FEW else 2
    return max(1, min(count, 2 if count <= _FEW else 3 if count <= _SOME else 4))


def _frame_header(canvas: Canvas, width: int, padding: int) -> Part:
    return {
        "title": None,
        "labelAnchor": "start",
        "labelColor": canvas.theme.ink,
        "labelFontSize": 13,
        "labelFontWeight": 600,
        "labelLimit": int(FACE * width),
        "labelPadding": padding,
    }


def _layer(role: str, kind: str, encoding: Part, **looks: Any) -> Any:  # noqa: ANN401
    return alt.Chart(alt.Undefined, **unit(kind, encoding, looks)).transform_filter(f"datum.role == '{role}'")


def _panel_rows(chart: Chart, names: list[str]) -> list[dict[str, Any]]:
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
    hover = [
        point | {"role": "point", "words": point_words(series, place, chart.x, chart.y)}
        for place in pointed_at(chart, series)
        for point in _points(chart, series, [place])
    ]
    return [point | {"role": "main"} for point in points] + hover


def _points(chart: Chart, series: Series, places: Iterable[int]) -> list[dict[str, Any]]:
    return [
        {"x": series.x[place], "y": series.y[place]}
        for place in places
        if fits(chart.x, series.x[place]) and fits(chart.y, series.y[place])
    ]


_TREND_SIDE: Final = 56
_TREND_GAP: Final = 24
_TALL: Final = 300
_LEAST_HEIGHT: Final = 130
_POINT: Final = 5.5
_WIDER: Final = 1.4
_SYMBOL: Final = 16
_APART: Final = 24
"""Between the names of a legend: long ones come out wider in the face of a page than they are drawn for."""
_NAME: Final = 190
_MOST_NAMES: Final = 6
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis; of several panels it stands above their names."""


def draw_trends(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``TRENDS``."""
    panels = list(dict.fromkeys(series.panel for series in chart.series))
    columns = _trend_columns(len(panels), canvas)
    width = (canvas.width - 10 - _TREND_SIDE - (columns - 1) * _TREND_GAP) // columns
    height = _TALL if len(panels) < 2 else max(_LEAST_HEIGHT, width * 5 // 9)
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
        rows += [row | {"size": (_POINT + _WIDER * under) ** 2} for row in _trend_rows(chart, series, line)]
    if chart.reference is not None:
        words = canvas.text(chart.reference_name)
        rows += [{"panel": panel, "role": "asked", "y": chart.reference, "text": words} for panel in panels]
    frames = alt.layer(*layers, data=canvas.data(rows)).properties(width=width, height=height)
    if alone:
        return frames
    facet = named("panel", sort=[canvas.text(panel) for panel in panels], header=_frame_header(canvas, width, 24))
    return frames.facet(facet=cast(Any, facet), columns=columns, spacing=_TREND_GAP)


def _trend_columns(panels: int, canvas: Canvas) -> int:
    if canvas.narrow or panels < 2:
        return 1
    return 2 if panels <= _FEW else 3


def _legend(names: Sequence[str], canvas: Canvas) -> Part:
    """Lay a legend out in as many columns as fit: one that is wider than the chart makes it smaller."""
    widest = min(max((text_width(name, LABEL_SIZE) for name in names), default=0), _NAME) + _SYMBOL + _APART
    columns = max(1, min(_MOST_NAMES, int(canvas.width / widest)))
    return {"columns": columns, "columnPadding": _APART, "labelLimit": _NAME}


def _trend_rows(chart: Chart, series: Series, line: int) -> list[dict[str, Any]]:
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


_ROW: Final = 26
_TEXT: Final = 11
_TILE_GAP: Final = 22
_LEAST_WIDTH: Final = 30
"""Of a tile's width: three digits have room on it."""
_MOST_WIDTH: Final = 74
_LABEL: Final = 8
_TITLE: Final = 20


def draw_tiles(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``TILES``."""
    panels = list(dict.fromkeys(tile.panel for tile in chart.tiles))
    columns = list(dict.fromkeys(tile.column for tile in chart.tiles))
    rows = list(dict.fromkeys(tile.row for tile in chart.tiles))
    side = max((text_width(row, LABEL_SIZE) for row in rows), default=0) + _LABEL
    abreast, tile = _laid_out(len(panels), max(len(columns), 1), canvas.width - side - 10)
    width, height = tile * max(len(columns), 1), _ROW * max(len(rows), 1)
    across = _axis(canvas, columns, chart.x.label, tile) | {"labelPadding": 5}
    up = _axis(canvas, rows, chart.y.label, _ROW) | _above(chart)
    place = {
        "x": number("x", scale={"domain": [0, len(columns)], "nice": False}, axis=across),
        "x2": {"field": "x2"},
        "y": number("y", scale={"domain": [0, len(rows)], "nice": False}, axis=up),
        "y2": {"field": "y2"},
    }
    middle = {"x": place["x"] | {"field": "middle"}, "y": place["y"] | {"field": "centre"}}
    tones = [tone for tone in Tone if any(one.tone is tone for one in chart.tiles)]
    filled = {"color": _colour(chart, canvas, tones), "description": named("words")}
    layers = [
        _layer("tile", "rect", place | filled, stroke=canvas.theme.surface, strokeWidth=1.5),
        *(
            _layer(tone, "text", middle | {"text": named("text")}, fontSize=_TEXT, color=canvas.theme.on_tones[tone])
            for tone in tones
        ),
        _layer("border", "rule", place, strokeWidth=2.5, strokeCap="square", color=canvas.theme.ink),
    ]
    everything = [row for panel in panels for row in _tile_rows(chart, panel, columns, rows, tile)]
    frames = alt.layer(*layers, data=canvas.data(everything)).properties(width=width, height=height)
    if panels in ([], [""]):
        return frames
    facet = named(
        "panel",
        sort=[canvas.text(panel) for panel in panels],
        header=_frame_header(canvas, width, _TITLE if chart.y.label else 6),
    )
    return frames.facet(facet=cast(Any, facet), columns=abreast, spacing=_TILE_GAP)


def _laid_out(panels: int, columns: int, room: float) -> tuple[int, int]:
    """Return how many panels stand side by side, and how wide a tile is: as many as leave room for its text."""
    widest = 0
    for abreast in range(max(panels, 1), 0, -1):
        widest = int((room - (abreast - 1) * _TILE_GAP) / abreast / columns)
        if widest >= _LEAST_WIDTH:
            return abreast, min(widest, _MOST_WIDTH)
    return 1, max(widest, 1)


def _axis(canvas: Canvas, labels: list[str], title: str, pixels: int) -> Part:
    """Label the middle of each column or row; Vega-Lite reads the labels from an expression."""
    texts = json.dumps([canvas.text(label) for label in labels])
    return {
        "title": title or None,
        "grid": False,
        "values": [place + 0.5 for place in range(len(labels))],
        "labelExpr": f"{texts}[floor(datum.value)]",
        "labelLimit": 160,
        "labelOverlap": max((text_width(label, LABEL_SIZE) for label in labels), default=0) > pixels,
    }


def _above(chart: Chart) -> Part:
    """Put the title of the rows above them, horizontally."""
    turned = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom"}
    return {**turned, "titleX": 0, "titleY": -5, "labelOverlap": False} if chart.y.label else {}


def _colour(chart: Chart, canvas: Canvas, tones: list[Tone]) -> Part:
    names = dict(chart.tones)
    said = [canvas.text(names.get(tone, tone.value)) for tone in tones]
    legend: Part = {"columns": 2 if canvas.narrow else 6, "labelLimit": 220, "columnPadding": 34}
    scale = {"domain": said, "range": [canvas.theme.tones[tone] for tone in tones]}
    # A legend of nothing is infinitely wide.
    return named("tone", scale=scale, legend=legend if tones else None)


def _tile_rows(chart: Chart, panel: str, columns: list[str], rows: list[str], width: int) -> Iterator[dict[str, Any]]:
    names = dict(chart.tones)
    held: dict[tuple[int, int], bool] = {}
    for tile in chart.tiles:
        if tile.panel != panel:
            continue
        x, y = columns.index(tile.column), rows.index(tile.row)
        if tile.tone is not Tone.UNKNOWN:  # next to an unknown tile the border is unknown
            held[x, y] = tile.tone in {Tone.HELD, Tone.DOUBTFUL}
        where = {"panel": panel, "x": x, "x2": x + 1, "y": y, "y2": y + 1, "middle": x + 0.5, "centre": y + 0.5}
        yield where | {"role": "tile", "tone": names.get(tile.tone, tile.tone.value), "words": _words(tile)}
        if text_width(tile.text, _TEXT) <= width:
            yield where | {"role": tile.tone.value, "text": tile.text}
    yield from (_line(panel, *ends) for ends in _borders(held))


def _words(tile: Tile) -> str:
    return f"{tile.panel}, {tile.words}" if tile.panel else tile.words


def _borders(held: dict[tuple[int, int], bool]) -> Iterator[tuple[int, int, int, int]]:
    """Find the edges between what is held and what is not, each from one corner of a tile to the next."""
    for (x, y), here in held.items():
        if held.get((x + 1, y), here) is not here:
            yield x + 1, y, x + 1, y + 1
        if held.get((x, y + 1), here) is not here:
            yield x, y + 1, x + 1, y + 1


def _line(panel: str, x: int, y: int, x2: int, y2: int) -> dict[str, Any]:
    return {"panel": panel, "role": "border", "x": x, "y": y, "x2": x2, "y2": y2}
