"""Published figures beside measured ones, as one table: for programs in columns, for people in lines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.model import Column, ColumnKind, Note, Table
from httpdyno.published.join import Pair, figures_ratio, join
from httpdyno.published.notes import notes_beside
from httpdyno.published.table import NAMES, SUBJECT, Circumstances, PublishedTable, Role, Row

__all__ = ["beside", "in_published_form", "stacked"]

_DOUBT: Final = ("rank", "wrong", "verdict")
"""Columns of the measured table that say what its figures are worth: shown at the end."""


def beside(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Print published figures beside measured ones, a row for each subject: the form for programs.

    For each figure of the published table there are three columns: measured under its own name, ``...Published`` and
    ``...Ratio``, measured over published; for each setting the first two. All else of the measured table follows.
    """
    joined = join(_rows(measured), published)
    columns: list[Column] = [SUBJECT]
    for column in published.columns:
        columns.append(column)
        if column.role not in NAMES:
            columns.append(replace(column, name=f"{column.name}_published", description=f"{column.name} as published"))
        if column.role is Role.FIGURE:
            per = f", each per {column.per}" if column.per else ""
            columns.append(Column(f"{column.name}_ratio", ColumnKind.DECIMAL, "", f"measured over published{per}"))
    rows = []
    for pair in joined:
        there = {f"{name}_published": cell for name, cell in pair.published.items()}
        ratios = {f"{name}_ratio": round(ratio, 3) for name, ratio in _ratios(pair, published).items()}
        rows.append({**(pair.measured or {"verdict": "not measured"}), **there, **ratios, **_named(pair, published)})
    return _table(
        [*columns, *_rest(measured, published)], rows, measured, published, notes_beside(joined, published, here)
    )


def stacked(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Print published figures under measured ones, in lines under the published columns: the form for people.

    A subject has the lines ``measured``, ``published`` and ``ratio`` (measured over published); one that was not
    measured, or not published, has the line that there is, and where no figure can be compared there is no ratio.
    """
    joined = join(_rows(measured), published)
    rows: list[Row] = []
    for pair in joined:
        named = _named(pair, published)
        if pair.measured:
            rows.append({**pair.measured, **named, "figures": "measured"})
        if pair.published:
            rows.append({**pair.published, **named, "figures": "published"})
        ratios = _ratios(pair, published) if pair.measured and pair.published else {}
        if ratios:
            # So that a ratio is not taken for a figure of its column.
            texts = {name: f"{r:.2f}x" if r >= 0.1 else f"{r:.2g}x" for name, r in ratios.items()}
            rows.append({**texts, **named, "figures": "ratio"})
    columns = (
        *(SUBJECT, *(column for column in published.columns if column.role in NAMES), Column("figures")),
        *(column for column in published.columns if column.role not in NAMES),
        *(column for column in _rest(measured, published) if column.name in _DOUBT),
    )
    return _table(columns, rows, measured, published, notes_beside(joined, published, here))


def in_published_form(measured: Table, published: PublishedTable, absent: Mapping[str, str]) -> Table:
    """Put what was measured under the published columns and no other; empty is one that was not measured.

    Subjects of the publication that could not be measured (``absent``: why) keep a row, without figures. Notes on the
    whole of the measured table speak of columns that are not here.
    """
    rows = _rows(measured)
    notes = [note for note in measured.notes if note.row is not None]
    there = {row["subject"] for row in rows}
    names = [column.name for column in published.columns if column.role in NAMES]
    for row in published.rows:
        if row["subject"] in absent and row["subject"] not in there:
            notes.append(Note(absent[str(row["subject"])], len(rows)))
            rows.append({name: row[name] for name in names})
    cells = tuple(tuple(row.get(column.name) for column in published.columns) for row in rows)
    return Table(published.columns, cells, notes=tuple(notes))


def _table(
    columns: Sequence[Column], rows: Sequence[Row], measured: Table, published: PublishedTable, notes: Sequence[Note]
) -> Table:
    """Put the notes below, and those on the measured table as a whole, but for columns that are not shown any more."""
    gone = {column.name for column in measured.columns} - {column.name for column in columns if column.shown}
    kept = (
        note
        for note in measured.notes
        if note.row is None and not {name.strip() for name in note.text.partition(":")[0].split(",")} & gone
    )
    cells = tuple(tuple(row.get(column.name) for column in columns) for row in rows)
    return Table(tuple(columns), cells, title=f"measured and published: {published.title}", notes=(*kept, *notes))


def _rows(table: Table) -> list[Row]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _rest(measured: Table, published: PublishedTable) -> list[Column]:
    """Return the columns that only the measured table has."""
    taken = {"subject", *(column.name for column in published.columns)}
    return [column for column in measured.columns if column.name not in taken]


def _named(pair: Pair, published: PublishedTable) -> Row:
    """Return the cells that say which row it is, as they were published."""
    names = [column.name for column in published.columns if column.role in NAMES]
    either = pair.published or pair.measured
    return {"subject": pair.subject or None, **{name: either.get(name) for name in names}}


def _ratios(pair: Pair, published: PublishedTable) -> dict[str, float]:
    ratios = {column.name: figures_ratio(pair, column) for column in published.of_role(Role.FIGURE)}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}
