"""Charts of several small frames on the same scales: lines, trends, and grids of tiles."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from httpdyno.model import Chart, Tone
from httpdyno.report.charts.canvas import (
    ABOVE,
    FACE,
    LABEL_SIZE,
    LEGEND_GAP,
    TITLE_ABOVE,
    Canvas,
    Frame,
    Part,
    drawn,
    mark,
    named,
    number,
    text_width,
)

_FEW: Final = 4
_SOME: Final = 9


def _layer(role: str, kind: str, encoding: Part, **looks: Any) -> Part:  # noqa: ANN401
    return {"transform": [{"filter": f"datum.role == '{role}'"}], **mark(kind, encoding, **looks)}


def _arranged(canvas: Canvas, frames: Part, names: list[str], columns: int, gap: int, padding: int) -> Part:
    """Put a frame for each name side by side, under its name; it shows the rows with this name as ``panel``."""
    header = {
        "title": None,
        "labelAnchor": "start",
        "labelColor": canvas.theme.ink,
        "labelFontSize": 13,
        "labelFontWeight": 600,
        "labelLimit": int(FACE * frames["width"]),
        "labelPadding": padding,
    }
    facet = named("panel", sort=[canvas.text(name) for name in names], header=header)
    data = frames.pop("data")
    return {"data": data, "facet": facet, "spec": frames, "columns": columns, "spacing": gap}


_PANEL_SIDE: Final = 40
"""Room for the labels of the vertical axis, which only the first frame of a row has."""
_PANEL_GAP: Final = 20


def draw_panels(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``PANELS``."""
    names = drawn(chart)
    few = len(names) <= _FEW
    most = (1 if few else 2) if canvas.narrow else 2 if few else 3 if len(names) <= _SOME else 4
    columns = max(1, min(len(names), most))
    width = (canvas.width - 10 - _PANEL_SIDE - (columns - 1) * _PANEL_GAP) // columns
    frame = Frame.around(chart, canvas, width, max(90, min(130, width * 5 // 12)))
    place = frame.place()
    place["x"]["axis"] |= {"title": None, "grid": False}
    place["y"]["axis"] |= {"title": None, "tickCount": 3}
    place["detail"] = named("line")
    coloured = place | {"color": canvas.colour(chart)}
    layers = [
        _layer("others", "line", place, strokeWidth=1, color=canvas.theme.others, opacity=0.7),
        _layer("trial", "line", coloured, strokeWidth=1, opacity=0.35),
        _layer("main", "line", coloured, strokeWidth=2.2),
        _layer("point", "point", coloured | {"description": named("words")}, filled=True, size=36, opacity=0),
    ]
    frames = {"data": canvas.data(_panel_rows(frame, names)), "layer": layers, **frame.size}
    return _arranged(canvas, frames, names, columns, _PANEL_GAP, 6)


def _panel_rows(frame: Frame, names: list[str]) -> Iterator[Part]:
    """Yield the series of every frame, as lines and as points for a pointer to find, and those of the others."""
    # Each of many frames has lines of all others: every second point of them is enough.
    sparse = 2 if len(names) > _FEW else 1
    for name in names:
        for line, series in enumerate(frame.chart.series):
            if series.name == name:
                places, role = range(len(series.x)), "trial" if series.faint else "main"
            elif series.faint:
                continue
            else:
                places, role = range(0, len(series.x), sparse), "others"
            for row in frame.points(series, places):
                yield row | {"panel": name, "line": line, "role": role}
            for row in frame.hovered(series) if role == "main" else ():
                yield row | {"panel": name, "line": line, "role": "point"}


_TREND_SIDE: Final = 56
_TREND_GAP: Final = 24
_TALL: Final = 300
_LEAST_HEIGHT: Final = 130
_POINT: Final = 5.5
_WIDER: Final = 1.4
_SYMBOL: Final = 16
_NAME: Final = 190
_MOST_NAMES: Final = 6


def draw_trends(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``TRENDS``."""
    names = drawn(chart)
    theme = canvas.theme
    panels = list(dict.fromkeys(series.panel for series in chart.series))
    alone = panels in ([], [""])
    columns = 1 if canvas.narrow or len(panels) < 2 else 2 if len(panels) <= _FEW else 3
    width = (canvas.width - 10 - _TREND_SIDE - (columns - 1) * _TREND_GAP) // columns
    height = _TALL if len(panels) < 2 else max(_LEAST_HEIGHT, width * 5 // 9)
    frame = Frame.around(chart, canvas, width, height)
    place = frame.place()
    quantity = {"y": place["y"]}
    legend = _legend(names, canvas) | {"offset": ABOVE if alone else 10, "symbolOpacity": 1}
    coloured = place | {"color": canvas.colour(chart, legend=legend), "detail": named("line")}
    hover = coloured | {"description": named("words"), "size": number("size", scale=None, legend=None)}
    reference = quantity | {"text": named("text"), "x": {"value": 5}}
    asked = {"dy": -8, "align": "left", "fontSize": LABEL_SIZE, "limit": int(FACE * width)}
    halo = {"color": theme.surface, "stroke": theme.surface, "strokeWidth": 4, "strokeJoin": "round"}
    edge = {"filled": True, "opacity": 1, "stroke": theme.surface, "strokeWidth": 0.7}
    layers = [
        _layer("asked", "rule", quantity, strokeWidth=1.5, strokeDash=[5, 4], color=theme.quiet),
        _layer("faint", "line", coloured, strokeWidth=1.5, strokeDash=[3, 3], opacity=0.75),
        _layer("line", "line", coloured, strokeWidth=2, strokeJoin="round"),
        _layer("point", "point", hover, **edge),
        # The lines are behind the name of the reference.
        _layer("asked", "text", reference, **asked, **halo),
        _layer("asked", "text", reference, **asked, color=theme.quiet),
    ]
    rows: list[Part] = []
    for line, series in enumerate(chart.series):
        # A series has larger points the more lines are drawn over it, so that points that coincide look like rings.
        size = (_POINT + _WIDER * (len(names) - 1 - names.index(series.name))) ** 2
        own = [row | {"panel": series.panel, "line": line, "size": size} for row in frame.points(series, words=True)]
        for role in ["faint"] if series.faint else ["line", "point"]:
            rows += [row | {"role": role} for row in own]
    if chart.reference is not None:
        at = {"role": "asked", "y": chart.reference, "text": chart.reference_name}
        rows += [at | {"panel": panel} for panel in panels]
    frames = {"data": canvas.data(rows), "layer": layers, **frame.size}
    return frames if alone else _arranged(canvas, frames, panels, columns, _TREND_GAP, 24)


def _legend(names: Sequence[str], canvas: Canvas) -> Part:
    """Lay out a legend in as many columns as fit, because a legend that is wider than the chart shrinks the chart."""
    widest = min(max((text_width(name, LABEL_SIZE) for name in names), default=0), _NAME) + _SYMBOL + LEGEND_GAP
    columns = max(1, min(_MOST_NAMES, int(canvas.width / widest)))
    return {"columns": columns, "columnPadding": LEGEND_GAP, "labelLimit": _NAME}


_ROW: Final = 26
_TEXT: Final = 11
_TILE_GAP: Final = 22
_LEAST_WIDTH: Final = 30
"""Smallest width of a tile: three digits fit on it."""
_MOST_WIDTH: Final = 74
_LABEL: Final = 8
_TITLE: Final = 20


def draw_tiles(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``TILES``."""
    theme = canvas.theme
    panels, columns, rows = (
        list(dict.fromkeys(getattr(tile, part) for tile in chart.tiles)) for part in ("panel", "column", "row")
    )
    side = max((text_width(row, LABEL_SIZE) for row in rows), default=0) + _LABEL
    abreast, width = _laid_out(len(panels), max(len(columns), 1), canvas.width - side - 10)
    across = _tile_axis(canvas, columns, chart.x.label, width) | {"labelPadding": 5}
    up = _tile_axis(canvas, rows, chart.y.label, _ROW)
    if chart.y.label:
        up |= {**TITLE_ABOVE, "titleY": -5, "labelOverlap": False}
    place = {
        "x": number("x", scale={"domain": [0, len(columns)], "nice": False}, axis=across),
        "x2": {"field": "x2"},
        "y": number("y", scale={"domain": [0, len(rows)], "nice": False}, axis=up),
        "y2": {"field": "y2"},
    }
    middle = {"x": place["x"] | {"field": "middle"}, "y": place["y"] | {"field": "centre"}, "text": named("text")}
    names = dict(chart.tones)
    tones = [tone for tone in Tone if any(one.tone is tone for one in chart.tiles)]
    legend = {"columns": 2 if canvas.narrow else 6, "labelLimit": 220, "columnPadding": 34}
    colour = canvas.coloured("tone", {names.get(tone, tone.value): theme.tones[tone] for tone in tones}, legend)
    filled = place | {"color": colour, "description": named("words")}
    layers = [
        _layer("tile", "rect", filled, stroke=theme.surface, strokeWidth=1.5),
        *(_layer(tone, "text", middle, fontSize=_TEXT, color=theme.on_tones[tone]) for tone in tones),
        _layer("border", "rule", place, strokeWidth=2.5, strokeCap="square", color=theme.ink),
    ]
    everything = [row for panel in panels for row in _tile_rows(chart, panel, columns, rows, width)]
    size = {"width": width * max(len(columns), 1), "height": _ROW * max(len(rows), 1)}
    frames = {"data": canvas.data(everything), "layer": layers, **size}
    if panels in ([], [""]):
        return frames
    return _arranged(canvas, frames, panels, abreast, _TILE_GAP, _TITLE if chart.y.label else 6)


def _laid_out(panels: int, columns: int, room: float) -> tuple[int, int]:
    """Return how many panels stand side by side, and how wide a tile is; the text of a tile must fit."""
    widest = 0
    for abreast in range(max(panels, 1), 0, -1):
        widest = int((room - (abreast - 1) * _TILE_GAP) / abreast / columns)
        if widest >= _LEAST_WIDTH:
            return abreast, min(widest, _MOST_WIDTH)
    return 1, max(widest, 1)


def _tile_axis(canvas: Canvas, labels: list[str], title: str, pixels: int) -> Part:
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


def _tile_rows(chart: Chart, panel: str, columns: list[str], rows: list[str], width: int) -> Iterator[Part]:
    names = dict(chart.tones)
    held: dict[tuple[int, int], bool] = {}
    for tile in chart.tiles:
        if tile.panel != panel:
            continue
        x, y = columns.index(tile.column), rows.index(tile.row)
        if tile.tone is not Tone.UNKNOWN:  # at an unknown tile the border is unknown
            held[x, y] = tile.tone in {Tone.HELD, Tone.DOUBTFUL}
        words = f"{panel}, {tile.words}" if panel else tile.words
        where = {"panel": panel, "x": x, "x2": x + 1, "y": y, "y2": y + 1, "middle": x + 0.5, "centre": y + 0.5}
        yield where | {"role": "tile", "tone": names.get(tile.tone, tile.tone.value), "words": words}
        if text_width(tile.text, _TEXT) <= width:
            yield where | {"role": tile.tone.value, "text": tile.text}
    border = {"panel": panel, "role": "border"}
    for (x, y), here in held.items():
        if held.get((x + 1, y), here) is not here:
            yield border | {"x": x + 1, "y": y, "x2": x + 1, "y2": y + 1}
        if held.get((x, y + 1), here) is not here:
            yield border | {"x": x, "y": y + 1, "x2": x + 1, "y2": y + 1}
