"""The stretch of a trial that its figures rest on: usually until the list was exhausted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from httpdyno.model import ThroughputPoint, Trial

LEAST_TURNS: Final = 4
"""URLs for each request in flight that make a list long enough to have a rate: of a shorter one its end is most."""
SHORTEST_NS: Final = 1_000_000_000
"""Shares of a shorter time are not judged: the kernel counts much of what they are made of in ticks of 4 or 10 ms."""
TOO_SHORT: Final = "shares of less than 1 s say too little"


@dataclass(frozen=True, slots=True)
class Stretch:
    """From exec to the start of the last URL, which is where ``right_per_s`` ends, too.

    What comes after is little work in much time: one stall holds the trial up until its timeout. A share of the whole
    trial would hide how busy things were while it mattered. A list that is short for its concurrency, or that the
    deadline cut, has no such moment: there it is the whole trial.
    """

    length_ns: int
    work: float
    """The part of the trial's answers that ended within, 0 to 1; all of them where their times are not known."""

    @classmethod
    def of(cls, trial: Trial) -> Self | None:
        """Return the stretch of a trial; None where it is not known how long it took."""
        wall_ns = trial.counters.wall_ns
        if not wall_ns:
            return None
        long = trial.urls_given >= LEAST_TURNS * trial.concurrency
        exhausted_ns = trial.summary.exhausted_ns if trial.summary and long else None
        length_ns = min(exhausted_ns or wall_ns, wall_ns)
        return cls(length_ns, _share_until(length_ns, trial.counters.throughput or ()))


def _share_until(moment_ns: int, bins: Sequence[ThroughputPoint]) -> float:
    """Share of the answers that came before a moment; within a bin they count as evenly spread."""
    answers = sum(point.answers for point in bins)
    if not answers:
        return 1.0
    begins = [0, *(point.elapsed_ns for point in bins)]
    parts = (
        point.answers * min(max((moment_ns - begin) / (point.elapsed_ns - begin), 0.0), 1.0)
        for begin, point in zip(begins, bins, strict=False)
    )
    return sum(parts) / answers
