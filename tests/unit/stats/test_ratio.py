"""Ratios of two subjects and their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import TooFewBlocks
from httpdyno.stats import Effect, FloatArray, paired_effect, unpaired_effect
from httpdyno.stats.ratio import LogRatio, constant_p

# Box, Hunter and Hunter (2005), table 3.5: wear of two materials, one on each foot of ten boys.
SHOES = np.array([14.0, 8.8, 11.2, 14.2, 11.8, 6.4, 9.8, 11.3, 9.3, 13.6]) - np.array(
    [13.2, 8.2, 10.9, 14.3, 10.7, 6.6, 9.5, 10.8, 8.8, 13.3]
)
# Student, The probable error of a mean, Biometrika 6 (1908): hours of sleep gained with two drugs.
SLEEP_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

logs = st.lists(st.floats(-300, 300), min_size=3, max_size=9).map(np.array)


def test_the_shoes_of_box_hunter_and_hunter() -> None:
    interval = LogRatio.paired(SHOES).interval()
    bounds = [math.log(value) for value in (interval.low, interval.estimate, interval.high)]
    assert bounds == pytest.approx([0.133, 0.41, 0.687], abs=5e-4)
    assert float(LogRatio.paired(SHOES).p()) == pytest.approx(0.0085, abs=5e-5)


def test_the_sleep_of_student_paired_and_unpaired() -> None:
    assert float(LogRatio.paired(SLEEP_1 - SLEEP_2).p()) == pytest.approx(0.002833, abs=1e-6)
    assert float(LogRatio.unpaired(SLEEP_1, SLEEP_2).p()) == pytest.approx(0.07939, abs=1e-5)
    interval = LogRatio.unpaired(SLEEP_1, SLEEP_2).interval()
    assert (math.log(interval.low), math.log(interval.high)) == pytest.approx((-3.3654832, 0.2054832))
    assert interval.estimate == pytest.approx(math.exp(0.75 - 2.33))


def test_many_comparisons_at_once_are_those_one_by_one() -> None:
    many = np.random.default_rng(1).normal(0, 1, (4, 3, 5))
    one_by_one = [[float(LogRatio.paired(row).p()) for row in table] for table in many]
    assert LogRatio.paired(many).p() == pytest.approx(np.array(one_by_one), rel=1e-12)
    assert LogRatio.unpaired(many, many[::-1]).p()[0, 2] == pytest.approx(
        float(LogRatio.unpaired(many[0, 2], many[3, 2]).p())
    )


@pytest.mark.parametrize("few", [0, 1, 2])
def test_fewer_than_three_blocks_are_refused(few: int) -> None:
    values, enough = np.zeros(few), np.zeros(3)
    for ask in (
        lambda: LogRatio.paired(values).interval(),
        lambda: LogRatio.paired(values).p(),
        lambda: LogRatio.unpaired(values, enough).interval(),
        lambda: LogRatio.unpaired(enough, values).p(),
    ):
        with pytest.raises(TooFewBlocks, match=f"needs 3 blocks or more, not {few}"):
            ask()


def test_what_has_no_logarithm_is_refused() -> None:
    for bad in (-np.inf, np.nan):
        with pytest.raises(ValueError, match="not finite"):
            LogRatio.paired(np.array([0.1, 0.2, bad])).interval()


def test_equal_values_in_every_block_are_a_tie_without_doubt_of_any_size() -> None:
    interval = LogRatio.paired(np.zeros(5)).interval()
    assert (interval.low, interval.estimate, interval.high) == (1, 1, 1)
    assert float(LogRatio.paired(np.zeros(5)).p()) == 1
    assert float(LogRatio.unpaired(np.full(5, 0.3), np.full(4, 0.3)).p()) == 1


def test_the_same_difference_in_every_block_is_a_point_and_no_certainty() -> None:
    interval = LogRatio.paired(np.full(5, math.log(2))).interval()
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((2, 2, 2))
    assert float(LogRatio.paired(np.full(5, math.log(2))).p()) == pytest.approx(4 / 4**5)
    assert float(LogRatio.unpaired(np.full(5, 0.3), np.full(5, 0.1)).p()) == pytest.approx(2 / 4**5)
    one_varies = LogRatio.unpaired(np.array([0.1, 0.2, 0.3]), np.full(5, 0.2)).interval()
    assert one_varies.low < 1 < one_varies.high


def test_rounding_errors_make_no_difference() -> None:
    third = np.log(np.array([1.0, 10.0, 100.0]) / 3) - np.log(np.array([1.0, 10.0, 100.0]))
    assert len(set(third)) > 1
    interval = LogRatio.paired(third).interval()
    assert interval.low == interval.high == pytest.approx(1 / 3)
    assert float(LogRatio.paired(np.array([1e-16, 2e-16, 1e-16])).p()) == 1


def test_equals_rarely_show_two_constant_values() -> None:
    # The worst case by trial: every share of the one value.
    share = np.linspace(0, 1, 10_001)
    for first, second in ((3, 3), (5, 5), (3, 8)):
        assert constant_p(first, second) == pytest.approx(float((2 * share**first * (1 - share) ** second).max()))


@given(logs)
def test_any_interval_is_finite_and_turns_with_the_ratio(values: np.ndarray) -> None:
    interval, turned = LogRatio.paired(values).interval(), LogRatio.paired(-values).interval()
    assert 0 < interval.low <= interval.estimate <= interval.high < math.inf
    assert interval.low == pytest.approx(1 / turned.high, rel=1e-6)
    assert 0 <= float(LogRatio.paired(values).p()) <= 1
    assert float(LogRatio.paired(values).p()) == pytest.approx(float(LogRatio.paired(-values).p()))


@given(logs, logs, st.floats(-50, 50))
def test_a_factor_common_to_both_changes_nothing(first: np.ndarray, second: np.ndarray, shift: float) -> None:
    before, after = LogRatio.unpaired(first, second).p(), LogRatio.unpaired(first + shift, second + shift).p()
    assert float(before) == pytest.approx(float(after), rel=1e-3, abs=1e-9) or np.ptp(first) + np.ptp(second) < 1e-6


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
def test_fewer_than_three_values_give_no_result(effect: type[paired_effect], count: int) -> None:
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
def test_zeros_in_some_blocks_give_no_result(
    effect: type[paired_effect], first: FloatArray, second: FloatArray
) -> None:
    assert effect(first, second) == Effect(None, None, 0)


@BOTH
def test_the_same_values_are_a_tie(effect: type[paired_effect]) -> None:
    constant = np.full(5, 7.0)
    same = effect(constant, constant)
    assert same.ratio is not None
    assert (same.ratio.low, same.ratio.high, same.p, same.sign) == (1, 1, 1, 0)
