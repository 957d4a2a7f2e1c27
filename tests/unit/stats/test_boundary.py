"""The search for the load at which a criterion breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.stats.boundary import Break, Check, DoublingSearch


def searched(search: DoublingSearch, breaks_at: float) -> tuple[Break, list[int]]:
    checks: list[Check] = []
    while (load := search.next(checks)) is not None:
        checks.append(Check(float(load), held=load < breaks_at))
    return search.conclude(checks), [round(check.load) for check in checks]


def test_it_doubles_and_then_halves_on_a_logarithmic_scale() -> None:
    found, tried = searched(DoublingSearch(20, 10_000), 300)
    assert tried == [20, 40, 80, 160, 320, 226, 269, 293]
    assert found == Break(293, 320)


def test_what_holds_all_is_tried_up_to_the_end() -> None:
    found, tried = searched(DoublingSearch(20, 100), 1e9)
    assert (found, tried) == (Break(100, None), [20, 40, 80, 100])


def test_what_fails_at_once_is_tried_once() -> None:
    assert searched(DoublingSearch(20, 10_000), 1) == (Break(None, 20), [20])
    assert searched(DoublingSearch(20, 20), 30) == (Break(20, None), [20])


@given(st.integers(1, 50), st.integers(0, 20_000), st.integers(1, 30_000), st.sampled_from([(2.0, 1.1), (4.0, 2.0)]))
def test_it_ends_around_what_it_looks_for(low: int, more: int, breaks_at: int, steps: tuple[float, float]) -> None:
    search = DoublingSearch(low, low + more, *steps)
    found, tried = searched(search, breaks_at)
    assert len(tried) == len(set(tried)) <= search.most
    if found.held is not None:
        assert found.held < breaks_at
    if found.failed is not None:
        assert found.failed >= breaks_at
    if found.held is not None and found.failed is not None:
        assert found.failed / found.held <= steps[1] or found.failed - found.held == 1


def test_the_last_trial_of_a_load_counts() -> None:
    checks = [Check(20.0, held=False), Check(20.0, held=True)]
    assert DoublingSearch(20, 80).conclude(checks) == Break(20, None)


@pytest.mark.parametrize(("low", "high", "factor"), [(0, 1, 2.0), (3, 2, 2.0), (1, 2, 1.0)])
def test_a_range_without_loads_is_refused(low: int, high: int, factor: float) -> None:
    with pytest.raises(InvalidValue, match="cannot be searched"):
        DoublingSearch(low, high, factor)
