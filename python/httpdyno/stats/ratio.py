"""Ratios of two subjects on the log scale: their interval, their p value, their direction."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.errors import TooFewBlocks
from httpdyno.model import Interval
from httpdyno.stats.summary import FloatArray, two_sided_p, two_sided_quantile

FEWEST_BLOCKS: Final = 3
"""Fewest blocks of a comparison: the spread of two values is not reliable."""

_DECIMALS: Final = 12
"""Decimals to which logarithms are compared; later ones differ by rounding."""
_LARGEST_LOG: Final = 700.0
"""Logarithm of 1e304, near the largest float."""


@dataclass(frozen=True, slots=True)
class LogRatio:
    """The logarithm of the ratio of two subjects, estimated from trials; arrays have one value for each comparison."""

    mean: FloatArray
    """Shape (...): the logarithm of the ratio of the geometric means."""
    error: FloatArray
    """Standard error of that logarithm; 0 where no value varies."""
    freedom: FloatArray | float
    """Degrees of freedom of Student's t."""
    constant_p: float
    """P value of a ratio other than 1, if the values do not vary."""

    @classmethod
    def paired(cls, log_ratios: FloatArray) -> "LogRatio":
        """Estimate the ratio a / b of two subjects from paired blocks.

        If the ratios do not vary, the p value is twice ``constant_p``: the ratio is also constant over blocks if both
        subjects vary together over several values, which at most doubles the chance.

        Parameters
        ----------
        log_ratios : shape (..., n), n >= 3
            log(a / b), one value per block: requests of one process are not independent, and trials of one block share
            its noise.

        Raises
        ------
        TooFewBlocks
            If n < 3: the spread of two values is not reliable.
        ValueError
            If a logarithm is not finite: a value was 0.

        References
        ----------
        Box, Hunter and Hunter, Statistics for Experimenters (2005), chapter 3: paired comparisons.
        """
        mean, variance, count = _moments(log_ratios)
        return cls(mean, np.sqrt(variance / count), count - 1.0, 2 * constant_p(count, count))

    @classmethod
    def unpaired(cls, log_a: FloatArray, log_b: FloatArray) -> "LogRatio":
        """Estimate the ratio a / b of two sets of trials that share no blocks, those of two runs: Welch's t.

        Parameters
        ----------
        log_a, log_b : shape (..., n) and (..., m), n and m at least 3
            Logarithms of the values, one a trial; the two spreads may differ.

        Raises
        ------
        TooFewBlocks, ValueError
            As ``paired``.

        References
        ----------
        Welch, The generalization of "Student's" problem when several different population variances are involved,
        Biometrika 34 (1947).
        """
        (mean_a, variance_a, count_a), (mean_b, variance_b, count_b) = _moments(log_a), _moments(log_b)
        part_a, part_b = variance_a / count_a, variance_b / count_b
        together = part_a + part_b
        scale = np.where(together > 0, together, 1.0)
        denominator = (part_a / scale) ** 2 / (count_a - 1) + (part_b / scale) ** 2 / (count_b - 1)
        freedom = 1 / np.where(together > 0, denominator, 1.0)
        return cls(mean_a - mean_b, np.sqrt(together), freedom, constant_p(count_a, count_b))

    def interval(self, *, level: float = 0.95) -> Interval:
        """Return the interval of a single ratio around that of the geometric means; a point if the values do not vary.

        ``level`` is the confidence, between 0 and 1.
        """
        mean, error = float(self.mean), float(self.error)
        half = two_sided_quantile(level, float(self.freedom)) * error if error > 0 else 0.0
        logs = (min(max(log, -_LARGEST_LOG), _LARGEST_LOG) for log in (mean - half, mean, mean + half))
        low, estimate, high = map(math.exp, logs)
        return Interval(estimate, low, high, level)

    def p(self) -> FloatArray:
        """Return the two-sided chance that equal subjects show ratios at least as far from 1; shape (...).

        If the values do not vary, it is 1 when the ratio is 1, else ``constant_p``.
        """
        spread = self.error > 0
        tested = two_sided_p(self.mean / np.where(spread, self.error, 1.0), self.freedom)
        return np.where(spread, tested, np.where(self.mean == 0, 1.0, self.constant_p))


def constant_p(first: int, second: int) -> float:
    """Bound the chance that equal subjects show one value in all trials of one side, and another in all of the other.

    A spread of zero is below the resolution of the figure, and its size is unknown: a t test would divide by it.
    Whatever the frequencies of the two values are, the chance of both is at most 2 q^n (1 - q)^m, which is largest for
    q = n / (n + m): 2 / 4^n for n of each.

    Parameters
    ----------
    first, second : int
        Trials of either side, at least 1.
    """
    share = first / (first + second)
    return 2 * share**first * (1 - share) ** second


def _moments(logs: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    count = logs.shape[-1]
    if count < FEWEST_BLOCKS:
        raise TooFewBlocks(f"a comparison needs {FEWEST_BLOCKS} blocks or more, not {count}; repeat more often")
    settled = np.round(logs, _DECIMALS)
    if not np.isfinite(settled).all():
        raise ValueError("the logarithm of a value is not finite: only values above 0 have a ratio")
    constant = (settled == settled[..., :1]).all(axis=-1)
    # In floating point the spread of equal numbers, and the mean of numbers that cancel, are only nearly zero.
    of_constant = np.where(settled[..., 0] == 0, 0.0, logs[..., 0])
    return (
        np.where(constant, of_constant, logs.mean(axis=-1)),
        np.where(constant, 0.0, logs.var(axis=-1, ddof=1)),
        count,
    )


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect between two sets of values."""

    ratio: Interval | None
    """Ratio of first to second; None with too few values, or a value of 0."""
    p: float | None
    """Two-sided p value, before any correction; None without a result."""
    sign: int
    """1 if the first is larger, -1 if it is smaller, 0 for a tie or without a result."""
    means: tuple[float, float] | None = None
    """Geometric means of first and second: their quotient is the ratio."""


def paired_effect(first: FloatArray, second: FloatArray, *, level: float = 0.95) -> Effect:
    """Compare two subjects by their common blocks.

    A value of 0 has no logarithm, and a small number in its place would decide the ratio: with a 0 there is no ratio.
    There is a direction if one subject is 0 in every block and the other in none. Zeros in some blocks may be noise.

    Parameters
    ----------
    first, second : shape (n,)
        Values in the same order of blocks. There is no result if n < 3.
    level : float
        Confidence of the interval.
    """
    return _effect(first, second, lambda log_first, log_second: LogRatio.paired(log_first - log_second), level)


def unpaired_effect(first: FloatArray, second: FloatArray, *, level: float = 0.95) -> Effect:
    """Compare two sets of trials without common blocks, of shapes (n,) and (m,): those of one subject in two runs.

    Zeros, fewer than 3 values and ``level`` are treated as in ``paired_effect``.
    """
    return _effect(first, second, LogRatio.unpaired, level)


def _effect(
    first: FloatArray, second: FloatArray, compare: Callable[[FloatArray, FloatArray], LogRatio], level: float
) -> Effect:
    if min(len(first), len(second)) < FEWEST_BLOCKS:
        return Effect(None, None, 0)
    signs = [set(np.sign(values)) for values in (first, second)]
    if signs == [{1}, {1}]:
        logs = np.log(first), np.log(second)
        ratio = compare(*logs)
        interval = ratio.interval(level=level)
        sign = (interval.estimate > 1) - (interval.estimate < 1)
        return Effect(interval, float(ratio.p()), sign, (float(np.exp(logs[0].mean())), float(np.exp(logs[1].mean()))))
    if signs == [{0}, {0}]:
        return Effect(None, 1.0, 0)
    if signs in ([{1}, {0}], [{0}, {1}]):
        return Effect(None, constant_p(len(first), len(second)), 1 if signs == [{1}, {0}] else -1)
    return Effect(None, None, 0)
