"""Histograms that merge: nothing is lost but the last three digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from httpdyno.stats import Histogram, percentile
from httpdyno.stats.histogram import RELATIVE_ERROR

LARGEST = 2**63 - 1
# Small numbers, powers of two with their neighbours, and anything: bins begin and end at the first two.
value = st.one_of(
    st.integers(0, 4096),
    st.builds(lambda power, step: min(max(2**power + step, 0), LARGEST), st.integers(0, 63), st.integers(-2, 2)),
    st.integers(0, LARGEST),
)
values = st.integers(0, 24).flatmap(lambda count: arrays(np.int64, count, elements=value))


@given(st.lists(values, max_size=5))
def test_merging_is_counting_all(parts: list[np.ndarray]) -> None:
    merged = Histogram.merge(Histogram.of(part) for part in parts)
    assert merged == Histogram.of(np.concatenate([np.array([], dtype=np.int64), *parts]))
    assert merged.total == sum(map(len, parts))


@given(values, values)
def test_plus_is_merge_in_any_order(first: np.ndarray, second: np.ndarray) -> None:
    one, other = Histogram.of(first), Histogram.of(second)
    assert one + other == other + one == Histogram.merge([one, other])
    assert (one != other) or sorted(first) == sorted(second) or len(first) == len(second)


@given(values.filter(len), st.floats(0, 100, exclude_min=True))
def test_percentiles_are_within_the_stated_error_and_never_too_low(counted: np.ndarray, rank: float) -> None:
    exact, told = percentile(np.sort(counted), rank), Histogram.of(counted).percentile(rank)
    assert exact <= told <= exact + int(exact * RELATIVE_ERROR)


@given(values.filter(len))
def test_every_value_lies_in_its_bin(counted: np.ndarray) -> None:
    histogram = Histogram.of(counted)
    lowest, highest = histogram.lowest_ns, histogram.highest_ns
    assert (lowest <= highest).all()
    assert (highest[:-1] < lowest[1:]).all()
    inside = [int(((counted >= low) & (counted <= high)).sum()) for low, high in zip(lowest, highest, strict=True)]
    assert inside == histogram.counts.tolist()
    assert (histogram.minimum_ns, histogram.maximum_ns) == (counted.min(), counted.max())
    assert histogram.percentile(100) == counted.max()


def test_small_values_are_exact() -> None:
    counted = np.arange(2048, dtype=np.int64)
    assert Histogram.of(counted).highest_ns.tolist() == counted.tolist()


def test_more_values_than_one_piece() -> None:
    counted = np.random.default_rng(3).lognormal(16, 2, 2_500_000).astype(np.int64)
    histogram = Histogram.of(counted)
    assert histogram.total == len(counted)
    assert len(histogram.bins) < 25_000
    halves = Histogram.of(counted[:1_300_000]) + Histogram.of(counted[1_300_000:])
    assert halves == histogram


def test_nothing_counted() -> None:
    empty = Histogram.of(np.array([], dtype=np.int64))
    assert empty == Histogram.merge([])
    assert (empty.total, empty.minimum_ns, empty.maximum_ns) == (0, None, None)
    assert len(empty.highest_ns) == 0
    with pytest.raises(ValueError, match="at least one value"):
        empty.percentile(50)


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative: -5 ns"):
        Histogram.of(np.array([3, -5], dtype=np.int64))


def test_a_rank_beyond_all_values_is_refused() -> None:
    one = Histogram.of(np.array([7], dtype=np.int64))
    for rank in (0, 100.1, -1):
        with pytest.raises(ValueError, match="above 0 to 100"):
            one.percentile(rank)
    assert one != 7
