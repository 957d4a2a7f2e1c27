"""Quantiles that are exact: against sorting, and at the ranks where rounding bites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.judge.generator import Distribution
from httpdyno.judge.generator.distribution import distribution_of


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300), st.integers(0, 1000))
def test_a_quantile_is_the_time_of_its_rank(times: list[int], thousandths: int) -> None:
    rank = max(1, -(-thousandths * len(times) // 1000))
    assert distribution_of(times).quantile_ns(thousandths / 1000) == sorted(times)[rank - 1]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50), st.integers(0, 10**9))
def test_later_is_later_by_so_much(times: list[int], by_ns: int) -> None:
    moved, direct = distribution_of(times).later(by_ns), distribution_of(time + by_ns for time in times)
    assert (moved.times_ns, moved.counts) == (direct.times_ns, direct.counts)
    assert moved.mean_ns == pytest.approx(direct.mean_ns)


def test_shares_beyond_the_ends_are_the_ends() -> None:
    found = distribution_of([3, 1, 2])
    assert (found.quantile_ns(-0.5), found.quantile_ns(1.5), found.mean_ns, found.count) == (1, 3, 2.0, 3)


def test_what_is_no_distribution_is_refused() -> None:
    for times, counts in (((2, 1), (1, 2)), ((1, 2), (2, 1)), ((1,), ())):
        with pytest.raises(InvalidValue, match="a distribution"):
            Distribution(times, counts, 0.0)
    with pytest.raises(InvalidValue, match="no quantiles"):
        distribution_of([]).quantile_ns(0.5)
