"""The trial that asks what a web can give at all: how it is planned, and what becomes of what it finds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doubles.trials import trial
from httpdyno.judge import JudgedTrial
from httpdyno.lab.client_trial import run_client_trial
from httpdyno.lab.lab import RunTrial
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.model import (
    CEILING_TRIAL,
    CeilingLimit,
    Condition,
    Counters,
    CpuTime,
    LinesSummary,
    Purpose,
    Subject,
    SubjectKind,
    TrialPlan,
    Workload,
)
from httpdyno.runs.ceiling import UnderCeiling, ceiling_plan

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


def test_it_takes_no_longer_than_is_asked_for_and_never_long() -> None:
    assert ceiling_plan(FETCHER, CONDITION, [], urls=10**7).condition.deadline_s == 15.0
    assert ceiling_plan(FETCHER, replace(CONDITION, deadline_s=3.0), [], urls=10**7).condition.deadline_s == 3.0


class Pretender:
    """Answers as fast as it is told to."""

    def planned_time(self, _: Condition) -> PlannedTime:
        return PlannedTime(total_s=1.0, longest_s=1.0, urls=20)

    def run(self, plan: TrialPlan, _: RunTrial) -> JudgedTrial:
        rate = 1000.0 if plan.purpose is Purpose.CEILING else 400.0
        made = trial(
            plan.subject.id,
            plan.number,
            purpose=plan.purpose,
            summary=LinesSummary(urls=10, right_per_s=rate),
            counters=BUSY,
        )
        return JudgedTrial(made, pl.DataFrame({"url": ["a"]}))


def under_ceiling() -> UnderCeiling:
    pretender: Any = Pretender()
    return UnderCeiling(pretender, {SubjectKind.CLIENT: run_client_trial})


def test_trials_know_the_ceiling_that_was_found_before_them() -> None:
    first = ceiling_plan(FETCHER, CONDITION, [OTHER], urls=1000)
    under = under_ceiling()
    ceiling, of_subject = (under.run(plan) for plan in (first, TrialPlan(0, 0, 0, OTHER, CONDITION)))
    assert ceiling.trial.purpose is Purpose.CEILING
    assert ceiling.samples.is_empty()
    assert ceiling.trial.ceiling_per_s is None
    assert (of_subject.trial.ceiling_per_s, of_subject.trial.ceiling_limit) == (1000.0, CeilingLimit.FETCHER)
    assert len(of_subject.samples) == 1


def test_without_it_trials_are_as_they_were() -> None:
    judged = under_ceiling().run(TrialPlan(0, 0, 0, OTHER, CONDITION))
    assert judged.trial.ceiling_per_s is None
