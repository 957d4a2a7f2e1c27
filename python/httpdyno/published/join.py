"""The join: which published and which measured row belong together, and how their figures compare."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.model import Cell
from httpdyno.published.table import PublishedColumn, PublishedTable, Role, Row

__all__ = ["Pair", "figures_ratio", "join"]


@dataclass(frozen=True, slots=True)
class Pair:
    """What was published of one subject under one condition, and what was measured; either may be missing."""

    subject: str
    name: str
    """For people: ``Go net/http``."""
    condition: tuple[Cell, ...]
    published: Row
    """By column; empty when nothing was published."""
    measured: Row
    """By column; empty when nothing was measured."""


def join(measured: Sequence[Row], published: PublishedTable) -> tuple[Pair, ...]:
    """Put together rows of one subject, and of one condition where both tables have its column.

    They come in the published order; after them what was measured and not published.
    """
    identity = [column.name for column in published.of_role(Role.IDENTITY)]
    conditions = [column.name for column in published.of_role(Role.CONDITION)]
    key = ("subject", *(name for name in conditions if measured and name in measured[0]))
    places: dict[tuple[Cell, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(measured):
        places[tuple(row[name] for name in key)].append(index)
    found: list[Pair] = []
    used: set[int] = set()
    for there in published.rows:
        same = places.get(tuple(there[name] for name in key), []) if there["subject"] else []
        used.update(same)
        told = str(there["subject"] or ""), " ".join(str(there[name]) for name in identity)
        twins: list[Row] = [measured[index] for index in same] or [{}]
        found += [Pair(*told, tuple(there[name] for name in conditions), there, twin) for twin in twins]
    for index, here in enumerate(measured):
        if index not in used:
            name = " ".join(str(here[part]) for part in identity if here.get(part) is not None)
            condition = tuple(here.get(part) for part in conditions)
            found.append(Pair(str(here["subject"]), name or str(here["subject"]), condition, {}, here))
    return tuple(found)


def figures_ratio(pair: Pair, column: PublishedColumn) -> float | None:
    """Return measured over published, per unit of what the figure grows with; None without both."""
    ratio = _quotient(pair.measured.get(column.name), pair.published.get(column.name))
    if ratio is None or not column.per:
        return ratio
    scale = _quotient(pair.published.get(column.per), pair.measured.get(column.per))
    return None if scale is None else ratio * scale


def _quotient(above: Cell, below: Cell) -> float | None:
    if not isinstance(above, int | float) or not isinstance(below, int | float) or not below:
        return None
    return above / below
