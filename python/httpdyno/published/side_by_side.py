"""Published figures beside measured ones, as one table: for programs in columns, for people in lines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.published.difference import differences
from httpdyno.published.pairs import Pair, figures_ratio, pairs
from httpdyno.published.table import NAMES, Circumstances, PublishedTable, Role

__all__ = ["NOT_MEASURED", "beside", "stacked"]

NOT_MEASURED: Final = "not measured"
"""What ``verdict`` says where there are published figures only."""
_DOUBT: Final = ("rank", "wrong", "verdict")
"""Columns of the measured table that say what its figures are worth: shown at the end."""


def beside(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Print published figures beside measured ones, a row for each subject: the form for programs.

    For each figure of the published table there are three columns: measured under its own name, ``...Published`` and
    ``...Ratio``, measured over published; for each setting the first two. All else of the measured table follows.

    Parameters
    ----------
    measured : Table
        With a column ``subject``.
    published : PublishedTable
        What it is held against.
    here : Circumstances
        How the measured figures came about. What differs from the publication is said in the notes.
    """
    joined = pairs(measured, published)
    rest = _rest(measured, published)
    columns = (_SUBJECT, *_triples(published), *rest)
    rows = tuple((pair.subject or None, *_cells(pair, published), *_other(pair, rest)) for pair in joined)
    notes = (*_whole_notes(measured, columns), *_notes(joined, published, here))
    return Table(columns, rows, title=_title(published), notes=notes)


def stacked(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Print published figures under measured ones, in lines under the published columns: the form for people.

    A subject has the lines ``measured``, ``published`` and ``ratio`` (measured over published); one that was not
    measured, or not published, has the line that there is. Parameters are those of ``beside``.
    """
    joined = pairs(measured, published)
    doubt = [column for column in _rest(measured, published) if column.name in _DOUBT]
    names = [column.column for column in published.columns if column.role in NAMES]
    others = [column for column in published.columns if column.role not in NAMES]
    rows: list[tuple[Cell, ...]] = []
    for pair in joined:
        head = (pair.subject or None, *(_name(pair, column.name) for column in names))
        if pair.measured:
            figures = [pair.measured.get(column.name) for column in others]
            rows.append((*head, "measured", *figures, *_other(pair, doubt)))
        if pair.published:
            figures = [pair.published[column.name] for column in others]
            rows.append((*head, "published", *figures, *(None for _ in doubt)))
        if pair.measured and pair.published:
            ratios = [
                _ratio_text(figures_ratio(pair, column)) if column.role is Role.FIGURE else None for column in others
            ]
            rows.append((*head, "ratio", *ratios, *(None for _ in doubt)))
    columns = (_SUBJECT, *names, Column("figures"), *(column.column for column in others), *doubt)
    notes = (*_whole_notes(measured, columns), *_notes(joined, published, here))
    return Table(columns, tuple(rows), title=_title(published), notes=notes)


_SUBJECT: Final = Column("subject", description="name of the subject's folder", shown=False)


def _title(published: PublishedTable) -> str:
    return f"measured and published: {published.title}"


def _notes(joined: tuple[Pair, ...], published: PublishedTable, here: Circumstances) -> tuple[Note, ...]:
    return tuple(Note(line) for line in differences(joined, published, here))


def _whole_notes(measured: Table, columns: Sequence[Column]) -> Iterator[Note]:
    """Return the notes on the measured table as a whole, but for those on columns that are not shown any more."""
    gone = {column.name for column in measured.columns} - {column.name for column in columns if column.shown}
    for note in measured.notes:
        about = {name.strip() for name in note.text.partition(":")[0].split(",")}
        if note.row is None and not about & gone:
            yield note


def _name(pair: Pair, column: str) -> Cell:
    return pair.published.get(column, pair.measured.get(column))


def _ratio_text(ratio: float | None) -> str | None:
    """Write a ratio so that it is not taken for a figure of its column."""
    if ratio is None:
        return None
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


def _triples(published: PublishedTable) -> Iterator[Column]:
    for column in published.columns:
        own = column.column
        yield own
        if column.role not in NAMES:
            yield replace(own, name=f"{own.name}Published", description=f"{own.name} as published")
        if column.role is Role.FIGURE:
            per = f", each per {column.per}" if column.per else ""
            yield Column(f"{own.name}Ratio", ColumnKind.DECIMAL, "", f"measured over published{per}")


def _cells(pair: Pair, published: PublishedTable) -> Iterator[Cell]:
    for column in published.columns:
        if column.role in NAMES:
            yield _name(pair, column.name)
            continue
        yield pair.measured.get(column.name)
        yield pair.published.get(column.name)
        if column.role is Role.FIGURE:
            ratio = figures_ratio(pair, column)
            yield None if ratio is None else round(ratio, 3)


def _rest(measured: Table, published: PublishedTable) -> list[Column]:
    """Columns that only the measured table has."""
    taken = {"subject", *(column.name for column in published.columns)}
    return [column for column in measured.columns if column.name not in taken]


def _other(pair: Pair, columns: list[Column]) -> Iterator[Cell]:
    for column in columns:
        absent = NOT_MEASURED if column.name == "verdict" and not pair.measured else None
        yield pair.measured.get(column.name, absent)
