"""The requests of a load in figures: how long those took that began in the steady stretch."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl

from httpdyno.experiments.service.judge.stretch import Stretch
from httpdyno.model import Loop
from httpdyno.stats import nearest_rank

__all__ = ["FEWEST_OF_P999", "OPEN", "Steady", "time_percentile"]

OPEN: Final = "Open"
"""What a sample ends with that had not ended when the load did."""
FEWEST_OF_P999: Final = 1000
"""Fewer requests have no 99.9th percentile that is not the longest."""
_SLOWEST: Final = 0.05
_RIGHT: Final = "200"
_Times = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Steady:
    """What the samples of a load say of its steady stretch."""

    times_ns: _Times
    """Response times of the requests that began in it, ascending: of one that was open at the end the time that it had
    waited, of one that failed infinity."""
    longest_exact_ns: float
    """No request that was open at the end had waited less: percentiles below are exact."""
    failures: tuple[tuple[str, int], ...]
    """What the requests ended with that failed, and how many each, the most frequent first."""
    still_open: int
    answered_ns: _Times
    """Response times of the right answers that ended in it."""
    open_mean: float | None
    last_answer_ns: int | None
    """When the last right answer of the whole load ended, since the load began."""
    began: int
    """Requests of the whole load."""

    @classmethod
    def of(cls, samples: pl.DataFrame, stretch: Stretch, loop: Loop = Loop.CLOSED) -> Self:
        """Read the figures from the samples of the generator.

        Requests count that began in the stretch, and those that outlasted it: of a connection that is never answered
        none begins in it. In a closed loop such a one counts as often as others were answered meanwhile.

        ``samples`` have ``intended_ns`` and ``end_ns``, since the load began, and ``status_or_error``: a row for each
        request, also for those that were open at the end (``OPEN``).
        """
        begins, ends = samples["intended_ns"].to_numpy(), samples["end_ns"].to_numpy()
        endings = samples["status_or_error"]
        right, still = (endings == _RIGHT).to_numpy(), (endings == OPEN).to_numpy()
        outlasting = (begins < stretch.begin_ns) & (ends >= stretch.end_ns)
        counts = ((begins >= stretch.begin_ns) & (begins < stretch.end_ns)) | outlasting
        times = np.where(right | still, ends - begins, np.inf)
        in_time = right & (ends >= stretch.begin_ns) & (ends < stretch.end_ns)
        waiting = (ends - begins)[counts & still]
        answered = times[in_time]
        if loop is Loop.CLOSED and answered.size and outlasting.any():
            others = max(1, round(stretch.length_ns / float(np.median(answered))))
            times = np.concatenate([times[counts], np.repeat(times[outlasting], others - 1)])
        else:
            times = times[counts]
        return cls(
            times_ns=np.sort(times),
            longest_exact_ns=float(waiting.min()) if waiting.size else float("inf"),
            failures=tuple(endings.filter(counts & ~right & ~still).value_counts(sort=True).iter_rows()),
            still_open=int(waiting.size),
            answered_ns=answered,
            open_mean=_in_flight(begins, ends, stretch),
            last_answer_ns=int(ends[right].max()) if right.any() else None,
            began=len(begins),
        )

    @property
    def answers(self) -> int:
        """How many right answers ended in it."""
        return len(self.answered_ns)

    @property
    def errors(self) -> int:
        """How many requests of it failed, or were answered wrongly."""
        return sum(count for _, count in self.failures)

    @property
    def count(self) -> int:
        """How many requests count."""
        return len(self.times_ns)

    def percentile_ns(self, rank: float) -> float | None:
        """Return a percentile; None of nothing, or where that request failed."""
        if 99 < rank < 100 and self.count < FEWEST_OF_P999:
            return None
        return _finite(time_percentile(self.times_ns, rank))

    def overhead_ns(self, rank: float, ideal_ns: int) -> float | None:
        """Return a percentile of how far times are from the ideal; None of nothing, or where that request failed.

        A time below the ideal counts like one that is as much above it: who answers before a wait is over has not
        waited, and is not to be the better for it.
        """
        if rank > 99 and self.count < FEWEST_OF_P999:
            return None
        return _finite(time_percentile(np.sort(np.abs(self.times_ns - ideal_ns)), rank))

    def early_of(self, ideal_ns: int) -> int:
        """Count the right answers that came before the ideal."""
        return int((self.answered_ns < ideal_ns).sum())

    def at_least(self, time_ns: float | None) -> bool:
        """Return whether a percentile may be more than what is known of it, for requests that were still open."""
        return time_ns is not None and time_ns >= self.longest_exact_ns

    @property
    def mean_ns(self) -> float | None:
        """Mean; None of nothing, or where one failed."""
        return _finite(float(self.times_ns.mean())) if self.count else None

    @property
    def slowest_5_ns(self) -> float | None:
        """Mean of the slowest 5 %, one at least, as rewrk has it; None of nothing, or where one failed."""
        slowest = self.times_ns[-max(1, int(self.count * _SLOWEST)) :]
        return _finite(float(slowest.mean())) if self.count else None


def time_percentile(ascending: _Times, rank: float) -> float:
    """Return the smallest value that ``rank`` per cent of the values do not exceed; nan of none.

    Nothing is interpolated: between a time and infinity there is nothing.
    """
    if not len(ascending):
        return float("nan")
    return float(ascending[nearest_rank(len(ascending), rank) - 1])


def _finite(time_ns: float) -> float | None:
    return time_ns if np.isfinite(time_ns) else None


def _in_flight(begins: "np.ndarray[tuple[int], np.dtype[np.int64]]", ends: object, stretch: Stretch) -> float | None:
    """Return how many requests were in flight on average, as the area under their number over time."""
    if not stretch.length_ns or not len(begins):
        return None
    within = np.minimum(ends, stretch.end_ns) - np.maximum(begins, stretch.begin_ns)  # type: ignore[call-overload]
    return float(np.maximum(within, 0).sum() / stretch.length_ns)
