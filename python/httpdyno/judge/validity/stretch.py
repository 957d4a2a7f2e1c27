"""The part of a trial that its figures describe: usually the time until the list was exhausted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from httpdyno.model import ThroughputPoint, Trial

LEAST_TURNS: Final = 4
"""URLs for each request in flight that a list needs for a rate: the end dominates a shorter list."""
SHORTEST_NS: Final = 1_000_000_000
"""Shortest time whose shares are judged: the kernel counts many of them in ticks of 4 or 10 ms."""
TOO_SHORT: Final = "shares of less than 1 s are too uncertain"


@dataclass(frozen=True, slots=True)
class Stretch:
    """From exec to the start of the last URL, where ``right_per_s`` also ends.

    The remaining time has little work: one stall delays the end of the trial until its timeout, so a share of the whole
    trial would understate the use of resources. If the list is short for its concurrency, or the deadline ended it, the
    stretch is the whole trial.
    """

    length_ns: int
    work: float
    """Share of the trial's answers that ended within, 0 to 1; 1 if their times are unknown."""

    @classmethod
    def of(cls, trial: Trial) -> Self | None:
        """Return the stretch of a trial; None if its duration is unknown."""
        wall_ns = trial.counters.wall_ns
        if not wall_ns:
            return None
        long = trial.urls_given >= LEAST_TURNS * trial.concurrency
        exhausted_ns = trial.summary.exhausted_ns if trial.summary and long else None
        length_ns = min(exhausted_ns or wall_ns, wall_ns)
        return cls(length_ns, _share_until(length_ns, trial.counters.throughput or ()))


def _share_until(moment_ns: int, bins: Sequence[ThroughputPoint]) -> float:
    """Return the share of the answers before a moment; within a bin they count as evenly distributed."""
    answers = sum(point.answers for point in bins)
    if not answers:
        return 1.0
    begins = [0, *(point.elapsed_ns for point in bins)]
    parts = (
        point.answers * min(max((moment_ns - begin) / (point.elapsed_ns - begin), 0.0), 1.0)
        for begin, point in zip(begins, bins, strict=False)
    )
    return sum(parts) / answers
