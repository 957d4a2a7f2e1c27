"""The search for the load at which something breaks: upwards by a factor, then halving what is between."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.errors import InvalidValue
from httpdyno.stats.boundary import Check

__all__ = ["Break", "DoublingSearch"]


@dataclass(frozen=True, slots=True)
class Break:
    """Between which loads something breaks."""

    held: int | None
    """The largest that held, with nothing below it that did not; None: not even the smallest that was tried."""
    failed: int | None
    """The smallest that did not hold; None: all did."""


@dataclass(frozen=True, slots=True)
class DoublingSearch:
    """Finds between which two whole loads a criterion ceases to hold, with few trials below and fewer far above.

    Of a load that was tried several times, the last trial counts.

    Raises
    ------
    InvalidValue
        If the loads are not 1 <= low <= high, or a factor is not more than 1.

    References
    ----------
    Bentley and Yao, An almost optimal algorithm for unbounded searching, Information Processing Letters 5 (1976): the
    doubling costs no more than the bisection that follows it.
    """

    low: int
    high: int
    factor: float = 2.0
    """From one load to the next on the way up."""
    resolution: float = 1.1
    """Two loads whose ratio is no larger are close enough."""

    def __post_init__(self) -> None:
        """Refuse a range in which nothing can be searched."""
        if not 1 <= self.low <= self.high or not self.factor > 1 or not self.resolution > 1:
            raise InvalidValue(f"search: from {self.low} to {self.high} by {self.factor:g} cannot be searched")

    @property
    def most(self) -> int:
        """How many loads are tried at most."""
        climb = math.ceil(math.log(self.high / self.low, self.factor)) + 1 if self.high > self.low else 1
        return climb + max(0, math.ceil(math.log2(math.log(self.factor) / math.log(self.resolution)))) + 1

    def next(self, checks: Sequence[Check]) -> int | None:
        """Name the next load; None when it is known between which two it breaks."""
        found = self.conclude(checks)
        if found.held is None:
            return None if checks else self.low
        if found.failed is None:
            return (
                min(self.high, max(found.held + 1, round(found.held * self.factor))) if found.held < self.high else None
            )
        if found.failed - found.held <= 1 or found.failed / found.held <= self.resolution:
            return None
        return min(max(round(math.sqrt(found.held * found.failed)), found.held + 1), found.failed - 1)

    def conclude(self, checks: Sequence[Check]) -> Break:
        """Return between which loads it breaks, as far as was tried."""
        last = {round(check.load): check.held for check in checks}
        failed = min((load for load, held in last.items() if not held), default=None)
        held = [load for load, good in last.items() if good and (failed is None or load < failed)]
        return Break(max(held, default=None), failed)
