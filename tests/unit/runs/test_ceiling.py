"""The trial that finds the ceiling of a web: its plan, and the use of its result."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from httpdyno.experiments.definition import Judging
from httpdyno.judge import Circumstances, JudgedTrial, trial_not_run
from httpdyno.lab.cool_down import Pause
from httpdyno.lab.executor import TrialKind
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.model import (
    CEILING_TRIAL,
    CeilingLimit,
    Condition,
    Counters,
    CpuTime,
    LinesSummary,
    Outcome,
    Purpose,
    Subject,
    SubjectKind,
    Tally,
    TrialPlan,
    Workload,
)
from httpdyno.runs.run import TrialRunner, ceiling_plan

S = 10**9
FETCHER = Subject("native", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",))
OTHER = replace(FETCHER, id="other", concurrency=70)
CONDITION = Condition("bench", "plain", Workload((), timeout_s=5.0))
BUSY = Counters(
    wall_ns=2 * S,
    cpu_user_ns=2 * S,
    cpu_system_ns=0,
    cpus=(CpuTime(0, "subject", 2 * S, 0, 2 * S, 0),),
)


@pytest.mark.parametrize(
    ("urls", "concurrency", "in_flight"),
    [(500, None, 125), (100_000, None, 1024), (20, None, 70), (20, 90, 90), (100_000, 2000, 2000), (0, 1, 1)],
)
def test_as_many_are_in_flight_as_the_list_allows(urls: int, concurrency: int | None, in_flight: int) -> None:
    plan = ceiling_plan(FETCHER, replace(CONDITION, concurrency=concurrency), [FETCHER, OTHER], urls=urls)
    assert plan.concurrency == in_flight
    assert (plan.number, plan.purpose, plan.subject) == (CEILING_TRIAL, Purpose.CEILING, FETCHER)


def test_the_trial_of_the_ceiling_is_short() -> None:
    assert ceiling_plan(FETCHER, CONDITION, [], urls=10**7).condition.deadline_s == 15.0
    assert ceiling_plan(FETCHER, replace(CONDITION, deadline_s=3.0), [], urls=10**7).condition.deadline_s == 3.0


class Pretender:
    """Executes nothing, with a given speed."""

    def planned_time(self, _: Condition) -> PlannedTime:
        return PlannedTime(total_s=1.0, longest_s=1.0, urls=20)

    def execute(self, _: TrialPlan, __: TrialKind) -> "Left":
        return Left()


class Left(AbstractContextManager[None]):
    version = "1.0"

    def __exit__(self, *_: object) -> None:
        return None


def judged(plan: TrialPlan, _: Any, circumstances: Circumstances, _rules: Any) -> JudgedTrial:
    rate = 1000.0 if plan.purpose is Purpose.CEILING else 400.0
    made = replace(
        trial_not_run(plan, Outcome.OK, None, circumstances).having(LinesSummary(urls=10, right_per_s=rate)),
        counters=BUSY,
        tally=Tally(right=10),
    )
    return JudgedTrial(made, pl.DataFrame({"url": ["a"]}))


def runner() -> TrialRunner:
    pretender: Any = Pretender()
    return TrialRunner(pretender, Judging(trials={SubjectKind.CLIENT: TrialKind(pretender.execute, judged)}))


def test_trials_know_the_ceiling_that_was_found_before_them() -> None:
    first = ceiling_plan(FETCHER, CONDITION, [OTHER], urls=1000)
    under = runner()
    ceiling, of_subject = (under.run(plan) for plan in (first, TrialPlan(0, 0, 0, OTHER, CONDITION)))
    assert ceiling.trial.purpose is Purpose.CEILING
    assert ceiling.samples.is_empty()
    assert ceiling.trial.ceiling_per_s is None
    assert (of_subject.trial.ceiling_per_s, of_subject.trial.ceiling_limit) == (1000.0, CeilingLimit.FETCHER)
    assert len(of_subject.samples) == 1


def test_without_a_ceiling_none_is_recorded() -> None:
    assert runner().run(TrialPlan(0, 0, 0, OTHER, CONDITION)).trial.ceiling_per_s is None


def test_a_trial_is_judged_once_with_all_that_is_known_of_it() -> None:
    trial = runner().run(TrialPlan(0, 0, 0, OTHER, CONDITION), Pause(3, "CPU 0 was 50% busy")).trial
    assert (trial.version, trial.cool_down_ns, trial.cool_down_reason) == ("1.0", 3, "CPU 0 was 50% busy")
    assert trial.other_programs is not None
