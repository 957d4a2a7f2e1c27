"""Comparisons made together: all pairs of subjects, and Holm's correction."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from httpdyno.stats.ratio import FEWEST_BLOCKS
from httpdyno.stats.summary import FloatArray, Int64Array, two_sided_p

_FEWEST_SUBJECTS: Final = 5
"""With fewer subjects the others do not give the level of a block well; the pair's own test is more sensitive."""
_CAUTION: Final = 0.15
"""Share of a pair's degrees of freedom beyond those of one subject that is left out.

Welch's estimate is slightly too large with two degrees for each variance and one spread ten times the other. Without
this, 5.3 % of runs of three blocks have a false alarm, with five subjects of which three are equal and two of these
scatter so.
"""
_NO_SPREAD: Final = 1e-24
"""Variance of logarithms of equal values, because of rounding."""
_SWEEPS: Final = 8
"""Alternations between the means of subjects and the medians of blocks; only missing trials need more than one."""


def compare_all_pairs(logs: FloatArray, own_p: FloatArray) -> FloatArray:
    """Adjust the p values of all pairs of the subjects of one condition.

    If pairs with an adjusted p of at most 5 % are called different, at most 5 % of all runs call an equal pair so.
    No adjusted p is below the pair's own p, so that the interval of each pair that is called different excludes 1.

    Parameters
    ----------
    logs : shape (..., k, n)
        Logarithms of the values of k subjects in n blocks; NaN where a trial is missing. A subject with a value of 0
        has NaN in every block.
    own_p : shape (..., k (k - 1) / 2)
        Paired p value of each pair (``paired_effect``) in the order of ``itertools.combinations``; NaN where the pair
        cannot be tested.

    Returns
    -------
    FloatArray
        Shape of ``own_p``, at most 1; NaN where ``own_p`` is. Empty for fewer than two subjects.
    """
    if own_p.size == 0:
        return own_p.copy()
    families = all_pairs_p(logs, own_p).reshape(-1, own_p.shape[-1])
    known = np.where(np.isfinite(logs), logs, np.nan)
    means = _mean(known - _block_levels(known))
    # Subjects without values are last.
    ordered = np.argsort(np.where(np.isfinite(known).any(axis=-1), means, np.inf), axis=-1, kind="stable")
    orders = ordered.reshape(-1, logs.shape[-2])
    adjusted = [adjust_all_pairs(family, order) for family, order in zip(families, orders, strict=True)]
    return np.maximum(np.reshape(adjusted, own_p.shape), own_p)


def all_pairs_p(logs: FloatArray, own_p: FloatArray) -> FloatArray:
    """Test each pair with the spreads of its two subjects, estimated from the whole run.

    The median of all other subjects measures the level of a block. A subject's values without these levels give its
    variance, with n - 1 degrees of freedom. A pair has the degrees of both (Welch, slightly reduced), up to 1.85 times
    as many as its n differences. If the variance of these differences is larger, it is used instead: some subjects may
    react to a block differently.

    The pair's own p is kept with fewer than five subjects, and where one of its spreads is zero.

    Parameters
    ----------
    logs, own_p
        As ``compare_all_pairs`` takes them.

    Returns
    -------
    FloatArray
        Shape of ``own_p``: two-sided, not adjusted; NaN where ``own_p`` is.

    References
    ----------
    Welch, The generalization of "Student's" problem when several different population variances are involved,
    Biometrika 34 (1947). Games and Howell, Pairwise multiple comparison procedures with unequal n's and/or variances,
    Journal of Educational Statistics 1 (1976). Tukey, Exploratory Data Analysis (1977), chapter 11: median polish.
    """
    known = np.isfinite(logs)
    enough = known.sum(axis=-1) >= FEWEST_BLOCKS
    usable = np.where(known & enough[..., None], logs, np.nan)
    variances, freedoms = _subject_variances(usable)
    first, second = np.triu_indices(logs.shape[-2], 1)

    differences = usable[..., first, :] - usable[..., second, :]
    blocks = np.isfinite(differences).sum(axis=-1)
    means = _mean(differences)
    own_variances = np.nansum((differences - means[..., None]) ** 2, axis=-1) / np.maximum(blocks - 1, 1)
    one, other = variances[..., first], variances[..., second]
    variance = np.maximum(one + other, own_variances)

    testable = (enough.sum(axis=-1) >= _FEWEST_SUBJECTS)[..., None] & (blocks >= FEWEST_BLOCKS)
    testable &= (np.minimum(one, other) > _NO_SPREAD) & (own_variances > _NO_SPREAD)

    parts = one**2 / np.maximum(freedoms[..., first], 1) + other**2 / np.maximum(freedoms[..., second], 1)
    freedom = np.where(testable, (one + other) ** 2, 1.0) / np.where(testable, parts, 1.0)
    fewest = np.minimum(freedoms[..., first], freedoms[..., second])
    freedom -= _CAUTION * np.maximum(freedom - fewest, 0.0)
    error = np.sqrt(np.where(testable, variance, 1.0) / np.maximum(blocks, 1))
    tested = two_sided_p(np.where(testable, means, 0.0) / error, freedom)
    return np.where(testable & ~np.isnan(own_p), tested, own_p)


def adjust_all_pairs(p_values: FloatArray, order: Int64Array) -> FloatArray:
    """Adjust the p values of all pairs for their number, as Holm does, with the pairs that can still be equal together.

    Equality is transitive: with A and C different, A = B and B = C cannot both hold. So the smallest p that is left is
    multiplied by the number of pairs that can all be equal at once, which is never more than the number of pairs left.
    That number is bounded by the most pairs that disjoint groups of neighbours in the given order can have, where a
    group of neighbours is possible unless all pairs that reach as far are different. The bound holds for any order; it
    is closest for that of the means.

    Parameters
    ----------
    p_values : shape (k (k - 1) / 2,)
        One family, in the order of ``itertools.combinations``, k at least 2. NaN is not a part of it.
    order : shape (k,)
        The numbers of the subjects, from one end to the other.

    Returns
    -------
    FloatArray
        Shape of ``p_values``: never above Holm's adjusted values.

    References
    ----------
    Shaffer, Modified sequentially rejective multiple test procedures, Journal of the American Statistical Association
    81 (1986), procedure S2.
    """
    count = len(order)
    places = np.argsort(order)[np.stack(np.triu_indices(count, 1))]
    low, high = places.min(axis=0).tolist(), places.max(axis=0).tolist()
    undecided = np.ones((count, count), dtype=np.bool_).tolist()
    farthest = [count - 1] * count
    together = count * (count - 1) // 2

    adjusted = np.where(np.isnan(p_values), np.nan, 1.0)
    left, largest = int(np.count_nonzero(~np.isnan(p_values))), 0.0
    for pair in np.argsort(p_values, kind="stable")[:left].tolist():
        largest = max(largest, float(p_values[pair]) * min(together, left))
        if largest >= 1:
            break
        adjusted[pair] = largest
        left -= 1
        first, last = low[pair], high[pair]
        undecided[first][last] = False
        if farthest[first] == last:
            while not undecided[first][farthest[first]]:  # a place and itself are never decided
                farthest[first] -= 1
            together = _most_equal_pairs(farthest)
    return adjusted


def _most_equal_pairs(farthest: Sequence[int]) -> int:
    """Return the most pairs that disjoint groups of neighbours can have.

    A group cannot reach beyond the farthest place of its first subject, or of any subject before it. The best division
    into groups is found from the first place to the last.
    """
    reach = list(accumulate(farthest, max))
    most, start = [0], 0
    for last in range(len(reach)):
        while reach[start] < last:
            start += 1
        most.append(max(most[first] + (last + 1 - first) * (last - first) // 2 for first in range(start, last + 1)))
    return most[-1]


def _subject_variances(logs: FloatArray) -> tuple[FloatArray, Int64Array]:
    """Return the variance of each subject after its blocks, and its degrees of freedom, each of shape (..., k)."""
    levels = _block_levels(logs)
    centred = logs - _mean(logs - levels)[..., None]
    left = centred - _median_of_others(centred)
    freedoms = np.isfinite(left).sum(axis=-1) - 1
    squares = np.nansum((left - _mean(left)[..., None]) ** 2, axis=-1)
    return squares / np.maximum(freedoms, 1), freedoms


def _block_levels(logs: FloatArray) -> FloatArray:
    """Return the common level of each block, shape (..., 1, n), by median polish."""
    levels = np.zeros_like(logs[..., :1, :])
    for _ in range(_SWEEPS if np.isnan(logs).any() else 1):
        centred = np.sort(logs - _mean(logs - levels)[..., None], axis=-2)
        count = np.isfinite(centred).sum(axis=-2, keepdims=True)
        levels = _middle(centred, np.maximum(count - 1, 0) // 2, np.minimum(count // 2, np.maximum(count - 1, 0)))
        levels = np.where(count > 0, levels, 0.0)
    return np.asarray(levels, dtype=np.float64)


def _median_of_others(values: FloatArray) -> FloatArray:
    """Return the median over all other subjects of the same block, shape (..., k, n); NaN where there are none."""
    last = values.shape[-2] - 1
    others = np.isfinite(values).sum(axis=-2, keepdims=True) - 1
    ranks = np.argsort(np.argsort(values, axis=-2), axis=-2)
    low, high = np.maximum(others - 1, 0) // 2, np.maximum(others, 0) // 2
    # The subject's own value is skipped: later ranks move up by one.
    low, high = low + (ranks <= low), high + (ranks <= high)
    median = _middle(np.sort(values, axis=-2), np.minimum(low, last), np.minimum(high, last))
    return np.asarray(np.where(others > 0, median, np.nan), dtype=np.float64)


def _middle(ordered: FloatArray, low: Int64Array, high: Int64Array) -> FloatArray:
    middle = (np.take_along_axis(ordered, low, axis=-2) + np.take_along_axis(ordered, high, axis=-2)) / 2
    return np.asarray(middle, dtype=np.float64)


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the blocks that have a value; 0 without any."""
    return np.asarray(np.nansum(values, axis=-1) / np.maximum(np.isfinite(values).sum(axis=-1), 1), dtype=np.float64)


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Adjust the p values of comparisons that are made together.

    If pairs with an adjusted p of at most 5 % are called different, at most 5 % of all runs have a false difference,
    whichever pairs are equal and however their comparisons depend on each other.

    Parameters
    ----------
    p_values : shape (..., m)
        In any order; the last axis is one family, which may be empty.

    Returns
    -------
    FloatArray
        Shape (..., m), in the given order: never below the given values, at most 1.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    left = np.arange(values.shape[-1], 0, -1)
    stepped = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * left, axis=-1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
