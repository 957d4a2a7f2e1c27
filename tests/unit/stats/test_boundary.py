"""The search for the load at which a criterion breaks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.stats.boundary import Break, Check, DoublingSearch, holding_chances, likelihood

PLACES = np.linspace(math.log(1), math.log(1000), 101)
WIDTHS = (0.01, 0.1, 0.4)
loads = st.floats(1, 1000)


def likely(*seen: Check, lapse: float = 0.02) -> np.ndarray:
    return likelihood(PLACES, seen, widths=WIDTHS, lapse=lapse)


def test_without_a_trial_every_place_is_as_likely() -> None:
    assert (likely() == np.ones((len(WIDTHS), len(PLACES)))).all()


@given(loads)
def test_what_holds_speaks_for_a_boundary_above_and_what_does_not_for_one_below(load: float) -> None:
    held, failed = likely(Check(load, held=True)), likely(Check(load, held=False))
    assert (np.diff(held, axis=1) >= 0).all()
    assert (np.diff(failed, axis=1) <= 0).all()
    assert held + failed == pytest.approx(1.0)


@given(loads, st.booleans())
def test_a_trial_that_could_say_either_says_nothing(load: float, held: bool) -> None:
    assert likely(Check(load, held, error_chance=0.5)) == pytest.approx(0.5)


@given(loads, st.booleans(), st.floats(0, 0.5))
def test_no_trial_rules_out_more_than_its_doubt_and_a_lapse_allow(load: float, held: bool, doubt: float) -> None:
    least = max(0.02, doubt)
    found = likely(Check(load, held, doubt))
    assert (found >= least - 1e-12).all()
    assert (found <= 1 - least + 1e-12).all()


def test_one_lapse_does_not_move_the_boundary() -> None:
    seen = [Check(load, load < 500) for load in (100, 200, 300, 400, 450, 600, 550)]
    places = likely(*seen, Check(50, held=False)).sum(axis=0)
    assert 450 < math.exp(PLACES[int(np.argmax(places))]) < 600


def test_at_the_boundary_half_of_the_trials_hold() -> None:
    chances = holding_chances(np.array([math.log(70)]), 70, widths=WIDTHS)
    assert chances.shape == (3, 1)
    assert chances == pytest.approx(0.5)


@pytest.mark.parametrize(("load", "doubt"), [(0, 0), (-1, 0), (1, -0.1), (1, 0.6)])
def test_what_no_trial_can_show_is_refused(load: float, doubt: float) -> None:
    with pytest.raises(InvalidValue, match="chance of an error"):
        Check(load, held=True, error_chance=doubt)


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
