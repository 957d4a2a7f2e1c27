"""Makes the page of a report: template, style, script and charts in one text, with nothing left to load."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from httpdyno.model import Cell, Chart, Column, ColumnKind, Outcome, Report, Table, Validity
from httpdyno.report.cell import cell_text, note_lines, right_aligned, without_controls
from httpdyno.report.charts.canvas import Canvas
from httpdyno.report.charts.drawing import svg
from httpdyno.report.charts.theme import DARK, LIGHT, VARIABLES, style

__all__ = ["page"]

_WIDE: Final = 760
_NARROW: Final = 350
_SHORT: Final = 28
_MUCH: Final = 60
_FONT: Final = re.compile(r' font-family="[^"]*"')
_TONES: Final = (
    {outcome.value: "bad" for outcome in Outcome}
    | {validity.value: "doubtful" for validity in Validity}
    | {Validity.VALID.value: "good", Outcome.OK.value: "good", Validity.INCORRECT.value: "bad"}
)
"""How a word is tinted that says how something went."""
_TONED: Final = frozenset({"outcome", "validity", "verdict"})


@dataclass(frozen=True, slots=True)
class _Heading:
    """The head of a column."""

    name: str
    unit: str
    description: str
    right: bool


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell as it is shown, and as it is sorted by."""

    text: str
    value: str
    """A number, or the text; empty when nothing is known."""
    layout: str
    """Whether it stands at the right, or is a text that may be broken."""
    tone: str


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with the place of its subject among all, which decides its colour."""

    cells: tuple[_Cell, ...]
    subject: int | None


@dataclass(frozen=True, slots=True)
class _Grid:
    """A table as the template wants it."""

    name: str
    headings: tuple[_Heading, ...]
    named: int
    """Place of the column that carries the colour of a row's subject."""
    rows: tuple[_Row, ...]
    notes: tuple[str, ...]

    @property
    def turned(self) -> tuple[tuple[_Heading, tuple[_Cell, ...]], ...]:
        """The same with a line for each column: paper is not wide enough for many of them."""
        cells = zip(*(row.cells for row in self.rows), strict=True)
        return tuple(zip(self.headings, cells, strict=True)) if self.rows else ()


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
    return environment.from_string(_text("page.html.jinja")).render(
        report=report,
        headline=report.headline.replace(" %", "\u00a0%"),  # no line begins with a percent sign
        # The style and the script are ours, and end no element early; a digest admits this script and no other.
        style=Markup(_style(len(report.subjects))),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sections=tuple(_sections(report)),
        tables={
            "figures": _grid("figures", report.table, places),
            "pairs": _grid("pairs", report.comparisons, places),
            "errors": _grid("errors", report.errors, places),
            "rules": _grid("rules", report.rules, places),
            "trials": _grid("trials", report.validity, places),
            "published": _grid("published", report.published, places) if report.published else None,
        },
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style(subjects: int) -> str:
    """Put the colours of both schemes before the rules, and a rule for each subject that can be singled out."""
    light, dark = style(LIGHT), style(DARK)
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return schemes + _text("page.css") + "".join(_singled_out(place) for place in range(subjects))


def _singled_out(place: int) -> str:
    """Fade everything that has the colour of another subject, while the page is told to single this one out."""
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
        yield _Section(title, tuple(_Figure(chart, _drawn(chart, _WIDE), _drawn(chart, _NARROW)) for chart in charts))


def _drawn(chart: Chart, width: int) -> Markup:
    # Vega escapes what it writes. The page has its own fonts.
    return Markup(_FONT.sub("", svg(chart, Canvas(width, VARIABLES))))


def _grid(name: str, table: Table, places: Mapping[str, int]) -> _Grid:
    shown = [(place, column) for place, column in enumerate(table.columns) if column.shown]
    return _Grid(
        name,
        tuple(_Heading(column.name, column.unit, column.description, right_aligned(column)) for _, column in shown),
        next((place for place, (_, column) in enumerate(shown) if column.name == "subject"), 0),
        tuple(
            _Row(tuple(_cell(row[place], column) for place, column in shown), _subject(table, row, places))
            for row in table.rows
        ),
        tuple(note_lines(table)),
    )


def _unit(column: Column) -> str:
    # A size is written with the unit that fits it.
    return "" if column.kind is ColumnKind.SIZE else column.unit


def _cell(cell: Cell, column: Column) -> _Cell:
    text = cell_text(cell, column)
    return _Cell(text, "" if cell is None else str(cell), _layout(text, column), _tone(cell, column))


def _layout(text: str, column: Column) -> str:
    if right_aligned(column):
        return "right"
    return "text much" if len(text) > _MUCH else "text" if len(text) > _SHORT else ""


def _tone(cell: Cell, column: Column) -> str:
    if isinstance(cell, str):
        return _TONES.get(cell, "") if column.name in _TONED else ""
    return "doubtful" if cell is not None and column.limit is not None and cell > column.limit else ""


def _subject(table: Table, row: tuple[Cell, ...], places: Mapping[str, int]) -> int | None:
    """Find the subject that a row is about: tables name it by its id or by its name."""
    for column, cell in zip(table.columns, row, strict=True):
        if column.name == "subject":
            return places.get(str(cell))
    return None
