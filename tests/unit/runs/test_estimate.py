"""Estimated duration of trials: measured, known from before, or guessed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.cost import SECOND, cost_trial
from doubles.runs import make_run
from httpdyno.experiments.plan import schedule
from httpdyno.lab.planned_time import OVERHEAD_S, START_S, PlannedTime, guess_s, planned_time
from httpdyno.model import Condition, Counters, Link, Subject, SubjectKind, TrialPlan, Workload
from httpdyno.runs.estimate import Forecast, Key, earlier_durations, key_of
from httpdyno.store import read_manifest

SUBJECTS = [
    Subject(id=name, kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",))
    for name in ("one", "two")
]
PLANS = schedule(SUBJECTS, [Condition("bench", "plain", Workload(()))], repeat=2, seed=1)
ONE, TWO = (next(key_of(plan) for plan in PLANS if plan.subject.id == name) for name in ("one", "two"))


def plan_of(key: Key) -> TrialPlan:
    return next(plan for plan in PLANS if key_of(plan) == key)


def guessed_s(planned: PlannedTime, concurrency: int, *, deadline_s: float = 600) -> float:
    condition = Condition("bench", "plain", Workload(()), concurrency=concurrency, deadline_s=deadline_s)
    return guess_s(TrialPlan(0, 0, 0, SUBJECTS[0], condition), planned)


def test_a_list_takes_its_share_of_each_slot_and_its_longest_exchange() -> None:
    planned = PlannedTime(total_s=1289.0, longest_s=5.0)
    assert guessed_s(planned, 75) == pytest.approx(START_S + 1289 / 75 + 5 + OVERHEAD_S)
    assert guessed_s(planned, 1) == 600 + OVERHEAD_S
    assert guessed_s(PlannedTime(0, 0), 10) == START_S + OVERHEAD_S


@pytest.mark.parametrize(
    ("concurrency", "round_trip_s", "expected_s"),
    [
        # One after another the web's 10 s, the client's own 2 ms for each of 1,000 URLs, and the link add up.
        (1, 0.0, 12.0),
        (1, 0.01, 22.0),
        # With several at a time it works while others wait, until its CPU is saturated.
        (10, 0.05, 6.2),
        (10, 0.0, 2.0),
        (100, 0.0, 2.0),
    ],
)
def test_what_requests_take_a_client_itself_is_done_while_others_wait(
    concurrency: int, round_trip_s: float, expected_s: float
) -> None:
    planned = PlannedTime(total_s=10.0, longest_s=0.0, urls=1000)
    link = Link.symmetric(round_trip_ns=round(round_trip_s * 1e9))
    condition = Condition("bench", "plain", Workload(()), concurrency=concurrency, link=link)
    plan = TrialPlan(0, 0, 0, replace(SUBJECTS[0], request_ms=2), condition)
    assert guess_s(plan, planned) == pytest.approx(START_S + expected_s + OVERHEAD_S)


def test_a_subject_without_a_planned_time_is_assumed_to_be_slow() -> None:
    def of(subject: Subject, check: str = "json", urls: int = 1) -> float:
        condition = Condition("cost", "plain", Workload((), check=check), concurrency=1)
        guessed = guess_s(TrialPlan(0, 0, 0, subject, condition), PlannedTime(0, 0, urls))
        return guessed - START_S - OVERHEAD_S

    client = SUBJECTS[0]
    tool = replace(client, kind=SubjectKind.TOOL, report_parser="ab")
    process = replace(client, request_ms=15)
    assert of(process) == of(process, check="") == pytest.approx(0.015)
    assert of(tool) < of(client, check="") < of(client) < of(process)
    # The first estimate for 10,000 documents must not be a second.
    assert of(client, urls=10_000) > 20


@given(st.lists(st.floats(0, 5), min_size=1, max_size=50), st.integers(1, 20))
def test_no_list_takes_longer_than_guessed_for_a_client_that_costs_nothing(
    exchanges_s: list[float], concurrency: int
) -> None:
    slots = [0.0] * concurrency
    for exchange_s in exchanges_s:
        first_free = slots.index(min(slots))
        slots[first_free] += exchange_s
    of_any_order = PlannedTime(sum(exchanges_s), max(exchanges_s), len(exchanges_s))
    in_order = planned_time(np.array(exchanges_s))
    guessed = [guessed_s(planned, concurrency, deadline_s=1e9) - OVERHEAD_S for planned in (in_order, of_any_order)]
    assert max(slots) <= guessed[0] + 1e-6
    assert guessed[0] <= guessed[1] + 1e-6


def test_what_was_measured_counts_more_than_what_was_before_and_that_more_than_a_guess() -> None:
    now_s = 0.0
    forecast = Forecast({TWO: 20.0}, lambda _: 100.0, lambda: now_s)

    def expected() -> list[float | None]:
        return [forecast.expected_s(plan_of(ONE)), forecast.expected_s(plan_of(TWO))]

    assert expected() == [100, 20]
    for took_s in (1.0, 9.0, 2.0):
        now_s += took_s
        forecast.ended(ONE)
    assert expected() == [2, 20]
    now_s += 5.0
    forecast.ended(TWO)
    assert expected() == [2, 5]


def test_a_trial_of_which_nothing_is_known_has_no_forecast() -> None:
    assert Forecast({ONE: 1.0}, lambda _: None, lambda: 0.0).expected_s(plan_of(TWO)) is None


def test_an_earlier_run_of_fewer_documents_tells_how_long_more_take(tmp_path: Path) -> None:
    def known(documents: int, **settings: object) -> dict[object, float]:
        given = {"documents": documents, "keepalive": "on", **settings}
        now = read_manifest(make_run(tmp_path / "now", [], experiment="cost", settings=given))
        return dict(earlier_durations(tmp_path / "before", now))

    trial = cost_trial("slow", counters=Counters(wall_ns=9 * SECOND), cost={"start_ns": SECOND})
    before = {"documents": 2_000, "keepalive": "on", "quick": True}
    make_run(tmp_path / "before", [trial], experiment="cost", settings=before)
    key = ("slow", "", 1)
    # The program starts once: a second of nine.
    assert known(2_000) == {key: pytest.approx(9 + OVERHEAD_S)}
    assert known(10_000) == {key: pytest.approx(1 + 5 * 8 + OVERHEAD_S)}
    assert known(10_000, keepalive="off") == {}
