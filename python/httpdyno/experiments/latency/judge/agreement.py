"""Whether a client timed from outside, by its lines, and in its own process tells of the same cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.experiments.latency.figures import LatencySummary
from httpdyno.judge.rankable import rankable_trials
from httpdyno.model import Interval, Trial, records_of
from httpdyno.stats import FEWEST_BLOCKS, FloatArray, unpaired_ratio_interval

__all__ = ["Agreement", "agreement"]

_TELLING: Final = 1.5
"""The upper end of an interval over its lower one: a wider one agrees with nearly anything."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a loop takes in the client's own process, as a multiple of what its lines say."""

    ratio: Interval

    @property
    def agrees(self) -> bool | None:
        """Whether they cannot be told apart by an interval that could; None: it is too wide to tell anything."""
        if not self.ratio.low <= 1 <= self.ratio.high:
            return False
        return True if self.ratio.high <= _TELLING * self.ratio.low else None

    @property
    def text(self) -> str:
        """Describe it in a few words: ``yes, 1.02x (0.98 to 1.05)``, ``no, 0.93x (0.91 to 0.95)``, ``unknown, ...``."""
        found = {True: "yes", False: "no", None: "unknown"}[self.agrees]
        return f"{found}, {self.ratio.estimate:.2f}x ({self.ratio.low:.2f} to {self.ratio.high:.2f})"


def agreement(lines: Sequence[Trial], harness: Sequence[Trial], *, level: float = 0.95) -> Agreement | None:
    """Hold the loops of a client's lines against those that it timed itself.

    From three trials of each on, a trial is one value: runs of one process share its luck. With fewer, the runs are
    the values, so that the interval says how well these trials agree and nothing of others.

    None where one of them was not measured, or cannot be believed.
    """
    one, other = _values(harness), _values(lines)
    if min(len(one), len(other)) < FEWEST_BLOCKS:
        one, other = _runs(harness), _runs(lines)
    if min(len(one), len(other)) < FEWEST_BLOCKS:
        return None
    return Agreement(unpaired_ratio_interval(np.log(one), np.log(other), level=level))


def _values(trials: Sequence[Trial]) -> FloatArray:
    means = (summary.mean_ns for summary in records_of(LatencySummary, rankable_trials(trials)))
    return np.array([mean for mean in means if mean], dtype=np.float64)


def _runs(trials: Sequence[Trial]) -> FloatArray:
    summaries = records_of(LatencySummary, rankable_trials(trials))
    return np.array([run.loop_ns for summary in summaries for run in summary.runs], dtype=np.float64)
