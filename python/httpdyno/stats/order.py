"""The median of a few values, with an interval that supposes nothing about how they are spread."""

import numpy as np

from httpdyno.model import Interval
from httpdyno.stats.arrays import FloatArray

__all__ = ["median_interval"]


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
    """How many values from either end the bounds are, and the level that they attain."""
    ways, outside, everything = 1, 1, 2**count
    depth, attained = 1, 1 - 2 / everything
    for below in range(1, count // 2):
        ways = ways * (count - below + 1) // below
        outside += ways
        inside = 1 - 2 * outside / everything
        if inside < level:
            break
        depth, attained = below + 1, inside
    return depth, attained
