"""A whole report as one HTML file, which contains template, style, script and charts, and loads nothing."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from httpdyno.model import Cell, Chart, Column, ColumnKind, Report, Table
from httpdyno.report.cell import cell_text, note_lines, right_aligned, tone_of, without_controls
from httpdyno.report.charts import svg
from httpdyno.report.charts.canvas import DARK, LIGHT, VARIABLES, Canvas, style

_SHORT: Final = 28
_MUCH: Final = 60


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell as text, with its sort key."""

    text: str
    value: str
    """A number, or the text; empty if the value is unknown."""
    layout: str
    """How it is laid out: aligned to the right, in a column with a limit, or as a text that may be broken."""
    tone: str


def shown_of(table: Table) -> Table:
    """Leave out the columns that are not shown to people."""
    return table.select(column.name for column in table.columns if column.shown)


def grid_rows(table: Table, places: Mapping[str, int]) -> list[tuple[int | None, tuple[GridCell, ...]]]:
    """Return the rows of a table for a page: the place of the subject, which decides its colour, and the shown cells.

    ``places`` has the place of each subject by its id and by its name; rows of other subjects have None.
    """
    shown = shown_of(table)
    columns = (_cells(shown.values(column.name), column) for column in shown.columns)
    subjects = (places.get(str(record.get("subject"))) for record in table.records())
    return list(zip(subjects, zip(*columns, strict=True), strict=True))


def _unit(column: Column) -> str:
    # The cells of sizes and times have their units, and so have labels.
    return "" if column.label or column.kind in {ColumnKind.SIZE, ColumnKind.TIME} else column.unit


def _cells(cells: Sequence[Cell], column: Column) -> list[GridCell]:
    texts = [cell_text(cell, column) for cell in cells]
    if column.kind is ColumnKind.DECIMAL:
        texts = _align_numbers(cells, texts)
    return [
        GridCell(text, "" if cell is None else str(cell), _layout(column, text), tone_of(cell, column))
        for cell, text in zip(cells, texts, strict=True)
    ]


def _align_numbers(cells: Sequence[Cell], texts: Sequence[str]) -> list[str]:
    """Write all numbers with as many decimals as the longest, so that their points are below each other.

    A ratio to a published figure (``1.25x``) is text, and does not change.
    """
    numbers = [isinstance(cell, (int, float)) for cell in cells]
    shown = (text for number, text in zip(numbers, texts, strict=True) if number)
    decimals = max((len(text.partition(".")[2]) for text in shown), default=0)
    return [f"{float(text):.{decimals}f}" if number else text for number, text in zip(numbers, texts, strict=True)]


def _layout(column: Column, text: str = "") -> str:
    if right_aligned(column):
        return "right" if column.limit is None else "right limited"
    return "text much" if len(text) > _MUCH else "text" if len(text) > _SHORT else ""


_FONT: Final = re.compile(r' font-family="[^"]*"')
_BOUND: Final = re.compile(
    r" (?=%)|(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\d) (?=(?:[KMG]iB|B|m?s|[kMG]?bit/s)\b)|(?<=rtt) (?=\d)"
)
"""Blanks at which no line is broken: ``95 %``, ``1.08 to 1.16``, ``300 KiB``."""


_PARTS: Final = re.compile(r"[;.] ")


def page(report: Report) -> str:
    """Write a report as one HTML file.

    The file contains its style, script and drawings; its content policy forbids loading anything. Texts of
    subjects are escaped.
    """
    script = _text("page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finalize, trim_blocks=True, lstrip_blocks=True
    )
    places = {word: place for place, pair in enumerate(report.subjects) for word in pair}
    # The large part of the headline is the first subject and its lead.
    answer, _, more = report.headline.partition("\n")
    if not more:
        answer, _, more = _PARTS.sub("\n", report.headline, count=1).partition("\n")
    if not any(more.startswith(name) for _, name in report.subjects):
        more = more[:1].upper() + more[1:]
    return environment.from_string(_text("page.html.jinja")).render(
        report=report,
        answer=_BOUND.sub("\u00a0", answer),
        more=_BOUND.sub("\u00a0", more),
        # Style and script are httpdyno's own, and contain no closing tags; the digest allows only this script.
        style=Markup(_style(len(report.subjects))),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        shown_of=shown_of,
        rows_of=lambda table: grid_rows(table, places),
        note_lines=note_lines,
        draw=_draw,
        unit_of=_unit,
        layout_of=_layout,
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style(subjects: int) -> str:
    """Write the colours of both schemes, then the rules, then a rule for each subject that can be highlighted.

    While the page highlights a subject, its rule fades the marks of all others.
    """
    rules = [f":root{{{style(LIGHT)}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{style(DARK)}}}}}\n"]
    rules.append(_text("page.css"))
    for place in range(subjects):
        root = f':root[data-only="{place}"]'
        faded = [f'{root} tr[data-subject]:not([data-subject="{place}"])']
        for own in VARIABLES.series[place : place + 1]:
            faded += [
                f'{root} .drawing [{paint}^="var(--series-"]:not([{paint}="{own}"],[opacity="0"])'
                for paint in ("stroke", "fill")
            ]
        rules.append(f"{','.join(faded)}{{opacity:.13}}\n")
    return "".join(rules)


def _draw(chart: Chart, width: int) -> Markup:
    # Vega escapes all texts. The page sets its own fonts.
    return Markup(_FONT.sub("", svg(chart, Canvas(width, VARIABLES))))
