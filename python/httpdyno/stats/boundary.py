"""How likely is what trials say of a boundary, near which they go one way or the other, if it lies at a place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.stats.arrays import FloatArray

__all__ = ["Check", "holding_chances", "likelihood"]


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
    """Return the chance that a criterion holds at a load, for each width of the stretch and each place of the boundary.

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
    """Return how likely all that was seen is, for each width of the stretch and each place of the boundary.

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
