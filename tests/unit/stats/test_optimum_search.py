"""The search for the load with the highest throughput."""

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpdyno.stats.optimum_search import (
    ConcaveCurve,
    Observation,
    OptimumSearch,
    Point,
    Reason,
    Standing,
    Step,
    faults_raised,
    fit_concave,
    summarise_loads,
)

pytestmark = pytest.mark.slow


def equally_weighted(x: np.ndarray, y: np.ndarray) -> ConcaveCurve:
    return fit_concave(x, y, np.ones(len(x)))


def test_what_is_concave_already_is_left_alone() -> None:
    x = np.log([1.0, 4, 16, 64, 256])
    y = np.log([1.0, 4, 16, 50, 50])

    curve = fit_concave(x, y, np.ones(len(x)))

    assert curve.y == pytest.approx(y)
    assert curve.residual == pytest.approx(0)
    assert curve.at(x[1]) == pytest.approx(y[1])


def test_a_dip_is_drawn_straight() -> None:
    curve = equally_weighted(np.array([0.0, 1.0, 2.0]), np.array([0.0, -3.0, 0.0]))

    assert curve.y == pytest.approx([-1.0, -1.0, -1.0])
    assert curve.pieces == 1


def test_the_first_piece_is_no_steeper_than_it_may_be() -> None:
    curve = equally_weighted(np.array([0.0, 1.0]), np.array([0.0, 3.0]))

    assert np.diff(curve.y) == pytest.approx([1.0])
    assert curve.y.mean() == pytest.approx(1.5)


@pytest.mark.parametrize(("x", "height"), [(-1.0, 2.0), (0.0, 2.0), (9.0, 2.0)])
def test_one_value_is_a_level(x: float, height: float) -> None:
    curve = equally_weighted(np.array([0.0]), np.array([2.0]))

    assert curve.at(x) == height
    assert curve.pieces == 0


def test_a_value_of_more_weight_draws_the_curve_to_it() -> None:
    x, y = np.array([0.0, 0.0]), np.array([0.0, 1.0])

    assert fit_concave(x, y, np.array([1.0, 3.0])).at(0.0) == pytest.approx(0.75)


@given(st.lists(st.tuples(st.integers(0, 8), st.floats(-3, 3)), min_size=1, max_size=12))
def test_no_piece_is_steeper_than_the_one_before(points: list[tuple[int, float]]) -> None:
    x, y = (np.array(values, dtype=np.float64) for values in zip(*points, strict=True))

    curve = fit_concave(x, y, np.ones(len(x)))

    slopes = np.diff(curve.y) / np.diff(curve.x)
    assert (np.diff(slopes) <= 1e-6).all()
    assert (slopes <= 1 + 1e-6).all()
    assert curve.residual <= float(np.sum((y - y.mean()) ** 2)) + 1e-6, "a level curve is concave, too"


Curve = Callable[[int], float]

SUBJECTS: Final[Mapping[str, Curve]] = {
    "linear, then flat from 12": lambda n: min(n, 12),
    "linear, then flat from 100": lambda n: min(n, 100),
    "linear, then flat from 700": lambda n: min(n, 700),
    "peak at 14": lambda n: n / (1 + 0.01 * (n - 1) + 5e-3 * n * (n - 1)),
    "peak at 99": lambda n: n / (1 + 0.02 * (n - 1) + 1e-4 * n * (n - 1)),
    "sharp peak at 224": lambda n: n / (1 + 2e-5 * n * (n - 1)),
    "contention without a peak": lambda n: n / (1 + 0.03 * (n - 1)),
    "rising for ever": lambda n: n,
    "rising as the root": lambda n: math.sqrt(n),
    "flat": lambda _: 1.0,
    "falling from the first": lambda n: 1 / (1 + 0.01 * n),
}
RUNS: Final = 20
EFFORTS: Final = [(0.02, 0.06), (0.05, 0.10), (0.10, 0.22)]
"""The noise of a measurement, and the permitted shortfall from the optimum."""
STARTS: Final = [10, 75, 300]


def chosen_load(points: tuple[Point, ...]) -> int | None:
    return next((point.load for point in points if point.standing is Standing.CHOSEN), None)


def simulate(
    search: OptimumSearch, curve: Curve, *, noise: float, seed: int, works_up_to: int = 2000
) -> tuple[tuple[Point, ...], list[Observation]]:
    random = np.random.default_rng(seed)
    seen: list[Observation] = []
    while (step := search.next(seen)) is not None:
        faults = int(random.binomial(3000, 0.0005 if step.load <= works_up_to else 0.03))
        value = curve(step.load) * math.exp(random.normal(0, noise))
        seen.append(Observation(step.load, value, 3000, faults))
        assert len(seen) <= search.budget
    return summarise_loads(seen), seen


def optimum(curve: Curve, search: OptimumSearch, *, works_up_to: int = 2000) -> float:
    return max(curve(n) for n in range(1, min(search.high, works_up_to) + 1))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("noise", "loss"), EFFORTS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_the_optimum_is_found_in_nearly_every_run(name: str, noise: float, loss: float, start: int) -> None:
    search, curve = OptimumSearch(start), SUBJECTS[name]
    best = optimum(curve, search)

    found = [chosen_load(simulate(search, curve, noise=noise, seed=seed)[0]) for seed in range(RUNS)]

    good = sum(chosen is not None and curve(chosen) >= best * (1 - loss) for chosen in found)
    assert good >= 0.95 * RUNS


@pytest.mark.measured
@pytest.mark.parametrize(("noise", "loss"), EFFORTS)
def test_the_optimum_is_found_with_new_noise(noise: float, loss: float) -> None:
    first = int(np.random.SeedSequence().generate_state(1)[0])
    good = [
        (chosen := chosen_load(simulate(search, curve, noise=noise, seed=first + run)[0])) is not None
        and curve(chosen) >= optimum(curve, search) * (1 - loss)
        for curve in SUBJECTS.values()
        for search in map(OptimumSearch, STARTS)
        for run in range(10)
    ]

    assert np.mean(good) >= 0.95, f"with seeds from {first}"


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("noise", "loss"), [(0.02, 0.15), (0.10, 0.25)])
@pytest.mark.parametrize("name", ["rising for ever", "peak at 99", "linear, then flat from 12", "flat"])
def test_a_load_that_raises_faults_is_never_chosen(name: str, noise: float, loss: float, start: int) -> None:
    search, curve = OptimumSearch(start), SUBJECTS[name]
    best = optimum(curve, search, works_up_to=120)

    found = [chosen_load(simulate(search, curve, noise=noise, seed=seed, works_up_to=120)[0]) for seed in range(RUNS)]

    assert all(chosen is not None and chosen <= 120 for chosen in found)
    good = sum(curve(chosen) >= best * (1 - loss) for chosen in found if chosen is not None)
    assert good >= 0.95 * RUNS


@pytest.mark.parametrize("start", [1, 10, 75, 300, 1024])
def test_where_everything_is_the_same_the_smallest_is_chosen(start: int) -> None:
    conclusion, seen = simulate(OptimumSearch(start), lambda _: 50.0, noise=0.0, seed=0)

    assert chosen_load(conclusion) == min(one.load for one in seen) == 1
    assert {point.standing for point in conclusion} <= {Standing.CHOSEN, Standing.TIE}


def test_the_start_itself_is_tried() -> None:
    _, seen = simulate(OptimumSearch(75), SUBJECTS["linear, then flat from 100"], noise=0.02, seed=1)

    assert [one.load for one in seen][:4] == [5, 19, 75, 300]


def test_each_step_has_a_reason() -> None:
    search = OptimumSearch(16)
    seen: list[Observation] = []
    reasons = []
    while (step := search.next(seen)) is not None:
        reasons.append(step.reason)
        seen.append(Observation(step.load, min(step.load, 40)))

    assert reasons[0] is Reason.FIRST
    assert set(reasons) == {Reason.FIRST, Reason.HIGHER, Reason.BETWEEN, Reason.AGAIN}


@pytest.mark.parametrize("budget", [1, 2, 3, 5])
def test_a_small_budget_is_kept(budget: int) -> None:
    search = OptimumSearch(50, budget=budget)

    conclusion, seen = simulate(search, SUBJECTS["peak at 99"], noise=0.05, seed=3)

    assert len(seen) == budget
    assert chosen_load(conclusion) in {one.load for one in seen}


def test_no_observations_have_no_conclusion() -> None:
    conclusion = summarise_loads([])

    assert conclusion == ()


def test_what_breaks_everywhere_is_looked_for_below_and_up_to_the_start_only() -> None:
    search = OptimumSearch(75)
    seen: list[Observation] = []
    while (step := search.next(seen)) is not None:
        seen.append(Observation(step.load, 10.0, failed=True))

    assert [one.load for one in seen] == [5, 1, 19, 75]
    conclusion = summarise_loads(seen)
    assert chosen_load(conclusion) is None
    assert {point.standing for point in conclusion} == {Standing.FAILED}


def test_a_load_that_breaks_twice_is_a_ceiling() -> None:
    seen = [Observation(5, 5), Observation(20, 20), Observation(80, 400, failed=True)]

    assert OptimumSearch(80).next(seen) == Step(80, Reason.CHANCE)
    assert OptimumSearch(80).next([*seen, seen[-1]]) == Step(40, Reason.BETWEEN)


def test_what_breaks_once_is_no_ceiling_but_not_chosen() -> None:
    seen = [Observation(5, 5), Observation(20, 20), Observation(80, 80, failed=True), Observation(80, 80)]
    search = OptimumSearch(80)

    assert search.next(seen) == Step(320, Reason.HIGHER)
    assert chosen_load(summarise_loads(seen)) == 20


def test_what_fails_below_loads_that_do_not_was_disturbed_and_is_no_ceiling() -> None:
    rates = [Observation(load, min(load, 100), 3000, 60 if load == 75 else 0) for load in (9, 38, 75, 150, 300)]
    search = OptimumSearch(150)

    conclusion = summarise_loads([*rates, Observation(19, 19, failed=True)])

    assert chosen_load(conclusion) == 150
    standings = {point.load: point.standing for point in conclusion}
    assert standings[75] is Standing.RAISES_FAULTS
    assert standings[19] is Standing.FAILED
    assert search.next(rates) == Step(212, Reason.BETWEEN)


def test_a_trial_that_brought_nothing_is_broken() -> None:
    conclusion = summarise_loads([Observation(1, 10), Observation(4, 0)])

    assert [point.standing for point in conclusion] == [Standing.CHOSEN, Standing.FAILED]


def test_intervals_come_from_the_spread_of_all_repeats() -> None:
    seen = [Observation(4, 40), *(Observation(16, value) for value in (90, 100, 110))]

    single, repeated = summarise_loads(seen)

    assert single.interval is not None, "the spread of the others is its own, too"
    assert repeated.interval is not None
    assert single.interval.estimate == pytest.approx(40)
    assert repeated.interval.estimate == pytest.approx((90 * 100 * 110) ** (1 / 3))
    assert single.interval.high / single.interval.low > repeated.interval.high / repeated.interval.low


def test_without_repeats_there_are_no_intervals() -> None:
    points = summarise_loads([Observation(4, 40), Observation(16, 90)])

    assert [point.interval for point in points] == [None, None]


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    covered = []
    for seed in range(150):
        conclusion, _ = simulate(OptimumSearch(75), lambda n: n / (1 + 0.03 * (n - 1)), noise=0.05, seed=seed)
        for point in conclusion:
            assert point.interval is not None
            covered.append(point.interval.low <= point.load / (1 + 0.03 * (point.load - 1)) <= point.interval.high)

    assert 0.92 <= np.mean(covered) <= 0.985


@pytest.mark.parametrize(
    ("faults", "answers", "baseline", "of", "raised"),
    [
        (0, 3000, 0, 3000, False),
        (100, 3000, 1, 3000, True),
        (100, 3000, 100, 3000, False),
        (12, 3000, 0, 3000, True),
        (5, 3000, 0, 40, False),
        (50, 100_000, 0, 100_000, False),
        (30, 3000, 0, 0, False),
        (3, 0, 0, 3000, False),
    ],
)
def test_faults_are_raised_beyond_chance_and_beyond_what_matters(
    faults: int, answers: int, baseline: int, of: int, raised: bool
) -> None:
    assert faults_raised(faults, answers, baseline, of) is raised


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    answers = draw(st.integers(0, 5000))
    return Observation(
        draw(st.integers(1, 1024)),
        draw(st.floats(0, 1e6)),
        answers,
        draw(st.integers(0, answers)),
        failed=draw(st.booleans()),
        weight=draw(st.sampled_from([0.25, 1.0])),
    )


@given(st.lists(observations(), max_size=12), st.integers(1, 1024))
@settings(deadline=None)
def test_the_search_stays_within_its_range_or_ends(seen: list[Observation], start: int) -> None:
    search = OptimumSearch(start)

    step = search.next(seen)
    conclusion = summarise_loads(seen)

    assert step is None or 1 <= step.load <= search.high
    assert [point.load for point in conclusion] == sorted({one.load for one in seen})
    assert sum(point.trials for point in conclusion) == len(seen)
    assert not any(one.failed for one in seen if one.load == chosen_load(conclusion))
    assert sum(point.standing is Standing.CHOSEN for point in conclusion) <= 1


@given(st.lists(observations(), max_size=11))
@settings(deadline=None)
def test_the_order_in_which_things_were_seen_does_not_matter(seen: list[Observation]) -> None:
    there, back = summarise_loads(seen), summarise_loads(seen[::-1])

    assert chosen_load(there) == chosen_load(back)
    assert [(point.load, point.standing) for point in there] == [(point.load, point.standing) for point in back]
