"""Summaries of a few values: percentiles, medians and their intervals, Student's t; and the types of arrays."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from httpdyno.model import Interval

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DurationSummary:
    """Durations of one trial, all in nanoseconds."""

    count: int
    mean_ns: float
    max_ns: int
    p50_ns: int
    p99_ns: int


def summarise_durations(durations_ns: Int64Array) -> DurationSummary | None:
    """Summarise the durations of one trial.

    Parameters
    ----------
    durations_ns : shape (n,)
        In any order.

    Returns
    -------
    DurationSummary | None
        None if n = 0: nothing was measured. If n = 1, all figures are that value.
    """
    if len(durations_ns) == 0:
        return None
    ordered = np.sort(durations_ns)
    return DurationSummary(
        count=len(ordered),
        mean_ns=float(ordered.mean(dtype=np.float64)),
        max_ns=int(ordered[-1]),
        p50_ns=percentile(ordered, 50),
        p99_ns=percentile(ordered, 99),
    )


def percentile(ordered: Int64Array, rank: float) -> int:
    """Find the smallest value that at least ``rank`` percent of the values do not exceed (nearest rank).

    The result is a value that was measured, as with HdrHistogram, and not one between two.

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
    """Median of one figure over trials; the mean of the middle two when their number is even.

    Values that are None (not measured in that trial) are left out; None when nothing is left.
    """
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
        Confidence asked for, between 0 and 1.

    Returns
    -------
    Interval or None
        The narrowest pair that attains the level; its own, attained level is usually more. With few values not even
        the smallest and the largest attain it: they are given with what they do attain, 93.75 % if n = 5. None if
        n < 2.

    References
    ----------
    Hahn and Meeker, Statistical Intervals (1991), section 5.2: distribution-free intervals for a percentile.
    """
    count = len(values)
    if count < 2:  # one value says nothing of its spread
        return None
    depth, attained = _depth(count, level)
    ordered = np.sort(values)
    return Interval(float(np.median(ordered)), float(ordered[depth - 1]), float(ordered[count - depth]), attained)


def _depth(count: int, level: float) -> tuple[int, float]:
    """Return how many values from either end the bounds are, and the level that they attain."""
    outside = accumulate(math.comb(count, below) for below in range(max(count // 2, 1)))
    attained = [1 - 2 * ways / 2**count for ways in outside]
    depth = max(sum(inside >= level for inside in attained), 1)
    return depth, attained[depth - 1]


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
