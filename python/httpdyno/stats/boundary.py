"""Search for the load at which a criterion starts to fail, by doubling and halving."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a criterion held in one trial."""

    load: float
    """Above 0."""
    held: bool


@dataclass(frozen=True, slots=True)
class Break:
    """The two loads between which a criterion starts to fail."""

    held: int | None
    """The largest load that held without a failure below it; None without one."""
    failed: int | None
    """The smallest load that failed; None: all held."""


@dataclass(frozen=True, slots=True)
class DoublingSearch:
    """Search for the two integer loads between which a criterion starts to fail, with few trials, fewer far above.

    The last trial of each load counts.

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
    """Ratio of each load to the previous one while the search climbs."""
    resolution: float = 1.1
    """Largest ratio of the two loads at the end of the search."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a range that cannot be searched."""
        if not 1 <= self.low <= self.high or not self.factor > 1 or not self.resolution > 1:
            raise InvalidValue(f"search: from {self.low} to {self.high} by {self.factor:g} cannot be searched")

    @property
    def most(self) -> int:
        """Largest number of loads that the search tries."""
        climb = math.ceil(math.log(self.high / self.low, self.factor)) + 1 if self.high > self.low else 1
        return climb + max(0, math.ceil(math.log2(math.log(self.factor) / math.log(self.resolution)))) + 1

    def next(self, checks: Sequence[Check]) -> int | None:
        """Return the next load; None when the two loads around the break are known."""
        found = self.conclude(checks)
        if found.held is None:
            return None if checks else self.low
        if found.failed is None:
            higher = min(self.high, max(found.held + 1, round(found.held * self.factor)))
            return higher if found.held < self.high else None
        if found.failed - found.held <= 1 or found.failed / found.held <= self.resolution:
            return None
        return min(max(round(math.sqrt(found.held * found.failed)), found.held + 1), found.failed - 1)

    def conclude(self, checks: Sequence[Check]) -> Break:
        """Return the loads around the break, among those that were tried."""
        last = {round(check.load): check.held for check in checks}
        failed = min((load for load, held in last.items() if not held), default=None)
        held = [load for load, good in last.items() if good and (failed is None or load < failed)]
        return Break(max(held, default=None), failed)
