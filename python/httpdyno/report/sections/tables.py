"""The tables of a report that rank: the figures of each subject, and every pair."""

from collections.abc import Iterable, Mapping
from typing import Final

from httpdyno.judge.wording import difference_text
from httpdyno.model import Column, ColumnKind, Comparison, Metric, Table

__all__ = ["comparison_table", "ranking_table", "without_empty"]

_NAMES: Final = 3
"""A row is named by its id, its language and its method."""
_DECIMAL: Final = ColumnKind.DECIMAL
_PAIRS: Final = (
    Column("condition"),
    Column("subject"),
    Column("against"),
    Column("ratio", _DECIMAL, description="the subject's figure as a multiple of the other's"),
    Column("low", _DECIMAL, description="lower end of the interval of the ratio"),
    Column("high", _DECIMAL, description="upper end"),
    Column("level", _DECIMAL, "%", "confidence of the interval"),
    Column("p", description="chance of such a difference between equals, adjusted for the number of pairs"),
    Column("blocks", ColumnKind.INTEGER, description="pairs of trials that it rests on"),
    Column("says"),
)


def ranking_table(table: Table, ranked_by: str) -> Table:
    """Put what ranks the subjects right behind their names, and what the figures are worth behind that.

    The table is one of ``judge.trial_table``; ``ranked_by`` names the metric that ranks.
    """
    first = ("rank", "rank_note", ranked_by, f"{ranked_by}_low", f"{ranked_by}_high", "wrong", "verdict")
    columns = [column.name for column in table.columns]
    named = [column.name for column in table.columns if column.kind is ColumnKind.TEXT][:_NAMES]
    return table.select(dict.fromkeys((*named, *(name for name in first if name in columns), *columns)))


def comparison_table(comparisons: Iterable[Comparison], metric: Metric, names: Mapping[str, str]) -> Table:
    """List every pair with its ratio, its interval and what may be said."""
    rows = [
        (
            comparison.condition,
            names[comparison.subject],
            names[comparison.baseline],
            *(
                (None, None, None, None)
                if comparison.ratio is None
                else (
                    round(comparison.ratio.estimate, 3),
                    round(comparison.ratio.low, 3),
                    round(comparison.ratio.high, 3),
                    round(100 * comparison.ratio.level, 2),
                )
            ),
            None if comparison.p_adjusted is None else _chance(comparison.p_adjusted),
            comparison.blocks,
            "too few trials to tell" if comparison.p is None else difference_text(comparison, metric),
        )
        for comparison in comparisons
    ]
    return without_empty(Table(_PAIRS, tuple(rows)), "condition")


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.2g}"  # smaller ones rest on assumptions that cannot be checked


def without_empty(table: Table, name: str) -> Table:
    """Leave out a column that says nothing: the condition of an experiment that has one only."""
    if any(table.values(name)):
        return table
    return table.select(column.name for column in table.columns if column.name != name)
