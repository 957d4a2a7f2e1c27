"""Student's t distribution: what the mean of a few values may say."""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "noncentral_tails", "two_sided_p", "two_sided_quantile"]

FloatArray = npt.NDArray[np.float64]

_NODES: Final = 200

# scipy is imported where it is used: it takes longer to load than the commands that need no statistics may take in all.


def two_sided_quantile(level: float, freedom: float) -> float:
    """Return the t that a mean stays within with a given confidence.

    Parameters
    ----------
    level : float
        Confidence, between 0 and 1.
    freedom : float
        Degrees of freedom, above 0.
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def two_sided_p(t: FloatArray, freedom: FloatArray | float) -> FloatArray:
    """Return the chance that noise alone makes a t at least as far from 0.

    Parameters
    ----------
    t : any shape
        The statistic.
    freedom : float or shape of ``t``
        Degrees of freedom, above 0.
    """
    from scipy.special import stdtr

    # The lower tail keeps its digits where 1 - upper would lose them.
    return np.asarray(2 * stdtr(freedom, -np.abs(t)), dtype=np.float64)


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def noncentral_tails(critical: float, freedom: float, shift: float) -> float:
    """Return the chance that t is further from 0 than ``critical`` when the truth is ``shift`` standard errors away.

    It is the mean, over what the standard error may be estimated as, of the chance that a normal value lies outside. A
    Gauss-Legendre rule over the quantiles of chi-square takes it: scipy's own noncentral t gives up for large shifts.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 31.
    """
    from scipy.special import gammaincinv, ndtr

    nodes, weights = _legendre()
    chi_square = 2 * gammaincinv(freedom / 2, (nodes + 1) / 2)
    bound = critical * np.sqrt(chi_square / freedom)
    return float(weights @ (ndtr(shift - bound) + ndtr(-shift - bound)) / 2)
