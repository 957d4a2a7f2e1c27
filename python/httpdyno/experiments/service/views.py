"""The result of a service run as people read it: how far each server reaches, and how much it adds to the ideal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.metrics import RANKED_BY
from httpdyno.experiments.service.reach import Reach, reaches
from httpdyno.experiments.service.search_plan import Bounds
from httpdyno.experiments.service.table import service_table
from httpdyno.model import Cell, Column, ColumnKind, Note, Table, Trial

__all__ = ["reach_table", "service_views"]

_NUMBER: Final = ColumnKind.INTEGER


def service_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Put the trials of a run into tables that fit a terminal: of a search first how far each server reaches."""
    table = service_table(trials)
    by_point = _narrow(table)
    bounds = Bounds.restored(settings)
    if bounds is None:
        return (by_point,)
    return (reach_table(reaches(trials, bounds), most=bounds.high), by_point)


def reach_table(found: Sequence[Reach], *, most: int | None = None) -> Table:
    """Return how many connections each server holds and where it breaks, those that reach furthest first.

    ``most`` is how far was searched.
    """
    variants = {one.variant for one in found}
    several = {name: len({getattr(variant, name) for variant in variants}) > 1 for name in Variant._fields}
    columns = (
        Column("server"),
        Column("loop", shown=several["loop"]),
        Column("threads", _NUMBER, shown=several["threads"]),
        Column("CPUs", _NUMBER, shown=several["cpus"]),
        Column("holds", _NUMBER, description="most connections that it held"),
        Column("breaks at", _NUMBER, description="fewest that it did not hold"),
        Column("how", description="what was not kept there"),
        Column("trials", _NUMBER),
    )
    ordered = sorted(found, key=lambda one: (-(one.held or 0), -(one.failed or 10**9), one.subject))
    rows: list[tuple[Cell, ...]] = [
        (one.subject, one.variant.loop.value, *one.variant[1:], one.held, one.failed, _how(one), one.trials)
        for one in ordered
    ]
    return Table(
        columns,
        tuple(rows),
        title="up to how many connections each server holds",
        notes=tuple(map(Note, _told(found, most))),
    )


def _told(found: Sequence[Reach], most: int | None) -> list[str]:
    """Describe what a row means, and what one means that names nothing at which its server breaks."""
    told = ["held: 99 % of the requests take less than 1.1 times the longest wait"]
    unfinished = any(one.unfinished for one in found)
    if most is not None and any(one.failed is None and one.held == most for one in found):
        whose = ", and whose search was finished," if unfinished else ""
        told.append(
            f"a server without a number under 'breaks at'{whose} holds {most:,} connections, the most that were tried"
        )
    if unfinished:
        told.append("of a search that was not finished it is only known what was tried; --resume goes on with it")
    return told


def _how(one: Reach) -> str | None:
    parts = [f"{one.how} (the machine may have been at fault)" if one.doubtful else one.how]
    if one.unfinished:
        parts.append("the search was not finished")
    return "; ".join(filter(None, parts)) or None


_OF_RANKED: Final = frozenset({"rank", RANKED_BY, "overhead_p50_ms", "p99", "held", "breaks_at", "wrong"})
"""Columns that rest on single requests."""
_WIDE: Final = frozenset(
    {"overhead_p99_ms_low", "overhead_p99_ms_high", "slowest5", "peak_memory_bytes", "overhead_p999_ms"}
)
_SPARED: Final = frozenset({"threads", "overhead_p50_ms", "requestsPerSec", "p99", "memory_per_open_bytes"})
"""Left out on a narrow terminal, the last of them first."""
_WHERE_KNOWN: Final = frozenset({"rank", "held"})
"""Left out there only where they are empty."""


def _narrow(table: Table) -> Table:
    """Leave to programs and to the page what makes a row too long for a terminal.

    Where there is nothing to rank by, the mean of the slowest 5 % is what there is, and empty columns stand aside.
    """
    known = frozenset(table.filled())
    aside = _WIDE if RANKED_BY in known or "slowest5" not in known else (_WIDE - {"slowest5"}) | (_OF_RANKED - known)
    columns = (replace(column, shown=False) if column.name in aside else column for column in table.columns)
    return replace(table, columns=tuple(columns)).sparing(_SPARED | (_WHERE_KNOWN - known))
