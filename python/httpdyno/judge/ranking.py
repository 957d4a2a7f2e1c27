"""Where subjects stand among each other: ranks that say what can be told, from blocks that they share."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.judge.group import figures_by_block, grouped
from httpdyno.judge.pair import adjust_all, corrected, pair_by_blocks, rankable
from httpdyno.judge.rankable import rankable as believed
from httpdyno.model import Comparison, Difference, Direction, Metric, Ranking, Standing, Trial
from httpdyno.stats import median_interval

__all__ = ["rank"]

_UNDECIDED: Final = Difference.UNDECIDED


def rank(trials: Sequence[Trial], metric: Metric, *, level: float = 0.95, disturbed: bool = False) -> Ranking:
    """Rank the subjects that can be believed, with as much certainty as their trials allow.

    Any two are compared by the blocks that both have a figure in, and all pairs are adjusted together by
    ``stats.compare_all_pairs``. A subject's first possible rank is one more than the number of those that are surely
    better, its last one leaves room for those that are surely worse: subjects that cannot be told apart share ranks,
    and with fewer than three blocks nobody can.

    ``trials`` are of one condition, one for each subject and block; subjects that ``judge.rankable`` rejects have no
    part. The best median stands first, whatever ranks are left open; each pair is compared once, the better median
    first. ``disturbed``: who has too few trials that other programs left alone is ranked by the others, too, and
    marked.
    """
    rankable(metric)
    conditions = {trial.condition for trial in trials}
    if len(conditions) > 1:
        raise InvalidValue(f"subjects are ranked under one condition, not {len(conditions)}: {sorted(conditions)}")
    condition = next(iter(conditions), "")
    by_subject: dict[str, dict[int, float]] = {}
    marked = set()
    for (_, subject), group in grouped(trials).items():
        figures = figures_by_block(group, metric, disturbed=disturbed)
        if figures:
            by_subject[subject] = figures
            if not believed(group):
                marked.add(subject)
    medians = {subject: float(np.median(list(figures.values()))) for subject, figures in by_subject.items()}
    sign = -1 if metric.better is Direction.HIGHER else 1
    ordered = sorted(by_subject, key=lambda subject: (sign * medians[subject], subject))
    pairs = [
        pair_by_blocks(subject, baseline, condition, by_subject, level=level)
        for subject, baseline in combinations(ordered, 2)
    ]
    adjusted = adjust_all(pairs, {subject: by_subject[subject] for subject in ordered})
    comparisons = corrected(pairs, metric, level=level, adjusted=adjusted)
    sure = [_winner_first(comparison) for comparison in comparisons if comparison.difference is not _UNDECIDED]
    standings = tuple(
        Standing(
            subject,
            best=1 + sum(loser == subject for _, loser in sure),
            worst=len(ordered) - sum(winner == subject for winner, _ in sure),
            value=median_interval(np.array(list(by_subject[subject].values())), level=level),
            disturbed=subject in marked,
        )
        for subject in ordered
    )
    return Ranking(metric.name, standings, comparisons)


def _winner_first(comparison: Comparison) -> tuple[str, str]:
    pair = (comparison.subject, comparison.baseline)
    return pair if comparison.difference is Difference.BETTER else pair[::-1]
