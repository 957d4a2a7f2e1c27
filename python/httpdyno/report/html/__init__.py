"""A whole report as one HTML file: template, style, script and charts, with nothing left to load."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
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
class Heading:
    """The head of a column."""

    name: str
    unit: str
    description: str
    layout: str


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell as text, with its sort key."""

    text: str
    value: str
    """A number, or the text; empty when nothing is known."""
    layout: str
    """Whether it stands at the right, belongs to a column with a limit, or is a text that may be broken."""
    tone: str


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row with the place of its subject among all, which decides its colour."""

    cells: tuple[GridCell, ...]
    subject: int | None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as input of the template."""

    name: str
    headings: tuple[Heading, ...]
    named: int
    """Place of the column that carries the colour of a row's subject."""
    rows: tuple[GridRow, ...]
    notes: tuple[str, ...]
    title: str

    @property
    def turned(self) -> tuple[tuple[Heading, tuple[GridCell, ...]], ...]:
        """The grid with a line for each column, for print."""
        cells = zip(*(row.cells for row in self.rows), strict=True)
        return tuple(zip(self.headings, cells, strict=True)) if self.rows else ()


def grid(name: str, table: Table, places: Mapping[str, int]) -> Grid:
    """Prepare a table for a page, where no other has its name; columns that people are not shown are left out.

    ``places`` has the place of each subject, by id or name: it decides the colour of the rows that are about it.
    """
    shown = [(place, column) for place, column in enumerate(table.columns) if column.shown]
    columns = [_cells([row[place] for row in table.rows], column) for place, column in shown]
    return Grid(
        name,
        tuple(Heading(column.heading, _unit(column), column.description, _layout("", column)) for _, column in shown),
        next((place for place, (_, column) in enumerate(shown) if column.name == "subject"), 0),
        tuple(
            GridRow(tuple(column[number] for column in columns), _subject(table, row, places))
            for number, row in enumerate(table.rows)
        ),
        tuple(note_lines(table)),
        table.title,
    )


def _unit(column: Column) -> str:
    # A size and a time are written with the unit that fits them; a label has its unit itself.
    return "" if column.label or column.kind in {ColumnKind.SIZE, ColumnKind.TIME} else column.unit


def _cells(cells: Sequence[Cell], column: Column) -> list[GridCell]:
    texts = [cell_text(cell, column) for cell in cells]
    if column.kind is ColumnKind.DECIMAL:
        texts = _align_numbers(cells, texts)
    return [
        GridCell(text, "" if cell is None else str(cell), _layout(text, column), tone_of(cell, column))
        for cell, text in zip(cells, texts, strict=True)
    ]


def _align_numbers(cells: Sequence[Cell], texts: Sequence[str]) -> list[str]:
    """Write all numbers with as many decimals as the one with most: the points then stand below each other.

    A ratio to what was published (``1.25x``) is text among them, and stays as it is.
    """
    numbers = [isinstance(cell, (int, float)) for cell in cells]
    shown = (text for number, text in zip(numbers, texts, strict=True) if number)
    decimals = max((len(text.partition(".")[2]) for text in shown), default=0)
    return [f"{float(text):.{decimals}f}" if number else text for number, text in zip(numbers, texts, strict=True)]


def _layout(text: str, column: Column) -> str:
    if right_aligned(column):
        return "right" if column.limit is None else "right limited"
    return "text much" if len(text) > _MUCH else "text" if len(text) > _SHORT else ""


def _subject(table: Table, row: tuple[Cell, ...], places: Mapping[str, int]) -> int | None:
    """Find the subject that a row is about: tables name it by its id or by its name."""
    for column, cell in zip(table.columns, row, strict=True):
        if column.name == "subject":
            return places.get(str(cell))
    return None


_WIDE: Final = 760
_NARROW: Final = 350
_FONT: Final = re.compile(r' font-family="[^"]*"')
_BOUND: Final = re.compile(
    r" (?=%)|(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\d) (?=(?:[KMG]iB|B|m?s|[kMG]?bit/s)\b)|(?<=rtt) (?=\d)"
)
"""Blanks at which no line is broken: ``95 %``, ``1.08 to 1.16``, ``300 KiB``."""


_PARTS: Final = re.compile(r"[;.] ")


@dataclass(frozen=True, slots=True)
class _Figure:
    """A chart that is drawn, for a page and for a phone."""

    chart: Chart
    wide: Markup
    narrow: Markup


@dataclass(frozen=True, slots=True)
class _Section:
    """Charts under one heading."""

    title: str
    figures: tuple[_Figure, ...]


def page(report: Report) -> str:
    """Write a report as one HTML file.

    It loads nothing: style, script and drawings are in it, and its policy forbids everything else. What it quotes of
    subjects is text, whatever it looks like.
    """
    script = _text("page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finalize, trim_blocks=True, lstrip_blocks=True
    )
    places = {word: place for place, pair in enumerate(report.subjects) for word in pair}
    answer, more = _answer(report)
    return environment.from_string(_text("page.html.jinja")).render(
        report=report,
        answer=_BOUND.sub("\u00a0", answer),
        more=_BOUND.sub("\u00a0", more),
        # The style and the script are ours, and end no element early; a digest admits this script and no other.
        style=Markup(_style(len(report.subjects))),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sections=tuple(_sections(report)),
        evidence=[grid(f"evidence-{nth}", table, places) for nth, table in enumerate(report.evidence)],
        tables={
            "figures": grid("figures", report.table, places),
            "pairs": grid("pairs", report.comparisons, places),
            "errors": grid("errors", report.errors, places),
            "rules": grid("rules", report.rules, places),
            "trials": grid("trials", report.validity, places),
            "published": grid("published", report.published, places) if report.published else None,
        },
    )


def _answer(report: Report) -> tuple[str, str]:
    """Divide the headline into its large part, the first subject and its lead, and the rest."""
    answer, _, more = report.headline.partition("\n")
    if not more:
        answer, _, more = _PARTS.sub("\n", report.headline, count=1).partition("\n")
    named = any(more.startswith(name) for _, name in report.subjects)
    return answer, more if named else more[:1].upper() + more[1:]


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style(subjects: int) -> str:
    """Put the colours of both schemes before the rules, and a rule for each subject that can be singled out."""
    light, dark = style(LIGHT), style(DARK)
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return schemes + _text("page.css") + "".join(_highlight_rules(place) for place in range(subjects))


def _highlight_rules(place: int) -> str:
    """Fade the marks of all other subjects while the page highlights this one."""
    root = f':root[data-only="{place}"]'
    rules = [f'{root} tr[data-subject]:not([data-subject="{place}"])']
    if place < len(VARIABLES.series):
        own = VARIABLES.series[place]
        rules += [
            f'{root} .drawing [{paint}^="var(--series-"]:not([{paint}="{own}"],[opacity="0"])'
            for paint in ("stroke", "fill")
        ]
    return f"{','.join(rules)}{{opacity:.13}}\n"


def _sections(report: Report) -> Iterator[_Section]:
    for title in dict.fromkeys(chart.section for chart in report.charts):
        charts = [chart for chart in report.charts if chart.section == title]
        yield _Section(title, tuple(_Figure(chart, _draw(chart, _WIDE), _draw(chart, _NARROW)) for chart in charts))


def _draw(chart: Chart, width: int) -> Markup:
    # Vega escapes what it writes. The page has its own fonts.
    return Markup(_FONT.sub("", svg(chart, Canvas(width, VARIABLES))))
