"""Summaries of durations, and medians over trials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import median, percentile, summarise_durations
from httpdyno.stats.summary import DurationSummary

DURATIONS = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def test_nothing_measured_has_no_summary() -> None:
    assert summarise_durations(np.array([], dtype=np.int64)) is None


def test_one_duration_is_all_of_its_summary() -> None:
    assert summarise_durations(np.array([7], dtype=np.int64)) == DurationSummary(1, 7.0, 7, 7, 7)


def test_a_hundred_durations() -> None:
    summary = summarise_durations(np.arange(100, 0, -1, dtype=np.int64))
    assert summary == DurationSummary(100, 50.5, 100, 50, 99)


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


@given(DURATIONS)
def test_summaries_do_not_depend_on_the_order(durations: list[int]) -> None:
    forwards = summarise_durations(np.array(durations, dtype=np.int64))
    assert forwards == summarise_durations(np.array(durations[::-1], dtype=np.int64))


def test_the_smallest_rank_is_the_smallest_value() -> None:
    assert percentile(np.array([1, 2, 3]), 1e-12) == 1
