"""Tables of the page about statistics, computed by the functions that they describe."""

from collections.abc import Callable, Iterable
from math import comb
from typing import Final

import numpy as np

from httpdyno.stats.summary import median_interval
from pages.power import relative_power, smallest_difference
from pages.table import with_table

__all__ = ["with_tables"]

_REPEATS: Final = (5, 7)
_SUBJECTS: Final = (2, 4, 11)
_SPREADS: Final = (0.01, 0.02, 0.05, 0.1)
_DIFFERENCE: Final = 0.05
_TRIALS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 10)


def with_tables(page: str) -> str:
    """Write the tables into a page, each between the pair of comments with its name.

    Raises
    ------
    ValueError
        If the page has no place for one of the tables.
    """
    for name, table in _TABLES.items():
        page = with_table(page, name, table())
    return page


def _smallest_differences() -> str:
    def cell(spread: float, subjects: int, repeats: int) -> str:
        smallest = smallest_difference(spread, repeats, comparisons=comb(subjects, 2))
        return f"{100 * smallest:.1f} %"

    return _by_spread(cell)


def _chances() -> str:
    def cell(spread: float, subjects: int, repeats: int) -> str:
        return f"{100 * relative_power(1 + _DIFFERENCE, spread, repeats, comparisons=comb(subjects, 2)):.0f} %"

    return _by_spread(cell)


def _by_spread(cell: Callable[[float, int, int], str]) -> str:
    """Write a row for each spread, with a column for each number of subjects and repeats."""
    columns = [(subjects, repeats) for subjects in _SUBJECTS for repeats in _REPEATS]
    head = ["spread", *(f"{subjects} subjects, {repeats} repeats" for subjects, repeats in columns)]
    return _table(
        head, ([f"{100 * spread:g} %", *(cell(spread, *column) for column in columns)] for spread in _SPREADS)
    )


def _rank_tests() -> str:
    def lowest(repeats: int, subjects: int) -> str:
        # All differences have the same sign: of the 2^n combinations of signs, two are that extreme.
        return f"{min(2 / 2**repeats * comb(subjects, 2), 1):.2g}"

    head = ["repeats", *(f"{subjects} subjects" for subjects in _SUBJECTS)]
    return _table(head, ([str(repeats), *(lowest(repeats, count) for count in _SUBJECTS)] for repeats in (5, 7, 12)))


def _levels() -> str:
    intervals = [median_interval(np.arange(1.0, trials + 1)) for trials in _TRIALS]
    rows = [
        (str(trials), f"{interval.low:.0f} and {interval.high:.0f}", f"{100 * interval.level:.2f} %")
        for trials, interval in zip(_TRIALS, intervals, strict=True)
        if interval
    ]
    return _table(("trials", "from the smallest, the values number", "confidence"), rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


_TABLES: Final[dict[str, Callable[[], str]]] = {
    "smallest difference": _smallest_differences,
    "chance": _chances,
    "rank tests": _rank_tests,
    "levels": _levels,
}
