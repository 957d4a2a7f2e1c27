"""Power: the probability of detecting a difference of a given size, and the smallest detectable difference."""

import math
from functools import cache
from typing import Final

import numpy as np
from scipy.special import gammaincinv, ndtr

from httpdyno.stats.summary import FloatArray, two_sided_quantile

__all__ = ["relative_power", "smallest_difference"]

_NODES: Final = 200


def relative_power(ratio: float, spread: float, blocks: int, *, comparisons: int = 1, level: float = 0.95) -> float:
    """Return the probability of detecting a difference between two subjects.

    Parameters
    ----------
    ratio : float
        True ratio of the subjects: 1.05 if one is 5 % better. Above 0.
    spread : float
        Standard deviation of the logarithm of their ratio from block to block: 0.02 if it varies by 2 %. Above 0.
    blocks : int
        Repeats, at least 2.
    comparisons : int
        Number of comparisons corrected together. The result is the power for the first pair of Holm's correction;
        the other pairs have a weaker correction.
    level : float
        Confidence, between 0 and 1.

    Returns
    -------
    float
        0 to 1; for equal subjects it is the probability of a false alarm.

    References
    ----------
    Box, Hunter and Hunter, Statistics for Experimenters (2005), chapter 3; the power is that of the noncentral t.
    """
    critical = two_sided_quantile(1 - (1 - level) / comparisons, blocks - 1)
    return _noncentral_tails(critical, blocks - 1, abs(math.log(ratio)) / spread * math.sqrt(blocks))


def smallest_difference(
    spread: float, blocks: int, *, comparisons: int = 1, power: float = 0.8, level: float = 0.95
) -> float:
    """Return the smallest difference that is detected with a given probability.

    Parameters
    ----------
    spread, blocks, comparisons, level
        As for ``relative_power``.
    power : float
        The probability, above 1 - level and below 1.

    Returns
    -------
    float
        Relative: 0.03 for 3 %.
    """
    low, high = 0.0, spread
    while relative_power(math.exp(high), spread, blocks, comparisons=comparisons, level=level) < power:
        low, high = high, high * 2
    for _ in range(50):  # each step halves the interval: after fifty it is below the precision of a float
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
    """Return the probability that t exceeds ``critical`` in size if the true value is ``shift`` standard errors from 0.

    It is the mean, over the distribution of the estimated standard error, of the probability that a normal value lies
    outside. A Gauss-Legendre rule over the quantiles of chi-square computes it: scipy's noncentral t fails for large
    shifts.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 31.
    """
    nodes, weights = _legendre()
    chi_square = 2 * gammaincinv(freedom / 2, (nodes + 1) / 2)
    bound = critical * np.sqrt(chi_square / freedom)
    return float(weights @ (ndtr(shift - bound) + ndtr(-shift - bound)) / 2)
