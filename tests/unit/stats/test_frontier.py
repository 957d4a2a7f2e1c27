import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from httpdyno.stats.frontier import (
    ColumnBoundary,
    FrontierCheck,
    FrontierSearch,
    FrontierStep,
    holding_chances,
    likelihood,
)

PLACES = np.linspace(math.log(1), math.log(1000), 101)
LOADS = st.integers(1, 1000)


def check(load: int, held: bool, error_chance: float = 0.0, *, column: int = 0) -> FrontierCheck:
    return FrontierCheck(FrontierStep(column, int(load)), held, error_chance)


def likely(*seen: FrontierCheck) -> np.ndarray:
    return likelihood(PLACES, seen)


def test_without_a_trial_every_place_is_as_likely() -> None:
    assert (likely() == np.ones((2, len(PLACES)))).all()


@given(LOADS)
def test_a_held_load_raises_the_boundary_and_a_failed_one_lowers_it(load: int) -> None:
    held, failed = likely(check(load, held=True)), likely(check(load, held=False))
    assert (np.diff(held, axis=1) >= 0).all()
    assert (np.diff(failed, axis=1) <= 0).all()
    assert held + failed == pytest.approx(1.0)


@given(LOADS, st.booleans())
def test_a_trial_with_maximal_doubt_changes_nothing(load: int, held: bool) -> None:
    assert likely(check(load, held, error_chance=0.5)) == pytest.approx(0.5)


@given(LOADS, st.booleans(), st.floats(0, 0.5))
def test_the_doubt_of_a_trial_limits_its_effect(load: int, held: bool, doubt: float) -> None:
    least = max(0.005, doubt)
    found = likely(check(load, held, doubt))
    assert (found >= least - 1e-12).all()
    assert (found <= 1 - least + 1e-12).all()


def test_one_lapse_does_not_move_the_boundary() -> None:
    seen = [check(load, load < 500) for load in (100, 200, 300, 400, 450, 600, 550)]
    places = likely(*seen, check(50, held=False)).sum(axis=0)
    assert 450 < math.exp(PLACES[int(np.argmax(places))]) < 600


def test_at_the_boundary_half_of_the_trials_hold() -> None:
    chances = holding_chances(np.array([math.log(70)]), 70)
    assert chances.shape == (2, 1)
    assert chances == pytest.approx(0.5)


pytestmark = pytest.mark.slow

KIB: Final = 1024
HEAD: Final = 256
"""Even an answer without content has its fields."""
SIZES_11: Final = tuple((HEAD + step * 50 * KIB) for step in range(11))
SIZES_20: Final = tuple((HEAD + step * 25 * KIB) for step in range(20))
Answer = Callable[[FrontierStep], FrontierCheck]


def search(search: FrontierSearch, answer: Answer) -> list[FrontierCheck]:
    seen: list[FrontierCheck] = []
    while (step := search.next(seen)) is not None:
        seen.append(answer(step))
        assert len(seen) <= search.budget
    return seen


def exact(truth: Sequence[float]) -> Answer:
    return lambda step: FrontierCheck(step, step.load <= truth[step.column])


def of_grid(loads: Sequence[int], truth: Sequence[float]) -> list[int | None]:
    """The result of the full grid: the highest load of each column that holds."""
    return [max((load for load in loads if load <= highest), default=None) for highest in truth]


def held(boundaries: Sequence[ColumnBoundary]) -> list[int | None]:
    return [boundary.held for boundary in boundaries]


def bandwidth_then_cpu(random: np.random.Generator, loads: Sequence[float], columns: int) -> list[float]:
    """Size in proportion to the rate of the link; for every other subject up to where its CPU ends it."""
    somewhere = math.exp(random.uniform(math.log(loads[1]), math.log(loads[-1])))
    highest = math.exp(random.uniform(math.log(loads[1]), math.log(loads[-1]))) if random.random() < 0.5 else math.inf
    return [min(somewhere * rate / (columns // 2), highest) for rate in range(columns, 0, -1)]


@pytest.mark.parametrize(("loads", "columns"), [(SIZES_11, 10), (SIZES_20, 10)])
def test_it_finds_what_the_grid_finds_in_a_fifth_of_the_trials(loads: tuple[int, ...], columns: int) -> None:
    trials = []
    for seed in range(40):
        truth = bandwidth_then_cpu(np.random.default_rng(seed), loads, columns)
        frontier = FrontierSearch(loads, columns, budget=len(loads) * columns * 2 // 5)

        seen = search(frontier, exact(truth))

        boundaries = frontier.conclude(seen)
        assert held(boundaries) == of_grid(loads, truth)
        assert not any(boundary.doubtful for boundary in boundaries)
        trials.append(len(seen))
    assert 5 * np.mean(trials) <= len(loads) * columns
    assert 4.5 * max(trials) <= len(loads) * columns


@given(st.data(), st.integers(1, 12), st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_without_noise_any_staircase_is_found_by_a_walk_along_it(data: st.DataObject, loads: int, columns: int) -> None:
    sizes = tuple(2**index for index in range(loads))
    steps = sorted(data.draw(st.lists(st.integers(0, loads), min_size=columns, max_size=columns)), reverse=True)
    truth = [2.0**step * 0.7 for step in steps]
    frontier = FrontierSearch(sizes, columns, budget=1000)

    seen = search(frontier, exact(truth))

    boundaries = frontier.conclude(seen)
    assert held(boundaries) == of_grid(sizes, truth)
    assert not any(boundary.doubtful for boundary in boundaries)
    assert not frontier.contradictions(seen)
    walked = {one.step for one in seen}
    assert len(walked) <= 1.3 * (loads + columns) + 4


def test_many_loads_are_strode_over() -> None:
    sizes = tuple(round(1000 * 1.1**index) for index in range(60))
    for highest in (900.0, 5000.0, 40_000.0, 1e9):
        frontier = FrontierSearch(sizes, 5, budget=1000)

        seen = search(frontier, exact([highest] * 5))

        assert held(frontier.conclude(seen)) == of_grid(sizes, [highest] * 5)
        assert len(seen) <= 30


def noisy(random: np.random.Generator, truth: Sequence[float], *, width: float, lapse: float, margin: bool) -> Answer:
    """Trials near the boundary vary; now and then one lapses; a margin shows the distance to the boundary."""

    def answer(step: FrontierStep) -> FrontierCheck:
        distance = math.log(truth[step.column] / step.load) + random.normal(0, width)
        doubt = float(ndtr(-abs(distance) / width)) if margin else 0.0
        return FrontierCheck(step, bool((distance > 0) != (random.random() < lapse)), doubt)

    return answer


@pytest.mark.parametrize(
    ("margin", "lapse", "budget", "least"), [(True, 0.005, 44, 0.94), (False, 0.01, 44, 0.9), (True, 0.005, 22, 0.85)]
)
def test_intervals_cover_noisy_boundaries_as_often_as_they_say(
    lapse: float, budget: int, least: float, *, margin: bool
) -> None:
    covered, right, trials = [], [], []
    for seed in range(60):
        random = np.random.default_rng(seed)
        truth = bandwidth_then_cpu(random, SIZES_11, 10)
        frontier = FrontierSearch(SIZES_11, 10, budget)
        seen = search(frontier, noisy(random, truth, width=0.02, lapse=lapse, margin=margin))
        boundaries = frontier.conclude(seen)
        trials.append(len(seen))
        right += [one == two for one, two in zip(held(boundaries), of_grid(SIZES_11, truth), strict=True)]
        covered += [
            (boundary.holds_up_to or 0) <= highest <= (boundary.fails_from or math.inf)
            for boundary, highest in zip(boundaries, truth, strict=True)
        ]

    assert np.mean(covered) >= 0.9, "they are of 90 %"
    assert np.mean(right) >= least
    # A grid that is right as often as the larger budget takes three trials of each point.
    assert np.mean(trials) <= 3 * 110 / 10


def test_what_is_in_doubt_is_tried_again_and_what_is_not_is_not() -> None:
    truth = [300.0, 300.0]
    frontier = FrontierSearch((100, 200, 400), 2, budget=30)

    clear = search(frontier, exact(truth))
    doubtful = search(frontier, lambda step: FrontierCheck(step, step.load <= 300, 0.3 if step.load == 400 else 0.0))

    assert len({one.step for one in clear}) == len(clear)
    again = [one for one in doubtful if one.step.load == 400]
    assert len(again) > 2
    assert held(frontier.conclude(doubtful)) == [200.0, 200.0]


def test_a_load_that_goes_either_way_stays_in_doubt() -> None:
    turns = iter([True, False] * 50)
    frontier = FrontierSearch((100, 200, 400), 1, budget=40)

    def answer(step: FrontierStep) -> FrontierCheck:
        return FrontierCheck(step, next(turns), 0.4) if step.load == 200 else FrontierCheck(step, step.load < 200)

    (boundary,) = frontier.conclude(search(frontier, answer))

    assert boundary.doubtful
    assert (boundary.holds_up_to, boundary.fails_from) == (100.0, 400.0)


@pytest.mark.parametrize("lapse", [check(SIZES_11[1], held=False), check(SIZES_11[9], held=True)])
@pytest.mark.parametrize("column", [0, 2, 3])
def test_a_lapse_that_contradicts_other_trials_is_tried_again_and_moves_nothing(
    column: int, lapse: FrontierCheck
) -> None:
    truth = [SIZES_11[6], SIZES_11[5], SIZES_11[5], SIZES_11[3]]
    frontier = FrontierSearch(SIZES_11, 4, budget=60)
    seen = [*search(frontier, exact(truth)), replace(lapse, step=replace(lapse.step, column=column))]
    trials = len(seen)

    while (step := frontier.next(seen)) is not None:
        seen.append(exact(truth)(step))

    assert trials < len(seen) <= trials + 8
    assert held(frontier.conclude(seen)) == of_grid(SIZES_11, truth)
    assert not frontier.contradictions(seen)


def test_a_subject_that_falls_where_it_should_rise_is_noticed_and_reported() -> None:
    """At most concurrencies more is easier; beyond the fifth this one breaks down."""
    truth = [SIZES_11[2], SIZES_11[3], SIZES_11[8], SIZES_11[6], SIZES_11[4], SIZES_11[1]]
    frontier = FrontierSearch(SIZES_11, 6, budget=60, trusted=False)

    seen = search(frontier, exact(truth))

    found = frontier.contradictions(seen)
    assert found
    assert all(truth[one.failed.column] < one.failed.load <= one.held.load <= truth[one.held.column] for one in found)
    assert all(one.failed.column < one.held.column for one in found)
    assert held(frontier.conclude(seen)) == of_grid(SIZES_11, truth)


def test_where_the_order_is_not_trusted_each_column_has_trials_of_its_own() -> None:
    truth = [SIZES_11[5]] * 6
    trusted, doubted = (FrontierSearch(SIZES_11, 6, budget=60, trusted=trusted) for trusted in (True, False))

    few, more = search(trusted, exact(truth)), search(doubted, exact(truth))

    assert held(doubted.conclude(more)) == held(trusted.conclude(few)) == of_grid(SIZES_11, truth)
    assert len(more) > len(few)
    assert {one.step.column for one in more} == set(range(6))


def test_of_nothing_nothing_is_sure() -> None:
    boundaries = FrontierSearch((1, 2), 3, budget=5).conclude([])

    assert [(one.holds_up_to, one.fails_from) for one in boundaries] == [(None, None)] * 3


def test_the_next_trial_follows_from_those_before_it_and_nothing_else() -> None:
    truth = bandwidth_then_cpu(np.random.default_rng(3), SIZES_11, 10)
    seen = search(FrontierSearch(SIZES_11, 10, budget=60), exact(truth))

    again = FrontierSearch(SIZES_11, 10, budget=60)

    assert [again.next(seen[:number]) for number in range(len(seen))] == [one.step for one in seen]
