"""Two runs of the same subjects against each other, subject by subject."""

from collections.abc import Sequence

import numpy as np

from httpdyno.judge.group import figures_by_block, grouped
from httpdyno.judge.pair import Pair, corrected
from httpdyno.model import Comparison, Metric, Trial
from httpdyno.stats import FloatArray, unpaired_effect

__all__ = ["compare_runs"]


def compare_runs(
    trials_a: Sequence[Trial], trials_b: Sequence[Trial], metric: Metric, *, level: float = 0.95
) -> tuple[Comparison, ...]:
    """Compare what two runs say about the same subjects, each run's trials for themselves.

    Trials of two runs share no blocks: what the machine was like falls on one side only, and counts as a difference.
    They come in the order of B, each with the ratio of B to A, the baseline. One is undecided and without a ratio where
    one of the two cannot be believed, or has fewer than three trials that count.
    """
    before, after = grouped(trials_a), grouped(trials_b)
    pairs = []
    for group in [group for group in after if group in before]:
        first, second = _figures(after[group], metric), _figures(before[group], metric)
        effect = unpaired_effect(first, second, level=level)
        condition, subject = group
        pairs.append(Pair(subject, subject, condition, effect, min(len(first), len(second)), paired=False))
    return corrected(pairs, metric, level=level)


def _figures(trials: Sequence[Trial], metric: Metric) -> FloatArray:
    return np.array(list(figures_by_block(trials, metric).values()), dtype=np.float64)
