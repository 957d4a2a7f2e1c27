"""A table as a page shows it: each cell as text, as what it is sorted by, and with the tint of what it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.model import Cell, Column, ColumnKind, Table
from httpdyno.report.cell import cell_text, note_lines, right_aligned, tone_of

__all__ = ["Grid", "GridCell", "GridRow", "Heading", "grid"]

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
    """A cell as it is shown, and as it is sorted by."""

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
    """A table as the template wants it."""

    name: str
    headings: tuple[Heading, ...]
    named: int
    """Place of the column that carries the colour of a row's subject."""
    rows: tuple[GridRow, ...]
    notes: tuple[str, ...]
    title: str

    @property
    def turned(self) -> tuple[tuple[Heading, tuple[GridCell, ...]], ...]:
        """The same with a line for each column: paper is not wide enough for many of them."""
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
        texts = _aligned(cells, texts)
    return [
        GridCell(text, "" if cell is None else str(cell), _layout(text, column), tone_of(cell, column))
        for cell, text in zip(cells, texts, strict=True)
    ]


def _aligned(cells: Sequence[Cell], texts: Sequence[str]) -> list[str]:
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
