"""Finds which published and which measured row belong together, and how their figures compare."""

from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.model import Cell, Table
from httpdyno.published.table import PublishedColumn, PublishedTable, Role

__all__ = ["Pair", "figures_ratio", "pairs"]


@dataclass(frozen=True, slots=True)
class Pair:
    """What was published of one subject under one condition, and what was measured; either may be missing."""

    subject: str
    name: str
    """For people: ``Go net/http``."""
    condition: tuple[Cell, ...]
    published: Mapping[str, Cell]
    """By column; empty when nothing was published."""
    measured: Mapping[str, Cell]
    """By column; empty when nothing was measured."""


def pairs(measured: Table, published: PublishedTable) -> tuple[Pair, ...]:
    """Put together what belongs together.

    Rows belong together when they are of one subject, and of one condition where both tables have its column.

    Parameters
    ----------
    measured : Table
        With a column ``subject``.
    published : PublishedTable
        What it is held against.

    Returns
    -------
    tuple of Pair
        In the published order; after them what was measured and not published.
    """
    names = [column.name for column in measured.columns]
    left = [dict(zip(names, row, strict=True)) for row in measured.rows]
    conditions = [column.name for column in published.of_role(Role.CONDITION)]
    found: list[Pair] = []
    used: set[int] = set()
    for row in published.rows:
        cells = published.cells(row)
        same = [index for index, candidate in enumerate(left) if _belongs(row.subject, cells, candidate, conditions)]
        used.update(same)
        condition = tuple(cells[name] for name in conditions)
        twins = [left[index] for index in same] or [dict[str, Cell]()]
        found += [Pair(row.subject, published.named(row), condition, cells, twin) for twin in twins]
    identity = [column.name for column in published.of_role(Role.IDENTITY)]
    for index, cells in enumerate(left):
        if index not in used:
            name = " ".join(str(cells[part]) for part in identity if cells.get(part) is not None)
            condition = tuple(cells.get(part) for part in conditions)
            found.append(Pair(str(cells["subject"]), name or str(cells["subject"]), condition, {}, cells))
    return tuple(found)


def figures_ratio(pair: Pair, column: PublishedColumn) -> float | None:
    """Return measured over published, per unit of the setting that the figure grows with; None without both."""
    ratio = _quotient(pair.measured.get(column.name), pair.published.get(column.name))
    if ratio is None or not column.per:
        return ratio
    scale = _quotient(pair.published.get(column.per), pair.measured.get(column.per))
    return None if scale is None else ratio * scale


def _belongs(subject: str, cells: Mapping[str, Cell], candidate: Mapping[str, Cell], conditions: list[str]) -> bool:
    same = all(name not in candidate or candidate[name] == cells[name] for name in conditions)
    return bool(subject) and candidate["subject"] == subject and same


def _quotient(above: Cell, below: Cell) -> float | None:
    if not isinstance(above, int | float) or not isinstance(below, int | float) or not below:
        return None
    return above / below
