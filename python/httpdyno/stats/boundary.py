"""The load at which something breaks: its likelihood from trials, and the search for it by doubling and halving."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.stats.summary import FloatArray


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a criterion held in one trial."""

    load: float
    """Above 0."""
    held: bool
    error_chance: float = 0.0
    """The chance that the same trial, made again, would say otherwise: 0 to 1/2, which is to know nothing."""

    def __post_init__(self) -> None:
        """Refuse what no trial can show."""
        if not self.load > 0 or not 0 <= self.error_chance <= 1 / 2:
            raise InvalidValue(f"check: load {self.load}, chance of an error {self.error_chance}")


def holding_chances(places: FloatArray, load: float, *, widths: Sequence[float]) -> FloatArray:
    """Return the chance that a criterion holds at a load, for each width of the transition and place of the boundary.

    Parameters
    ----------
    places : shape (n,)
        Where the boundary may lie: logarithms of loads.
    load : float
        Above 0.
    widths : sequence of float
        How wide the stretch may be in which trials go one way or the other: standard deviations of the logarithm.

    Returns
    -------
    FloatArray
        Shape (widths, places): the cumulative normal distribution. Nothing else than the boundary lets a trial fail.
    """
    from scipy.special import ndtr

    distance = places - math.log(load)
    return np.asarray(ndtr(distance[np.newaxis, :] / np.asarray(widths)[:, np.newaxis]), dtype=np.float64)


def likelihood(places: FloatArray, seen: Sequence[Check], *, widths: Sequence[float], lapse: float) -> FloatArray:
    """Return the likelihood of all checks, for each width of the transition and each place of the boundary.

    Parameters
    ----------
    places : shape (n,)
        Where the boundary may lie: logarithms of loads.
    seen : sequence of Check
        One for each trial.
    widths : sequence of float
        As in ``holding_chances``.
    lapse : float
        The chance that a trial far from the boundary goes the wrong way; one that is less sure has its own.

    Returns
    -------
    FloatArray
        Shape (widths, places); all of it 1 where nothing was seen.

    References
    ----------
    Kontsevich and Tyler, Bayesian adaptive estimation of psychometric slope and threshold, Vision Research 39 (1999).
    """
    likely = np.ones((len(widths), len(places)))
    for check in seen:
        wrong = max(lapse, check.error_chance)
        holds = wrong + (1 - 2 * wrong) * holding_chances(places, check.load, widths=widths)
        likely *= holds if check.held else 1 - holds
    return likely


@dataclass(frozen=True, slots=True)
class Break:
    """Loads between which a criterion breaks."""

    held: int | None
    """The largest that held, with nothing below it that did not; None: not even the smallest that was tried."""
    failed: int | None
    """The smallest that did not hold; None: all did."""


@dataclass(frozen=True, slots=True)
class DoublingSearch:
    """Search for the two whole loads between which a criterion breaks, with few trials, and fewer far above.

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
        """Largest number of loads that are tried."""
        climb = math.ceil(math.log(self.high / self.low, self.factor)) + 1 if self.high > self.low else 1
        return climb + max(0, math.ceil(math.log2(math.log(self.factor) / math.log(self.resolution)))) + 1

    def next(self, checks: Sequence[Check]) -> int | None:
        """Return the next load; None when the two loads around the break are known."""
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
        """Return the loads around the break, as far as tried."""
        last = {round(check.load): check.held for check in checks}
        failed = min((load for load, held in last.items() if not held), default=None)
        held = [load for load, good in last.items() if good and (failed is None or load < failed)]
        return Break(max(held, default=None), failed)
