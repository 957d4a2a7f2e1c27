"""Histograms of durations that can be merged: percentiles of many trials come from all their samples together."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from httpdyno.stats.summary import nearest_rank

__all__ = ["RELATIVE_ERROR", "Histogram"]

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

RELATIVE_ERROR: Final = 1 / 1024
"""No value that is given back is further than this above the one that was counted."""

# The leading bits of a double are its exponent and then its mantissa: cut after ten bits of the mantissa they number
# bins of which every power of two has 1,024, each as wide as 1/1024 of that power. Integers below 2048 need no more
# bits than that, and stand alone in their bins.
_CUT: Final = 52 - 10
_FIRST: Final = 1023 << 10
"""The number that 1 gets in this way; bins are counted from there, so that bin 0 holds 0 and bin 1 holds 1."""
_BINS: Final = (63 << 10) + 1
_EXACT: Final = 1 << 53
"""Integers from here on are not all doubles: their lowest bits are cleared first, or rounding could carry upwards."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How many durations lie in which bin; equal to another one when all that it holds is.

    Values are whole nanoseconds, 0 to 2^63 - 1. Bins are as wide as 1/1024 of their lower end at most, so that
    everything said about values is at most 1/1024 too high and never too low; the smallest and the largest are exact.

    References
    ----------
    Tene, HdrHistogram: A High Dynamic Range Histogram (hdrhistogram.org): the layout of bins, the words.
    """

    bins: Int64Array
    """Numbers of the bins that are not empty, ascending."""
    counts: Int64Array
    """Values in each of them."""
    minimum_ns: int | None
    """None when there is no value."""
    maximum_ns: int | None

    @classmethod
    def of(cls, values_ns: Int64Array) -> Self:
        """Count values.

        Parameters
        ----------
        values_ns : shape (n,), int64
            In any order; n may be 0.

        Raises
        ------
        ValueError
            If a value is negative.
        """
        counts = np.zeros(_BINS, dtype=np.int64)
        lows: list[int] = []
        highs: list[int] = []
        # In pieces that stay in the processor's cache: ten million values at once would move gigabytes.
        for begin in range(0, len(values_ns), _CHUNK):
            chunk = values_ns[begin : begin + _CHUNK]
            lows.append(int(chunk.min()))
            highs.append(int(chunk.max()))
            if lows[-1] < 0:
                raise ValueError(f"a duration cannot be negative: {lows[-1]} ns")
            counts += np.bincount(_numbers(chunk, highs[-1]), minlength=_BINS)
        bins = np.flatnonzero(counts)
        return cls(bins, counts[bins], min(lows, default=None), max(highs, default=None))

    @classmethod
    def merge(cls, histograms: Iterable["Histogram"]) -> Self:
        """Put histograms together, as if all values had been counted in one; of none it is an empty one."""
        counts = np.zeros(_BINS, dtype=np.int64)
        lows: list[int] = []
        highs: list[int] = []
        for histogram in histograms:
            counts[histogram.bins] += histogram.counts
            if histogram.minimum_ns is not None and histogram.maximum_ns is not None:
                lows.append(histogram.minimum_ns)
                highs.append(histogram.maximum_ns)
        bins = np.flatnonzero(counts)
        return cls(bins, counts[bins], min(lows, default=None), max(highs, default=None))

    def __add__(self, other: "Histogram") -> "Histogram":
        return Histogram.merge((self, other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return (
            np.array_equal(self.bins, other.bins)
            and np.array_equal(self.counts, other.counts)
            and (self.minimum_ns, self.maximum_ns) == (other.minimum_ns, other.maximum_ns)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    @property
    def total(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def lowest_ns(self) -> Int64Array:
        """Smallest value that each bin could hold, shape of ``bins``."""
        # Bin 0 is 0; the others are read back as the doubles whose leading bits they are.
        doubles = ((np.maximum(self.bins, 1) - 1 + _FIRST) << _CUT).view(np.float64)
        lowest: Int64Array = np.where(self.bins == 0, 0, doubles.astype(np.int64))
        return lowest

    @property
    def highest_ns(self) -> Int64Array:
        """Largest value that each bin could hold, and no more than the largest that was counted, shape of ``bins``."""
        power = np.maximum(self.bins - 1, 0) >> 10  # the power of two that the bin belongs to
        width = np.left_shift(1, np.maximum(power - 10, 0))
        highest: Int64Array = np.minimum(self.lowest_ns + (width - 1), self.maximum_ns or 0)
        return highest

    def percentile(self, rank: float) -> int:
        """Find a value that at least ``rank`` percent of the values do not exceed, in nanoseconds.

        It is that of ``stats.percentile`` or up to 1/1024 above it.

        Raises
        ------
        ValueError
            If there is no value, or the rank is not above 0 to 100.
        """
        position = nearest_rank(self.total, rank)
        return int(self.highest_ns[np.searchsorted(np.cumsum(self.counts), position)])


def _numbers(values_ns: Int64Array, largest: int) -> Int64Array:
    """Bin of each value."""
    if largest >= _EXACT:
        values_ns = np.where(values_ns >= _EXACT, values_ns & ~1023, values_ns)
    numbers = values_ns.astype(np.float64).view(np.int64)
    numbers >>= _CUT
    numbers -= _FIRST - 1
    # The double 0 has no exponent at all, far below that of 1.
    numbers[numbers < 0] = 0
    return numbers
