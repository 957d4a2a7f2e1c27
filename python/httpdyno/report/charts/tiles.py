"""Draws grids of points, a panel for each: what became of a point by colour and by word, and where ``held`` ends."""

import json
from collections.abc import Iterator
from typing import Any, Final, cast

import altair as alt

from httpdyno.model import Chart, Tile, Tone
from httpdyno.report.charts.canvas import FACE, LABEL_SIZE, Canvas, Part, named, number, unit
from httpdyno.report.charts.labels import text_width

__all__ = ["draw"]

_ROW: Final = 26
_TEXT: Final = 11
_GAP: Final = 22
_LEAST: Final = 30
"""Of a tile's width: three digits have room on it."""
_MOST: Final = 74
_LABEL: Final = 8
_TITLE: Final = 20


def draw(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
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
    everything = [row for panel in panels for row in _rows(chart, panel, columns, rows, tile)]
    frames = alt.layer(*layers, data=canvas.data(everything)).properties(width=width, height=height)
    if panels in ([], [""]):
        return frames
    facet = named("panel", sort=[canvas.text(panel) for panel in panels], header=_header(canvas, width, chart))
    return frames.facet(facet=cast(Any, facet), columns=abreast, spacing=_GAP)


def _laid_out(panels: int, columns: int, room: float) -> tuple[int, int]:
    """Return how many panels stand side by side, and how wide a tile is: as many as leave room for its text."""
    widest = 0
    for abreast in range(max(panels, 1), 0, -1):
        widest = int((room - (abreast - 1) * _GAP) / abreast / columns)
        if widest >= _LEAST:
            return abreast, min(widest, _MOST)
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
    """Put the title of the rows above them, where it can be read without turning the head."""
    turned = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom"}
    return {**turned, "titleX": 0, "titleY": -5, "labelOverlap": False} if chart.y.label else {}


def _header(canvas: Canvas, width: int, chart: Chart) -> Part:
    return {
        "title": None,
        "labelAnchor": "start",
        "labelColor": canvas.theme.ink,
        "labelFontSize": 13,
        "labelFontWeight": 600,
        "labelLimit": int(FACE * width),
        "labelPadding": _TITLE if chart.y.label else 6,
    }


def _colour(chart: Chart, canvas: Canvas, tones: list[Tone]) -> Part:
    names = dict(chart.tones)
    said = [canvas.text(names.get(tone, tone.value)) for tone in tones]
    legend: Part = {"columns": 2 if canvas.narrow else 6, "labelLimit": 220, "columnPadding": 34}
    scale = {"domain": said, "range": [canvas.theme.tones[tone] for tone in tones]}
    # A legend of nothing is infinitely wide.
    return named("tone", scale=scale, legend=legend if tones else None)


def _layer(role: str, kind: str, encoding: Part, **looks: Any) -> Any:  # noqa: ANN401
    return alt.Chart(alt.Undefined, **unit(kind, encoding, looks)).transform_filter(f"datum.role == '{role}'")


def _rows(chart: Chart, panel: str, columns: list[str], rows: list[str], width: int) -> Iterator[dict[str, Any]]:
    names = dict(chart.tones)
    held: dict[tuple[int, int], bool] = {}
    for tile in chart.tiles:
        if tile.panel != panel:
            continue
        x, y = columns.index(tile.column), rows.index(tile.row)
        if tile.tone is not Tone.UNKNOWN:  # beside such a one nobody knows where it ends
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
