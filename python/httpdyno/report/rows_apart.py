"""Names rows apart that would read the same: two copies of a client have its language and its method."""

from collections import defaultdict
from dataclasses import replace

from httpdyno.model import Cell, Table

__all__ = ["rows_apart"]


def rows_apart(table: Table) -> Table:
    """Put the subject's id behind the method in rows whose language and method another subject has, too."""
    names = [column.name for column in table.columns]
    if not {"subject", "language", "method"} <= set(names):
        return table
    subject, language, method = (names.index(name) for name in ("subject", "language", "method"))
    if table.columns[subject].shown:
        return table
    alike: dict[tuple[Cell, Cell], set[Cell]] = defaultdict(set)
    for row in table.rows:
        alike[row[language], row[method]].add(row[subject])
    rows = (
        (*row[:method], f"{row[method]} ({row[subject]})", *row[method + 1 :])
        if len(alike[row[language], row[method]]) > 1
        else row
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))
