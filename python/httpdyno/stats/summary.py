"""Summaries of a few values: percentiles, medians and their intervals, Student's t; and the types of arrays."""

import math
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from httpdyno.model import Interval

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]


def percentile(ordered: Int64Array, rank: float) -> int:
    """Find the smallest value that at least ``rank`` percent of the values do not exceed (nearest rank).

    The result is a measured value, as with HdrHistogram, without interpolation.

    Parameters
    ----------
    ordered : shape (n,), n >= 1
        Ascending.
    rank : float
        Percent, above 0 to 100.

    Raises
    ------
    ValueError
        If there is no value, or the rank is not above 0 to 100.

    References
    ----------
    Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician 50 (1996): definition 1.
    """
    return int(ordered[nearest_rank(len(ordered), rank) - 1])


def nearest_rank(count: int, rank: float) -> int:
    """Return the place, from 1, of the value that is the percentile among ``count`` values in ascending order.

    Raises
    ------
    ValueError
        If there is no value, or the rank is not above 0 to 100.
    """
    if count == 0:
        raise ValueError("a percentile needs at least one value")
    if not 0 < rank <= 100:  # percent
        raise ValueError(f"a percentile is above 0 to 100, not {rank}")
    # Rounding guards against 0.99 * 100 being 99.00000000000001, which would step one value too far.
    return max(int(np.ceil(round(rank * count / 100, 9))), 1)


def median(values: Iterable[float | None]) -> float | None:
    """Return the median of the values that are not None (not measured); None without any."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def median_interval(values: FloatArray, *, level: float = 0.95) -> Interval | None:
    """Interval of the median between two of the values themselves.

    However the values are spread, each lies below the true median with a chance of one half. The k-th smallest and
    the k-th largest then enclose it unless fewer than k values fall on one side, and the chance of that is binomial.

    Parameters
    ----------
    values : shape (n,)
        Independent of each other, in any order: one a trial.
    level : float
        Requested confidence, between 0 and 1.

    Returns
    -------
    Interval or None
        The narrowest pair that attains the level, with its own level, which is usually higher. With few values it is
        the smallest and the largest with the lower level that they attain, 93.75 % if n = 5. None if n < 2.

    References
    ----------
    Hahn and Meeker, Statistical Intervals (1991), section 5.2: distribution-free intervals for a percentile.
    """
    count = len(values)
    if count < 2:  # one value does not show a spread
        return None
    outside = accumulate(math.comb(count, below) for below in range(count // 2))
    attained = [1 - 2 * ways / 2**count for ways in outside]
    # The bounds are so many values from either end.
    depth = max(sum(inside >= level for inside in attained), 1)
    ordered = np.sort(values)
    low, high = float(ordered[depth - 1]), float(ordered[count - depth])
    return Interval(float(np.median(ordered)), low, high, attained[depth - 1])


# scipy is imported where it is used: it loads too slowly for commands without statistics.


def two_sided_quantile(level: float, freedom: float) -> float:
    """Return the t within which a mean lies with a given confidence.

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
    """Return the chance that noise alone gives a t at least as far from 0.

    Parameters
    ----------
    t : any shape
        The statistic.
    freedom : float or shape of ``t``
        Degrees of freedom, above 0.
    """
    from scipy.special import stdtr

    # The lower tail is exact to all digits; 1 - upper would not be.
    return np.asarray(2 * stdtr(freedom, -np.abs(t)), dtype=np.float64)
