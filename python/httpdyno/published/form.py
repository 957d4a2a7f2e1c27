"""Measured figures in the form of a publication: its columns under its names, and no other."""

from collections.abc import Mapping

from httpdyno.model import Cell, Note, Table
from httpdyno.published.table import NAMES, PublishedTable

__all__ = ["in_published_form"]


def in_published_form(measured: Table, published: PublishedTable, absent: Mapping[str, str]) -> Table:
    """Put what was measured under the columns that were published, in their order.

    Parameters
    ----------
    measured : Table
        With a column ``subject``.
    published : PublishedTable
        The form.
    absent : mapping of str
        Subjects of the publication that could not be measured, and why: they keep a row, without figures.

    Returns
    -------
    Table
        The rows of ``measured`` with their notes, then those of ``absent`` in the published order; a column that was
        not measured is empty. Notes on the whole table speak of columns that are not here.
    """
    names = [column.name for column in measured.columns]
    taken = [names.index(column.name) if column.name in names else None for column in published.columns]
    rows: list[tuple[Cell, ...]] = [
        tuple(None if index is None else row[index] for index in taken) for row in measured.rows
    ]
    notes = [note for note in measured.notes if note.row is not None]
    subjects = set(measured.values("subject"))
    for row in published.rows:
        if row.subject in absent and row.subject not in subjects:
            notes.append(Note(absent[row.subject], len(rows)))
            cells = zip(published.columns, row.cells, strict=True)
            rows.append(tuple(cell if column.role in NAMES else None for column, cell in cells))
    return Table(tuple(column.column for column in published.columns), tuple(rows), notes=tuple(notes))
