"""How far subjects reach, as a table for people: a row for each subject, a column for each value along the frontier."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.capacity.frontier_point import Frontier, FrontierPoint
from httpdyno.experiments.capacity.grid_axis import FRONTIER_AXES
from httpdyno.experiments.capacity.reach import size_reached
from httpdyno.model import Cell, Column, ColumnKind, Table, format_exact

__all__ = ["reach_legend", "reach_tables", "search_notes"]

_AT_THE_RIGHT: Final = ColumnKind.DECIMAL
_KIB: Final = 1024
_OR_MORE: Final = "\u2265"
_NONE: Final = "none"
_UNKNOWN: Final = "?"


def reach_tables(frontiers: Sequence[Frontier], target: str) -> list[Table]:
    """Put frontiers into a table for each axis that they run along; what else was varied names a row, too.

    ``target`` is what was to be held, in words.
    """
    axes = dict.fromkeys(one.axis for one in frontiers)
    return [_table([one for one in frontiers if one.axis is axis], target) for axis in axes]


def reach_legend(frontiers: Sequence[Frontier]) -> list[str]:
    """Explain the cells that there are, and say what it took."""
    points = [point for one in frontiers for point in one.points]
    notes = []
    cells = [_cell(point) for point in points]
    if any(cell.startswith(_OR_MORE) for cell in cells):
        notes.append(f"{_OR_MORE}: surely holds; no larger size was found to fail for sure")
    if _UNKNOWN in cells:
        notes.append(f"{_UNKNOWN}: nothing is known for sure")
    if any(" - " in cell for cell in cells):
        notes.append("two sizes: the rate holds at the first and not at the second; none between them was decided")
    if _NONE in cells:
        notes.append(f"{_NONE}: not even the smallest size that was tried")
    trials, grid = sum(one.trials for one in frontiers), sum(one.grid_trials for one in frontiers)
    if trials < grid:
        notes.append(f"{trials} trials; the grid has {grid} points")
    return [*notes, *search_notes(frontiers)]


def search_notes(frontiers: Sequence[Frontier]) -> list[str]:
    """Describe where a search had to end before it was sure, and what it saw against the order of things."""
    notes = []
    # A whole grid has no budget that could end it.
    ended = [one for one in frontiers if one.exhausted and one.trials < one.grid_trials]
    if ended:
        places = sum(point.doubtful for one in ended for point in one.points)
        who = ", ".join(dict.fromkeys(one.subject for one in ended))
        notes.append(
            f"the budget ended the search ({who}): {places} {'boundary is' if places == 1 else 'boundaries are'} open;"
            " --repeat 2 allows twice as much"
        )
    return [*notes, *(f"{one.subject}: {line}" for one in frontiers for line in one.contradictions)]


def _table(frontiers: Sequence[Frontier], target: str) -> Table:
    axis = FRONTIER_AXES[frontiers[0].axis]
    values = list(dict.fromkeys(point.x for one in frontiers for point in one.points))
    settings = dict.fromkeys(one.rest for one in frontiers)
    several = len(settings) > 1
    rows: list[tuple[Cell, ...]] = []
    for one in sorted(frontiers, key=lambda one: list(settings).index(one.rest)):
        cells = {point.x: _cell(point) for point in one.points}
        named = (one.subject, one.rest) if several else (one.subject,)
        rows.append((*named, *(cells.get(value) for value in values)))
    across = f"across: {axis.heading(values)}"
    rest = "" if several or not frontiers[0].rest else f"; {frontiers[0].rest}"
    return Table(
        (
            Column("subject"),
            *((Column("at"),) if several else ()),
            *(Column(label, _AT_THE_RIGHT) for label in axis.labels(values)),
        ),
        tuple(rows),
        title=f"largest size at which {target} are held, KiB{rest}; {across}",
    )


def _cell(point: FrontierPoint) -> str:
    size = size_reached(point)
    if point.fails_from_bytes is None:
        return _UNKNOWN if size is None else f"{_OR_MORE} {_kib(size)}"
    if size is None:
        return _NONE
    if point.doubtful:
        return f"{_kib(point.holds_up_to_bytes or 0)} - {_kib(point.fails_from_bytes)}"
    return _kib(size)


def _kib(size_bytes: int) -> str:
    return format_exact(round(size_bytes / _KIB, 1))
