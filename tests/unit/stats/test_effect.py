"""What two sets of values say about each other, with the values that have no logarithm."""

import numpy as np
import pytest

from httpdyno.stats import Effect, FloatArray, paired_effect, unpaired_effect
from httpdyno.stats.ratio import constant_p

FAST = np.array([110.0, 121.0, 108.0, 112.0, 119.0])
SLOW = np.array([100.0, 110.0, 98.0, 101.0, 109.0])
ZERO = np.zeros(5)
SOMETIMES = np.array([0.0, 110.0, 98.0, 101.0, 109.0])
BOTH = pytest.mark.parametrize("effect", [paired_effect, unpaired_effect])


def test_pairs_see_through_what_blocks_share() -> None:
    paired, unpaired = paired_effect(FAST, SLOW), unpaired_effect(FAST, SLOW)
    assert paired.ratio is not None
    assert unpaired.ratio is not None
    assert paired.ratio.estimate == pytest.approx(unpaired.ratio.estimate)
    assert paired.ratio.high - paired.ratio.low < (unpaired.ratio.high - unpaired.ratio.low) / 4
    assert paired.p is not None
    assert paired.p < 1e-3
    assert (paired.sign, paired_effect(SLOW, FAST).sign) == (1, -1)


@BOTH
@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_values_say_nothing(effect: type[paired_effect], count: int) -> None:
    assert effect(FAST[:count], SLOW[:count]) == Effect(None, None, 0)


@BOTH
def test_zero_in_every_block_of_one_is_a_direction_without_a_ratio(effect: type[paired_effect]) -> None:
    assert effect(FAST, ZERO) == Effect(None, constant_p(5, 5), 1)
    assert effect(ZERO, FAST) == Effect(None, constant_p(5, 5), -1)


@BOTH
def test_zero_in_every_block_of_both_is_a_tie(effect: type[paired_effect]) -> None:
    assert effect(ZERO, ZERO) == Effect(None, 1.0, 0)


@BOTH
@pytest.mark.parametrize(
    ("first", "second"),
    [(SOMETIMES, FAST), (FAST, SOMETIMES), (SOMETIMES, ZERO), (SOMETIMES, SOMETIMES), (-FAST, ZERO)],
)
def test_zero_in_some_blocks_says_nothing(effect: type[paired_effect], first: FloatArray, second: FloatArray) -> None:
    assert effect(first, second) == Effect(None, None, 0)


@BOTH
def test_the_same_values_are_a_tie(effect: type[paired_effect]) -> None:
    constant = np.full(5, 7.0)
    same = effect(constant, constant)
    assert same.ratio is not None
    assert (same.ratio.low, same.ratio.high, same.p, same.sign) == (1, 1, 1, 0)
