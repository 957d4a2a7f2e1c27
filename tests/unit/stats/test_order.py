"""The distribution-free interval of a median."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import median_interval


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
