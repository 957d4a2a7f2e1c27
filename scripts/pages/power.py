"""Power: how likely a difference of a given size is found, and how large one has to be."""

import math
from functools import cache
from typing import Final

import numpy as np
from scipy.special import gammaincinv, ndtr

from httpdyno.stats.summary import FloatArray, two_sided_quantile

__all__ = ["relative_power", "smallest_difference"]

_NODES: Final = 200


def relative_power(ratio: float, spread: float, blocks: int, *, comparisons: int = 1, level: float = 0.95) -> float:
    """Chance that two subjects are told apart.

    Parameters
    ----------
    ratio : float
        How they really compare: 1.05 when one is 5 % better. Above 0.
    spread : float
        Standard deviation of the logarithm of their ratio from block to block: 0.02 when it varies by 2 %. Above 0.
    blocks : int
        Repeats, at least 2.
    comparisons : int
        How many are corrected together. The chance given is that of the pair that Holm's correction comes to first;
        the others face a weaker one.
    level : float
        Confidence, between 0 and 1.

    Returns
    -------
    float
        0 to 1; for equals it is the chance of a false alarm.

    References
    ----------
    Box, Hunter and Hunter, Statistics for Experimenters (2005), chapter 3; the power is that of the noncentral t.
    """
    critical = two_sided_quantile(1 - (1 - level) / comparisons, blocks - 1)
    return _noncentral_tails(critical, blocks - 1, abs(math.log(ratio)) / spread * math.sqrt(blocks))


def smallest_difference(
    spread: float, blocks: int, *, comparisons: int = 1, power: float = 0.8, level: float = 0.95
) -> float:
    """Return the smallest difference that is found with a given chance.

    Parameters
    ----------
    spread, blocks, comparisons, level
        As for ``relative_power``.
    power : float
        The chance, above 1 - level and below 1.

    Returns
    -------
    float
        Relative: 0.03 when 3 % is enough.
    """
    low, high = 0.0, spread
    while relative_power(math.exp(high), spread, blocks, comparisons=comparisons, level=level) < power:
        low, high = high, high * 2
    for _ in range(50):  # each step halves the stretch: fifty leave nothing of it
        middle = (low + high) / 2
        if relative_power(math.exp(middle), spread, blocks, comparisons=comparisons, level=level) < power:
            low = middle
        else:
            high = middle
    return math.expm1(high)


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _noncentral_tails(critical: float, freedom: float, shift: float) -> float:
    """Return the chance that t is further from 0 than ``critical`` when the truth is ``shift`` standard errors away.

    It is the mean, over what the standard error may be estimated as, of the chance that a normal value lies outside. A
    Gauss-Legendre rule over the quantiles of chi-square takes it: scipy's own noncentral t gives up for large shifts.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 31.
    """
    nodes, weights = _legendre()
    chi_square = 2 * gammaincinv(freedom / 2, (nodes + 1) / 2)
    bound = critical * np.sqrt(chi_square / freedom)
    return float(weights @ (ndtr(shift - bound) + ndtr(-shift - bound)) / 2)
