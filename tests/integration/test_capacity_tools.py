"""Load tools as subjects: as shipped, in a room, with the origin's counts and their claims."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import CAPACITY_RULES, judge_capacity_tool
from httpdyno.experiments.capacity.plan import timing_of
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.lab.tool_trial import tool_command, tool_trials
from httpdyno.model import Condition, Loop, Outcome, SubjectKind, Trial, TrialPlan, UrlSeries, Workload
from httpdyno.subjects.build import Build, BuildOutcome, build_subjects
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.template import fill_template

SIZE = 20_000
POINT = CapacityPoint(
    size_bytes=SIZE,
    delay_ns=50_000_000,
    round_trip_ns=0,
    rate_bits_per_s=None,
    queue_ns=None,
    concurrency=8,
    loop=Loop.CLOSED,
    target_per_s=None,
)
TOOLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("hey", "ab", "wrk", "h2load")
]


def build_of(name: str, cache: Path) -> Build:
    (tool,) = read_catalogue(()).select_of_kind([name], SubjectKind.TOOL)
    build = build_subjects([tool], cache)[name].build
    assert build is not None
    return build


def plan_of(build: Build, point: CapacityPoint = POINT, size: int = SIZE) -> TrialPlan:
    timing = timing_of(point, 5.0)
    prefix = f"http://capacity.example/bytes/{size}?delay_ms={point.delay_ns // 10**6}&n="
    condition = Condition(
        "capacity",
        "plain",
        Workload(UrlSeries(prefix, timing.urls), timeout_s=20),
        concurrency=point.concurrency,
        deadline_s=timing.deadline_s,
        send_s=timing.send_s,
        point=replace(point, objective="p99 < 20s"),
    )
    return TrialPlan(0, 0, 0, build.subject, condition)


def trial_of(engine: Engine, build: Build, plan: TrialPlan) -> Trial:
    builds = {build.subject.id: BuildOutcome(build.subject, build)}
    executor = LocalExecutor(engine, Pinning(), Interruption(), None, builds)
    return executor.run(plan, tool_trials(fill_template, judge_capacity_tool), rules=CAPACITY_RULES).trial


@pytest.mark.parametrize("name", TOOLS)
def test_a_correct_tool_claims_the_answers_that_the_origin_counts(name: str, engine: Engine, tmp_path: Path) -> None:
    build = build_of(name, tmp_path)
    trial = trial_of(engine, build, plan_of(build))
    assert (trial.outcome, trial.reason) == (Outcome.OK, None)
    assert trial.get(CapacitySummary) is not None
    assert trial.tally is not None
    assert trial.counters.requests is not None
    assert trial.tally.wrong == 0
    assert trial.tally.right == trial[CapacitySummary].claimed_answers
    # Requests under way when the tool ended were sent, but not all tools count them.
    assert 0 <= trial.counters.requests - trial.tally.right <= POINT.concurrency
    assert trial[CapacitySummary].per_s
    assert trial[CapacitySummary].service_mean_ns is not None
    assert trial[CapacitySummary].service_mean_ns >= POINT.delay_ns
    # wrk asks for the first time on a connection of its own.
    assert trial.counters.connections in {POINT.concurrency, POINT.concurrency + 1}
    # A tool without a version option is identified by the header that it sends.
    assert name != "hey" or (build.version, trial.version) == (None, "0.0.1")


@pytest.mark.parametrize("name", TOOLS[:1])
def test_answers_that_are_too_short_count_as_wrong(name: str, engine: Engine, tmp_path: Path) -> None:
    build = build_of(name, tmp_path)
    trial = trial_of(engine, build, plan_of(build, size=SIZE // 2))
    assert trial.tally is not None
    assert trial.tally.wrong_length == pytest.approx((trial.tally.right + trial.tally.wrong_length) / 2, abs=1)
    assert trial.validity is not None
    assert trial.validity.value != "VALID"


def test_a_tool_without_a_schedule_is_refused_an_open_loop(tmp_path: Path) -> None:
    if shutil.which("ab") is None:
        pytest.skip("ab is not installed")
    build = build_of("ab", tmp_path)
    plan = plan_of(build)
    with pytest.raises(InvalidValue, match="ab: cannot run an open loop"):
        tool_command(replace(plan, condition=replace(plan.condition, rate_per_s=100)), build, fill_template)


def test_a_tool_gets_the_settings_of_its_point(tmp_path: Path) -> None:
    if shutil.which("hey") is None:
        pytest.skip("hey is not installed")
    build = build_of("hey", tmp_path)
    command = tool_command(plan_of(build), build, fill_template)
    assert command.argv == (
        *("hey", "-c", "8", "-z", "1s", "-t", "20", "-m", "GET"),
        f"http://capacity.example/bytes/{SIZE}?delay_ms=50&n=0",
    )
    assert command.environment["PATH"].split(os.pathsep)
