"""Ratios of two subjects on the log scale: their interval, their p value, their direction."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.errors import TooFewBlocks
from httpdyno.model import Interval
from httpdyno.stats.summary import FloatArray, two_sided_p, two_sided_quantile

FEWEST_BLOCKS: Final = 3
"""Two values have no spread worth the name: from here on something can be said."""

_DECIMALS: Final = 12
"""Logarithms are compared to so many decimals: what differs beyond them was made by arithmetic, not measured."""
_LARGEST_LOG: Final = 700.0
"""A ratio of 1e304: no float goes much further."""


def ratio_interval(log_ratios: FloatArray, *, level: float = 0.95) -> Interval:
    """Interval of the ratio of two subjects from paired blocks.

    Parameters
    ----------
    log_ratios : shape (n,), n >= 3
        log(a / b), one value a block: requests of one process are not independent, trials of one block share its noise.
    level : float
        Confidence asked for, between 0 and 1.

    Returns
    -------
    Interval
        Around the geometric mean of the ratios, by Student's t. When all ratios are the same it is that single point.

    Raises
    ------
    TooFewBlocks
        If n < 3: two values have no spread worth the name.
    ValueError
        If a logarithm is not finite: a value was 0.

    References
    ----------
    Box, Hunter and Hunter, Statistics for Experimenters (2005), chapter 3: paired comparisons.
    """
    mean, error, freedom = _paired_statistics(log_ratios)
    return _interval(float(mean), float(error), freedom, level)


def ratio_p(log_ratios: FloatArray) -> FloatArray:
    """Chance that two equal subjects show ratios at least as far from 1 as these, in paired blocks.

    Where all ratios of a comparison are the same there is no spread to hold them against. It is 1 when that ratio
    is 1, else twice what ``constant_p`` gives: a ratio is also the same when both subjects wander along several values,
    each so far from the next, and that can double the chance at most.

    Parameters
    ----------
    log_ratios : shape (..., n), n >= 3
        log(a / b); the last axis is that of the blocks, each comparison stands for itself.

    Returns
    -------
    FloatArray
        Shape (...), two-sided.

    Raises
    ------
    TooFewBlocks, ValueError
        As ``ratio_interval``.
    """
    mean, error, freedom = _paired_statistics(log_ratios)
    blocks = log_ratios.shape[-1]
    return _p(mean, error, freedom, 2 * constant_p(blocks, blocks))


def unpaired_ratio_interval(log_a: FloatArray, log_b: FloatArray, *, level: float = 0.95) -> Interval:
    """Interval of the ratio a / b of two sets of trials that share no blocks: those of two runs.

    Parameters
    ----------
    log_a, log_b : shape (n,) and (m,), both at least 3
        Logarithms of the values, one a trial.
    level : float
        Confidence asked for, between 0 and 1.

    Returns
    -------
    Interval
        Around the ratio of the geometric means, by Welch's t: the two spreads may differ.

    Raises
    ------
    TooFewBlocks
        If either has fewer than 3.
    ValueError
        If a logarithm is not finite.

    References
    ----------
    Welch, The generalization of "Student's" problem when several different population variances are involved,
    Biometrika 34 (1947).
    """
    mean, error, freedom = _unpaired_statistics(log_a, log_b)
    return _interval(float(mean), float(error), float(freedom), level)


def unpaired_ratio_p(log_a: FloatArray, log_b: FloatArray) -> FloatArray:
    """Chance that two sets of trials of equals differ at least as much as these.

    Parameters
    ----------
    log_a, log_b : shape (..., n) and (..., m), n and m at least 3
        Logarithms of the values; the last axis is that of the trials.

    Returns
    -------
    FloatArray
        Shape (...), two-sided. Without any spread it is 1 when the values are equal, else what ``constant_p`` gives.

    Raises
    ------
    TooFewBlocks, ValueError
        As ``unpaired_ratio_interval``.
    """
    mean, error, freedom = _unpaired_statistics(log_a, log_b)
    return _p(mean, error, freedom, constant_p(log_a.shape[-1], log_b.shape[-1]))


def constant_p(first: int, second: int) -> float:
    """Bound the chance that equals show one value in all trials of one side, and another one in all of the other.

    A spread of zero is below what the figure resolves, and its size is not known: a t test would divide by it.
    However often each of the two values comes up, the chance of both is at most 2 q^n (1 - q)^m, which is largest for
    q = n / (n + m): 2 / 4^n for n of each.

    Parameters
    ----------
    first, second : int
        Trials of either side, at least 1.
    """
    share = first / (first + second)
    return 2 * share**first * (1 - share) ** second


def _paired_statistics(log_ratios: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Mean, its standard error, degrees of freedom."""
    mean, variance, count = _moments(log_ratios)
    return mean, np.sqrt(variance / count), count - 1.0


def _unpaired_statistics(log_a: FloatArray, log_b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Difference of means, its standard error, Welch's and Satterthwaite's degrees of freedom."""
    (mean_a, variance_a, count_a), (mean_b, variance_b, count_b) = _moments(log_a), _moments(log_b)
    part_a, part_b = variance_a / count_a, variance_b / count_b
    together = part_a + part_b
    scale = np.where(together > 0, together, 1.0)
    denominator = (part_a / scale) ** 2 / (count_a - 1) + (part_b / scale) ** 2 / (count_b - 1)
    freedom = 1 / np.where(together > 0, denominator, 1.0)
    return mean_a - mean_b, np.sqrt(together), freedom


def _moments(logs: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Mean and variance along the last axis, and its length."""
    count = logs.shape[-1]
    if count < FEWEST_BLOCKS:
        raise TooFewBlocks(f"a comparison needs {FEWEST_BLOCKS} blocks or more, not {count}; repeat more often")
    settled = np.round(logs, _DECIMALS)
    if not np.isfinite(settled).all():
        raise ValueError("the logarithm of a value is not finite: only values above 0 have a ratio")
    constant = (settled == settled[..., :1]).all(axis=-1)
    # The spread of equal numbers, and the mean of numbers that cancel, come out of floating point as nearly zero.
    of_constant = np.where(settled[..., 0] == 0, 0.0, logs[..., 0])
    return (
        np.where(constant, of_constant, logs.mean(axis=-1)),
        np.where(constant, 0.0, logs.var(axis=-1, ddof=1)),
        count,
    )


def _interval(mean: float, error: float, freedom: float, level: float) -> Interval:
    half = two_sided_quantile(level, freedom) * error if error > 0 else 0.0
    low, estimate, high = (
        math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG)) for log in (mean - half, mean, mean + half)
    )
    return Interval(estimate, low, high, level)


def _p(mean: FloatArray, error: FloatArray, freedom: FloatArray | float, of_constants: float) -> FloatArray:
    spread = error > 0
    tested = two_sided_p(mean / np.where(spread, error, 1.0), freedom)
    return np.where(spread, tested, np.where(mean == 0, 1.0, of_constants))


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect between two sets of values."""

    ratio: Interval | None
    """First over second; None where there is none: too few values, or a value of 0."""
    p: float | None
    """Two-sided, before any correction; None where nothing can be said."""
    sign: int
    """1 when the first is larger, -1 when it is smaller, 0 when neither, or when nothing can be said."""
    means: tuple[float, float] | None = None
    """Geometric means of first and second over the values that the ratio rests on: their quotient is the ratio."""


_NOTHING = Effect(None, None, 0)


def paired_effect(first: FloatArray, second: FloatArray, *, level: float = 0.95) -> Effect:
    """Compare two subjects by their common blocks.

    A value of 0 has no logarithm. To put a small number in its place would let that number decide, so no ratio is
    given where there is one; the direction is, where it needs no ratio: one subject is 0 in every block and the other
    in none. Zeros in some of the blocks say nothing that could be held against noise.

    Parameters
    ----------
    first, second : shape (n,)
        The values of either, in the same order of blocks. If n < 3, nothing is said.
    level : float
        Confidence of the interval.
    """
    if len(first) < FEWEST_BLOCKS:
        return _NOTHING
    if (first <= 0).any() or (second <= 0).any():
        return _without_ratio(first, second)
    log_first, log_second = np.log(first), np.log(second)
    logs = log_first - log_second
    ratio = ratio_interval(logs, level=level)
    return Effect(ratio, float(ratio_p(logs)), _sign(ratio), _means(log_first, log_second))


def unpaired_effect(first: FloatArray, second: FloatArray, *, level: float = 0.95) -> Effect:
    """Compare two sets of trials that share no blocks: those of one subject in two runs.

    Values of 0 are treated as in ``paired_effect``.

    Parameters
    ----------
    first, second : shape (n,) and (m,)
        If either has fewer than 3 values, nothing is said.
    level : float
        Confidence of the interval.
    """
    if min(len(first), len(second)) < FEWEST_BLOCKS:
        return _NOTHING
    if (first <= 0).any() or (second <= 0).any():
        return _without_ratio(first, second)
    log_first, log_second = np.log(first), np.log(second)
    ratio = unpaired_ratio_interval(log_first, log_second, level=level)
    return Effect(ratio, float(unpaired_ratio_p(log_first, log_second)), _sign(ratio), _means(log_first, log_second))


def _means(log_first: FloatArray, log_second: FloatArray) -> tuple[float, float]:
    return float(np.exp(log_first.mean())), float(np.exp(log_second.mean()))


def _sign(ratio: Interval) -> int:
    return (ratio.estimate > 1) - (ratio.estimate < 1)


def _without_ratio(first: FloatArray, second: FloatArray) -> Effect:
    if (first == 0).all() and (second == 0).all():
        return Effect(None, 1.0, 0)
    if (first == 0).all() and (second > 0).all():
        return Effect(None, constant_p(len(first), len(second)), -1)
    if (first > 0).all() and (second == 0).all():
        return Effect(None, constant_p(len(first), len(second)), 1)
    return _NOTHING
