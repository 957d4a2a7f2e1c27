"""The trials of one subject under one condition: found among others, as figures by block."""

from collections.abc import Iterable, Sequence

from httpdyno.judge.rankable import placing_trials, rankable, rankable_trials
from httpdyno.model import Metric, Trial

__all__ = ["figures_by_block", "grouped"]

Group = tuple[str, str]
"""A condition and a subject."""


def grouped(trials: Iterable[Trial]) -> dict[Group, list[Trial]]:
    """Put trials together by condition and subject, in the order in which these first come."""
    groups: dict[Group, list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.condition, trial.subject), []).append(trial)
    return groups


def figures_by_block(trials: Sequence[Trial], metric: Metric, *, disturbed: bool = False) -> dict[int, float]:
    """Return the figure of each trial that counts, by its block; none when the subject cannot be believed.

    ``trials`` are all of one subject under one condition; those without the figure are left out, except where that
    means that it was beyond any (``Metric.endless``): then there are none.
    ``disturbed``: where too few trials count, also those that other programs disturbed (``judge.placing_trials``).
    """
    if disturbed:
        counting = placing_trials(trials, metric.aspect)
    else:
        counting = rankable_trials(trials, metric.aspect) if rankable(trials, metric.aspect) else ()
    figures = {trial.block: metric.figure(trial) for trial in counting}
    if metric.endless and None in figures.values():
        return {}
    return {block: float(figure) for block, figure in figures.items() if figure is not None}
