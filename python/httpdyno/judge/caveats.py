"""What has to be said about a whole table: where its ranks or intervals are less sure than they look."""

from collections.abc import Iterable

from httpdyno.model import Interval, Metric, Ranking
from httpdyno.stats import FEWEST_BLOCKS

__all__ = ["level_notes", "rank_notes"]


def rank_notes(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """State so where too few blocks leave every rank open, and what to do about it."""
    comparisons = [comparison for ranking in rankings for comparison in ranking.comparisons]
    if not comparisons or max(comparison.blocks for comparison in comparisons) >= FEWEST_BLOCKS:
        return ()
    return (f"rank: left open, since fewer than {FEWEST_BLOCKS} trials each tell nobody apart; repeat more often",)


def level_notes(metric: Metric, intervals: Iterable[Interval], *, level: float) -> tuple[str, ...]:
    """Describe what the intervals of medians are worth that do not attain the level that is usual."""
    attained = sorted({interval.level for interval in intervals if interval.level < level}, reverse=True)
    if not attained:
        return ()
    shares = " or ".join(f"{100 * value:.4g} %" for value in attained)
    return (
        f"{metric.name}Low, {metric.name}High: the lowest and the highest of so few trials hold the median with "
        f"{shares} confidence, not {100 * level:g} %",
    )
