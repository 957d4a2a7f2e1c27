"""Percentiles, medians and their intervals."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import median, median_interval, percentile

DURATIONS = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def test_every_percentile_of_one_value_is_that_value() -> None:
    assert [percentile(np.array([7]), rank) for rank in (1, 50, 99, 100)] == [7, 7, 7, 7]


def test_percentiles_of_a_hundred_values_are_their_ranks() -> None:
    assert [percentile(np.arange(1, 101), rank) for rank in (50, 99, 100)] == [50, 99, 100]


@given(DURATIONS, st.floats(0.1, 100))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(durations: list[int], rank: float) -> None:
    ordered = np.sort(np.array(durations, dtype=np.int64))
    value = percentile(ordered, rank)
    assert value in durations
    slack = 1e-9 * 100
    assert 100 * sum(d <= value for d in durations) / len(durations) >= rank - slack
    assert 100 * sum(d < value for d in durations) / len(durations) < rank + slack


@pytest.mark.parametrize("rank", [0, -1, 100.1])
def test_a_rank_that_is_no_percentage_is_refused(rank: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(np.array([1], dtype=np.int64), rank)


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        percentile(np.array([], dtype=np.int64), 50)


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([None], None), ([3], 3.0), ([1, 9, 2], 2.0), ([1, None, 2], 1.5)]
)
def test_median(values: list[float | None], expected: float | None) -> None:
    assert median(values) == expected


def test_the_smallest_rank_is_the_smallest_value() -> None:
    assert percentile(np.array([1, 2, 3]), 1e-12) == 1


# Hahn and Meeker (1991), table A.16 gives places and levels; here they follow from the binomial distribution by hand.
@pytest.mark.parametrize(
    ("count", "place", "level"),
    [
        (2, 1, 0.5),
        (3, 1, 0.75),
        (4, 1, 0.875),
        (5, 1, 0.9375),
        (6, 1, 0.96875),
        (7, 1, 0.984375),
        (8, 1, 0.9921875),
        (9, 2, 1 - 20 / 512),
        (10, 2, 1 - 22 / 1024),
        (20, 6, 1 - 2 * sum(math.comb(20, below) for below in range(6)) / 2**20),
    ],
)
def test_places_and_attained_levels(count: int, place: int, level: float) -> None:
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))
    interval = median_interval(values)
    assert interval is not None
    assert (interval.low, interval.high) == (place, count + 1 - place)
    assert interval.level == pytest.approx(level, rel=1e-12)
    assert interval.estimate == (count + 1) / 2


def test_the_attained_level_is_that_of_all_orders_of_above_and_below() -> None:
    for count in (5, 9):
        interval = median_interval(np.arange(1.0, count + 1))
        assert interval is not None
        # The k-th smallest lies above the median when fewer than k values lie below it; likewise from the other end.
        below = [sum(signs) for signs in product((0, 1), repeat=count)]
        covered = sum(interval.low <= number and number < interval.high for number in below)
        assert covered / 2**count == interval.level


def test_other_levels() -> None:
    values = np.arange(10.0)
    narrow, wide = median_interval(values, level=0.5), median_interval(values, level=0.9999)
    assert narrow is not None
    assert wide is not None
    assert (narrow.low, narrow.high) == (3, 6)
    assert (wide.low, wide.high, wide.level) == (0, 9, 1 - 2 / 1024)


def test_fewer_than_two_values_have_none() -> None:
    assert median_interval(np.array([])) is None
    assert median_interval(np.array([3.0])) is None


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=200).map(np.array), st.floats(0.01, 0.999))
def test_any_values(values: np.ndarray, level: float) -> None:
    interval = median_interval(values, level=level)
    assert interval is not None
    assert interval.low <= np.median(values) <= interval.high
    assert interval.level >= level or (interval.low, interval.high) == (values.min(), values.max())
