"""Summaries of durations within a trial, and of one figure over trials."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from httpdyno.stats.arrays import Int64Array

__all__ = ["DurationSummary", "median", "nearest_rank", "percentile", "summarise_durations"]


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
