"""Ranks of subjects by a metric, certain differences, and lower bounds if the origin limited the rate."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.judge.comparison import corrected, pair_by_blocks, require_direction
from httpdyno.judge.rankable import figures_by_block, grouped, placing_trials, rankable
from httpdyno.model import (
    Aspect,
    Comparison,
    Difference,
    Direction,
    Metric,
    Outcome,
    Ranking,
    Standing,
    Trial,
    Validity,
)
from httpdyno.stats import FEWEST_BLOCKS, median, median_interval

_HELD_UP: Final = frozenset({Validity.VALID, Validity.ORIGIN_LIMITED})


def lower_bounds(trials: Iterable[Trial], metric: Metric) -> dict[tuple[str, str], float]:
    """Return, by condition and subject, a lower bound for subjects that are unranked only because of the origin.

    Only a rate is such a bound: a figure of pace for which higher is better.
    """
    if metric.better is not Direction.HIGHER or metric.aspect is not Aspect.PACE:
        return {}
    return {
        group: bound
        for group, of in grouped(trials).items()
        if not placing_trials(of, metric.aspect)
        and all(trial.outcome is Outcome.OK and trial.validity in _HELD_UP for trial in of)
        and (bound := median(map(metric.figure, of))) is not None
    }


def rank(trials: Sequence[Trial], metric: Metric, *, level: float = 0.95, disturbed: bool = False) -> Ranking:
    """Rank subjects by the medians of a metric, with the comparisons of all pairs.

    Subjects are in the order of their medians. Each pair is compared once, the better median first, over the blocks in
    which both have a figure; with fewer than three such blocks it is undecided. ``stats.compare_all_pairs`` adjusts all
    pairs together. The first possible rank of a subject is one more than the number of subjects that are certainly
    better; its last one leaves room for those that are certainly worse. A rank is open unless the subject above is
    certainly better.

    ``trials`` are of one condition; subjects that ``judge.rankable`` rejects are left out. ``disturbed``: a subject
    with too few undisturbed trials is also ranked by its disturbed ones. Its place is provisional, and so is that of a
    subject that shares fewer than three blocks with most of the others.
    """
    require_direction(metric)
    conditions = {trial.condition for trial in trials}
    if len(conditions) > 1:
        raise InvalidValue(f"subjects are ranked under one condition, not {len(conditions)}: {sorted(conditions)}")
    condition = next(iter(conditions), "")
    by_subject: dict[str, dict[int, float]] = {}
    provisional = set()
    for (_, subject), group in grouped(trials).items():
        figures = figures_by_block(group, metric, disturbed=disturbed)
        if figures:
            by_subject[subject] = figures
            if not rankable(group, metric.aspect):
                provisional.add(subject)
    medians = {subject: float(np.median(list(figures.values()))) for subject, figures in by_subject.items()}
    sign = -1 if metric.better is Direction.HIGHER else 1
    ordered = sorted(by_subject, key=lambda subject: (sign * medians[subject], subject))
    pairs = [
        pair_by_blocks(subject, baseline, condition, by_subject, level=level)
        for subject, baseline in combinations(ordered, 2)
    ]
    comparisons = corrected(pairs, metric, level=level, figures={subject: by_subject[subject] for subject in ordered})
    sure = [
        (pair.subject, pair.baseline) if pair.difference is Difference.BETTER else (pair.baseline, pair.subject)
        for pair in comparisons
        if pair.difference is not Difference.UNDECIDED
    ]
    provisional |= _lacking_blocks(comparisons)
    standings = tuple(
        Standing(
            subject,
            best=min(place, sum(loser == subject for _, loser in sure)) + 1,
            worst=max(place + 1, len(ordered) - sum(winner == subject for winner, _ in sure)),
            value=median_interval(np.array(list(by_subject[subject].values())), level=level),
            rank=place + 1,
            open=place > 0 and (ordered[place - 1], subject) not in sure,
            provisional=subject in provisional,
        )
        for place, subject in enumerate(ordered)
    )
    return Ranking(metric.name, standings, comparisons)


def rank_conditions(
    trials: Sequence[Trial], metric: Metric, *, level: float = 0.95, disturbed: bool = False
) -> dict[str, Ranking]:
    """Rank the subjects under each condition, in order of appearance; ``level`` and ``disturbed``: see ``rank``."""
    conditions: dict[str, list[Trial]] = {}
    for trial in trials:
        conditions.setdefault(trial.condition, []).append(trial)
    return {name: rank(own, metric, level=level, disturbed=disturbed) for name, own in conditions.items()}


def _lacking_blocks(comparisons: Sequence[Comparison]) -> set[str]:
    """Find the subjects that share too few blocks with most of the others, if those share enough with each other."""
    if max((pair.blocks for pair in comparisons), default=0) < FEWEST_BLOCKS:
        return set()
    pairs = Counter(subject for pair in comparisons for subject in (pair.subject, pair.baseline))
    short = [pair for pair in comparisons if pair.blocks < FEWEST_BLOCKS]
    lacking = Counter(subject for pair in short for subject in (pair.subject, pair.baseline))
    return {subject for subject, count in lacking.items() if 2 * count > pairs[subject]}
