"""The frontier of the capacity question: from axes to a plan, from trials to a subject's frontier."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from doubles.plans import following
from doubles.trials import trial
from httpdyno.experiments.capacity.axes import CONCURRENCY, DELAY, LINK_RATE, ROUND_TRIP, Axes, Quantity
from httpdyno.experiments.capacity.figures import DEFAULT_OBJECTIVE, CapacityPoint, CapacitySummary, parse_objective
from httpdyno.experiments.capacity.frontier import Frontier, error_chance_of, find_frontiers, refine_sizes, slices
from httpdyno.experiments.capacity.plan import Capacity
from httpdyno.experiments.plan import SearchPlan
from httpdyno.model import Loop, Outcome, Subject, SubjectKind, Trial, TrialPlan, Validity

KIB: Final = 1024
MS: Final = 10**6
GBIT: Final = 10**9
SIZES: Final = tuple(step * 50 * KIB for step in range(11))
RATES: Final = tuple(gbit * GBIT for gbit in range(1, 11))
AXES: Final = Axes(sizes_bytes=SIZES, rates_bits_per_s=RATES)
SUBJECTS: Final = tuple(
    Subject(id=name, kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",))
    for name in ("quick", "slow", "third")
)
CPU_PER_S: Final[Mapping[str, float]] = {"quick": 1e9, "slow": 4e8, "third": 1.5e8}
"""Bytes of content a second that each subject can take, whatever the link."""


def plan_of(axes: Axes, subjects: tuple[Subject, ...] = SUBJECTS, **changes: Any) -> SearchPlan:
    plan = Capacity(axes=axes, frontier=True, **changes).plan(subjects)
    assert isinstance(plan, SearchPlan)
    return plan


def per_s(subject: str, point: CapacityPoint) -> float:
    assert point.target_per_s is not None
    link = 1e18 if point.rate_bits_per_s is None else point.rate_bits_per_s / 8 / (point.size_bytes * 1.036 + 300)
    return min(point.target_per_s, link, CPU_PER_S[subject] / (point.size_bytes + 1))


def made(plan: TrialPlan, rate: Callable[[str, CapacityPoint], float] = per_s) -> Trial:
    point = plan.condition.get(CapacityPoint)
    assert point is not None
    found = rate(plan.subject.id, point)
    held = found >= 0.99 * (point.target_per_s or 0)
    return trial(
        plan.subject.id,
        plan.block,
        trial=plan.number,
        position=plan.position,
        condition=plan.condition.name,
        concurrency=plan.concurrency,
        capacity_point=point,
        capacity=CapacitySummary(
            100, 0, 10**9, per_s=found, response_p99_ns=1e6 if held else 9e8, errors_share=0.0, held=held
        ),
    )


def carry_out(plan: SearchPlan, rate: Callable[[str, CapacityPoint], float] = per_s) -> list[Trial]:
    seen: list[Trial] = []
    for next_trial in following(plan, seen):
        seen.append(made(next_trial, rate))
    return seen


def frontiers(trials: list[Trial], axes: Axes) -> tuple[Frontier, ...]:
    return find_frontiers(trials, {**axes.settings(), "frontier": True})


def of_grid(subject: str, axes: Axes, rate: int) -> int | None:
    """The result of the whole grid: the largest size that holds at a rate of the link."""
    points = [point for point in axes.points() if point.rate_bits_per_s == rate]
    return max((point.size_bytes for point in points if per_s(subject, point) >= 1980), default=None)


def test_a_search_finds_the_frontiers_of_the_grid_in_a_fifth_of_its_trials() -> None:
    trials = carry_out(plan_of(AXES))

    found = frontiers(trials, AXES)

    assert [one.subject for one in found] == [one.subject for one in trials[:3]]
    for one in found:
        assert one.axis is LINK_RATE
        assert [point.x for point in one.points] == list(RATES)
        assert [point.held for point in one.points] == [of_grid(one.subject, AXES, rate) for rate in RATES]
        assert 5 * one.trials <= one.grid_trials == AXES.count
        assert not one.contradictions
        assert sum(point.doubtful for point in one.points) <= 1


def test_impossible_points_are_not_tried() -> None:
    trials = carry_out(plan_of(AXES))

    for one in trials:
        assert one.get(CapacityPoint) is not None
        assert one[CapacityPoint].rate_bits_per_s is not None
        assert 8 * one[CapacityPoint].size_bytes * 2000 * 0.95 <= one[CapacityPoint].rate_bits_per_s
    nowhere = Axes(sizes_bytes=SIZES, delays_ns=(500 * MS,), rates_bits_per_s=RATES)
    (only,) = carry_out(plan_of(nowhere, SUBJECTS[:1]), lambda _subject, _point: 400.0)
    assert only.get(CapacityPoint) is not None
    assert only[CapacityPoint].size_bytes == 0, "200 in flight over half a second are 400 a second: one trial shows it"


def test_no_result_is_claimed_for_untried_sizes() -> None:
    axes = Axes(sizes_bytes=SIZES, rates_bits_per_s=(10 * GBIT,))
    size = SIZES[2]
    point = CapacityPoint(size, 0, 0, 10 * GBIT, None, 200, Loop.OPEN, 2000.0)
    held = CapacitySummary(100, 0, 10**9, per_s=2000.0, response_p99_ns=1e6, errors_share=0.0, held=True)

    (found,) = frontiers([trial("x", 0, capacity_point=point, capacity=held)], axes)

    (only,) = found.points
    assert (only.held, only.holds_up_to, only.fails_from) == (size, size, None)
    assert only.doubtful
    assert not found.exhausted


def test_a_frontier_records_an_exhausted_budget() -> None:
    def wavering(_subject: str, point: CapacityPoint) -> float:
        return 1979.0 if point.size_bytes >= SIZES[2] else 2000.0

    trials = carry_out(plan_of(AXES, SUBJECTS[:1]), wavering)
    whole, part = (frontiers(some, AXES)[0] for some in (trials, trials[:9]))

    assert not part.exhausted, "it was stopped by somebody else"
    assert whole.exhausted == (len(trials) == plan_of(AXES, SUBJECTS[:1]).most)


def test_subjects_take_turns_and_a_run_goes_on_where_it_was_left() -> None:
    plan = plan_of(AXES)
    whole = carry_out(plan)

    for block in range(whole[-1].block):
        in_block = [one for one in whole if one.block == block]
        assert len({one.subject for one in in_block}) == len(in_block)
    assert len({one.subject for one in whole if one.block == 0}) == len(SUBJECTS)
    for count in (0, 1, 2, 7, len(whole) - 1, len(whole)):
        assert plan.unplanned(whole[:count]) is None
        again = plan.next(whole[:count])
        assert (again is None) == (count == len(whole))
        if again is not None:
            assert (again.subject.id, again.condition.name) == (whole[count].subject, whole[count].condition)
    assert len(whole) <= plan.most


def test_each_value_of_a_second_axis_has_a_frontier_of_its_own() -> None:
    axes = Axes(sizes_bytes=SIZES, rates_bits_per_s=RATES[:3], concurrencies=(100, 200))

    found = frontiers(carry_out(plan_of(axes, SUBJECTS[:1])), axes)

    assert [(one.axis, one.rest) for one in found] == [
        (LINK_RATE, "100 in flight"),
        (LINK_RATE, "200 in flight"),
    ]
    assert [point.held for point in found[1].points] == [of_grid("quick", axes, rate) for rate in RATES[:3]]


@pytest.mark.parametrize(
    ("axes", "axis", "easiest"),
    [
        (Axes(round_trips_ns=(0, 40 * MS), rates_bits_per_s=RATES[:2]), ROUND_TRIP, 0),
        (Axes(round_trips_ns=(0, 40 * MS), rates_bits_per_s=RATES), LINK_RATE, 10 * GBIT),
        (Axes(rates_bits_per_s=RATES, delays_ns=(0, MS)), LINK_RATE, 10 * GBIT),
        (Axes(delays_ns=(MS, 100 * MS), concurrencies=(1, 2, 3)), DELAY, MS),
        (Axes(concurrencies=(1, 2, 400)), CONCURRENCY, 400),
        (Axes(), ROUND_TRIP, 0),
    ],
)
def test_the_ordered_axis_with_the_most_values_is_that_of_the_frontier(
    axes: Axes, axis: Quantity, easiest: int
) -> None:
    one = slices(axes)[0]

    assert (one.axis, one.values[0]) == (axis, easiest)
    assert one.search.trusted is (axis is not CONCURRENCY)


def test_sizes_between_two_given_sizes_are_tried() -> None:
    sizes = refine_sizes((KIB, 1024 * KIB))

    assert (sizes[0], sizes[-1]) == (KIB, 1024 * KIB)
    assert all(size % KIB == 0 for size in sizes)
    assert all(1 < high / low <= 1.15 for low, high in pairwise(sizes) if low >= 20 * KIB)
    assert refine_sizes(SIZES) == SIZES


def test_a_client_that_breaks_down_at_many_in_flight_is_reported() -> None:
    axes = Axes(sizes_bytes=SIZES, concurrencies=(50, 100, 200, 400, 800))
    reach = {50: 2, 100: 5, 200: 8, 400: 4, 800: 1}

    def rate(_subject: str, point: CapacityPoint) -> float:
        return 2000.0 if point.size_bytes <= SIZES[reach[point.concurrency]] else 100.0

    (found,) = frontiers(carry_out(plan_of(axes, SUBJECTS[:1], repeat=3), rate), axes)

    assert [point.held for point in found.points] == [SIZES[reach[count]] for count in axes.concurrencies]
    assert any("did not, although it should be easier; both were repeated" in line for line in found.contradictions)


def test_an_unavailable_subject_has_one_trial() -> None:
    plan = plan_of(AXES, SUBJECTS[:2])

    def outcome(next_trial: TrialPlan) -> Trial:
        if next_trial.subject.id == "slow":
            return trial("slow", next_trial.block, trial=next_trial.number, outcome=Outcome.UNAVAILABLE)
        return made(next_trial)

    seen: list[Trial] = []
    for next_trial in following(plan, seen):
        seen.append(outcome(next_trial))

    assert sum(one.subject == "slow" for one in seen) == 1
    assert len(seen) <= plan.most


POINT: Final = CapacityPoint(KIB, 0, 0, None, None, 200, Loop.OPEN, 2000.0)


@pytest.mark.parametrize(
    ("rate", "p99_ms", "errors", "low", "high"),
    [
        (2000.0, 20, 0.0, 0.0, 1e-6),
        (2000.0, 480, 0.0, 0.2, 0.5),
        (2000.0, 520, 0.0, 0.2, 0.5),
        (1970.0, 20, 0.0, 0.2, 0.5),
        (600.0, 1000, 0.0, 0.0, 1e-6),
        (1970.0, 5000, 0.0, 0.0, 1e-6),
        (2000.0, 20, 0.0009, 0.2, 0.5),
        (2000.0, 20, 0.5, 0.0, 1e-6),
    ],
)
def test_figures_near_a_bound_are_doubtful(rate: float, p99_ms: float, errors: float, low: float, high: float) -> None:
    held = rate >= 1980 and p99_ms < 500 and errors < 0.001
    one = trial(
        "x",
        0,
        capacity_point=POINT,
        capacity=CapacitySummary(1, 0, 1, per_s=rate, response_p99_ns=p99_ms * MS, errors_share=errors, held=held),
    )

    assert low <= error_chance_of(one, parse_objective(DEFAULT_OBJECTIVE)) <= high


HELD: Final = CapacitySummary(1, 0, 1, per_s=2000.0, response_p99_ns=MS, errors_share=0.0, held=True)
FAILED: Final = CapacitySummary(1, 0, 1, per_s=900.0, response_p99_ns=MS, errors_share=0.0, held=False)


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"capacity": HELD, "validity": Validity.LINK_LIMITED}, 0.5),
        ({"capacity": HELD, "validity": Validity.ORIGIN_LIMITED}, 0.05),
        ({"capacity": HELD, "validity": Validity.UNSTEADY}, 0.05),
        ({"capacity": FAILED, "validity": Validity.ORIGIN_LIMITED}, 0.5),
        ({"capacity": FAILED, "validity": Validity.UNSTEADY}, 0.3),
        ({"capacity": HELD, "outcome": Outcome.INTERRUPTED}, 0.5),
        ({"outcome": Outcome.CRASHED}, 0.3),
        ({"capacity": None}, 0.5),
    ],
)
def test_failures_by_instruments_or_the_machine_are_doubtful(changes: dict[str, Any], doubt: float) -> None:
    one = trial("x", 0, **({"capacity_point": POINT, "capacity": HELD} | changes))

    assert error_chance_of(one, parse_objective("")) == doubt


def test_failures_at_impossible_points_are_certain() -> None:
    narrow = CapacityPoint(200 * KIB, 0, 0, GBIT, None, 200, Loop.OPEN, 2000.0)
    slow = CapacityPoint(0, 500 * MS, 0, None, None, 200, Loop.OPEN, 2000.0)
    for point, link in ((narrow, "rate=1gbit"), (slow, "direct")):
        one = trial("x", 0, capacity_point=point, capacity=FAILED, validity=Validity.ORIGIN_LIMITED, link=link)
        assert error_chance_of(one, parse_objective("")) == 0.05


@pytest.mark.parametrize(("per_s", "doubt"), [(194.0, 0.2), (150.0, 0.5)])
def test_a_little_more_than_a_link_carries_fails_by_the_link_when_it_was_full(per_s: float, doubt: float) -> None:
    # 200 answers of 120 KiB a second are 204 Mbit/s: 196 can come.
    point = CapacityPoint(120 * KIB, 0, 0, 200 * 10**6, None, 50, Loop.OPEN, 200.0)
    failed = replace(FAILED, per_s=per_s, response_p99_ns=450 * MS)
    one = trial("x", 0, capacity_point=point, capacity=failed, validity=Validity.ORIGIN_LIMITED, link="rate=200mbit")
    assert 0.75 * doubt <= error_chance_of(one, parse_objective("")) <= doubt


def test_a_trial_that_an_instrument_spoiled_is_made_again() -> None:
    plan = plan_of(AXES, SUBJECTS[:1])
    first = plan.next([])
    assert first is not None
    spoiled = made(first)

    second = plan.next(
        [trial("quick", 0, **{"capacity_point": spoiled.get(CapacityPoint), "validity": Validity.LINK_LIMITED})]
    )

    assert second is not None
    assert second.condition == first.condition
    assert second.why.startswith("repeats")
