"""Student's t distribution: what the mean of a few values may say."""

import numpy as np

from httpdyno.stats.arrays import FloatArray

__all__ = ["two_sided_p", "two_sided_quantile"]


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
