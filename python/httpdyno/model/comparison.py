"""What a comparison of two says, and where subjects stand among each other."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from httpdyno.model.interval import Interval

__all__ = ["DISTURBED_MARK", "Comparison", "Difference", "Ranking", "Standing"]

DISTURBED_MARK: Final = "~"
"""Stands before a rank that rests on trials which other programs disturbed."""


class Difference(StrEnum):
    """What may be said of two after the doubt is taken off."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """The interval holds "no difference": a tie, or too few trials to tell."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of ``subject`` against that of ``baseline``."""

    subject: str
    baseline: str
    metric: str
    ratio: Interval | None
    """Subject over baseline, 1 is no difference; None where there are too few trials for any statement."""
    p: float | None
    """Chance of a difference as large as this between equals."""
    p_adjusted: float | None
    """Adjusted for all comparisons that were made together: by ``stats.holm``, all pairs by ``compare_all_pairs``."""
    difference: Difference
    blocks: int
    """Values that it rests on: pairs of one block, or the trials of the smaller side."""
    paired: bool
    condition: str = ""
    """The point of the experiment's grid at which both were measured; empty when there is one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one subject stands."""

    subject: str
    best: int
    """First rank that cannot be excluded, from 1."""
    worst: int
    """Last rank that cannot be excluded."""
    value: Interval | None
    """Median over its trials with a distribution-free interval; None without an interval, with fewer than two."""
    disturbed: bool = False
    """Whether other programs disturbed most of its trials, so that its place is more doubtful than it looks."""

    @property
    def text(self) -> str:
        """Write the ranks as the table does: ``1``, ``1-2`` for those that cannot be told apart, ``~1`` disturbed."""
        ranks = str(self.best) if self.best == self.worst else f"{self.best}-{self.worst}"
        return f"{DISTURBED_MARK}{ranks}" if self.disturbed else ranks


@dataclass(frozen=True, slots=True)
class Ranking:
    """The subjects of one condition by one metric, the best median first; only those whose trials can be believed."""

    metric: str
    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    """All pairs."""
