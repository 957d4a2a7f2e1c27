"""How much one subject differs from another, from the values of both: the ratio, its doubt, its direction."""

from dataclasses import dataclass

import numpy as np

from httpdyno.model import Interval
from httpdyno.stats.arrays import FloatArray
from httpdyno.stats.ratio import (
    FEWEST_BLOCKS,
    constant_p,
    ratio_interval,
    ratio_p,
    unpaired_ratio_interval,
    unpaired_ratio_p,
)

__all__ = ["Effect", "paired_effect", "unpaired_effect"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What two sets of values say about each other."""

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
    """Compare two subjects by the blocks that both were measured in.

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
