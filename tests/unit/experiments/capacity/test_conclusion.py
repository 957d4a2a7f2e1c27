"""Whether a point was held: its rate, its objective, and the validity of the trial."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.trials import trial
from httpdyno.experiments.capacity.figures import FIGURES, CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import CAPACITY_RULES, conclude_trial, is_reliable
from httpdyno.model import (
    Condition,
    Counters,
    Loop,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    TrialPlan,
    UrlSeries,
    Validity,
    Workload,
)
from httpdyno.model.counters import AgainstCounters

S = 10**9
POINT = CapacityPoint(0, 0, 0, None, None, 200, Loop.OPEN, 2000.0)
SUBJECT = Subject("one", SubjectKind.CLIENT, "C", "one", Path("one"), ("./main",))
FAST: dict[str, float | None] = dict.fromkeys(FIGURES, 1e6) | {"errors": 0.0}


def judged(
    per_s: float | None,
    *,
    target: float | None = 2000.0,
    measured_ns: int = 5 * S,
    objective: str = "p99 < 500ms",
    outcome: Outcome = Outcome.OK,
    reason: str | None = None,
    counters: Counters | None = None,
) -> CapacitySummary:
    loop = Loop.OPEN if target is not None else Loop.CLOSED
    point = replace(POINT, target_per_s=target, loop=loop, objective=objective)
    condition = Condition("capacity", "plain", Workload(UrlSeries("http://a/?n=", 9)), point=point)
    summary = CapacitySummary(answers=9, errors=0, measured_ns=measured_ns, per_s=per_s)
    made = trial(
        "one", 0, experiment="capacity", outcome=outcome, reason=reason, capacity_point=point, capacity=summary
    )
    if counters is not None:
        made = replace(made, counters=counters)
    ended = conclude_trial(made, TrialPlan(0, 0, 0, SUBJECT, condition), FAST, CAPACITY_RULES)
    assert ended.get(CapacitySummary) is not None
    return ended[CapacitySummary]


@pytest.mark.parametrize(
    ("per_s", "changes", "held", "why"),
    [
        (2000.0, {}, True, None),
        (1980.0, {}, True, None),
        (1979.0, {}, False, "1,979 right answers a second, not 2,000"),
        # In half a second 30 ms are more than 1 %, and of twenty requests one is.
        (1890.0, {"measured_ns": S // 2}, True, None),
        (1870.0, {"measured_ns": S // 2}, False, "1,870 right answers a second, not 2,000"),
        (18.5, {"target": 20.0, "measured_ns": S}, True, None),
        (17.5, {"target": 20.0, "measured_ns": S}, False, "18 right answers a second, not 20"),
        (None, {}, False, "nothing was answered"),
        (9.0, {"target": None}, True, None),
        (2000.0, {"objective": ""}, True, None),
        (2000.0, {"objective": "p99 < 1us"}, False, "p99 was 1 ms, not below 1 us"),
        (2000.0, {"outcome": Outcome.CRASHED, "reason": "killed by SIGKILL"}, False, "killed by SIGKILL"),
        (2000.0, {"outcome": Outcome.INTERRUPTED}, None, None),
    ],
)
def test_a_point_is_held_when_its_rate_and_its_objective_are(
    per_s: float | None, changes: dict[str, object], held: bool | None, why: str | None
) -> None:
    summary = judged(per_s, **changes)  # type: ignore[arg-type]  # each has the type of its parameter
    assert (summary.held, summary.why_not) == (held, why)


@pytest.mark.parametrize(
    ("rtt_min_ns", "held", "why"),
    [
        (600_000, True, None),
        (400_000, False, "p99 was 1 ms, not below 900 us (rtt + 500us)"),
        (None, False, "p99 was 1 ms, not below 500 us (rtt + 500us)"),
    ],
)
def test_the_distance_of_another_machine_is_the_one_that_was_measured(
    rtt_min_ns: int | None, held: bool, why: str | None
) -> None:
    counters = Counters(against=AgainstCounters(rtt_min_ns=rtt_min_ns))
    summary = judged(2000.0, objective="p99 < rtt + 500us", counters=counters)
    assert (summary.held, summary.why_not) == (held, why)


@given(st.floats(1, 10_000), st.integers(10**6, 60 * S))
def test_the_whole_rate_is_always_kept_and_none_of_it_never(target: float, measured_ns: int) -> None:
    assert judged(target, target=target, measured_ns=measured_ns).held is True
    if measured_ns > S and target > 3:
        assert judged(target * 1e-6, target=target, measured_ns=measured_ns).held is False


def with_held(held: bool | None, **changes: object) -> Trial:
    return trial("one", 0, capacity=CapacitySummary(1, 0, S, per_s=1.0, held=held), **changes)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (with_held(True), True),
        (with_held(False), True),
        # A disturbance can make a subject look worse than it is, never better.
        (with_held(True, validity=Validity.ORIGIN_LIMITED), True),
        (with_held(True, validity=Validity.UNSTEADY), True),
        (with_held(False, validity=Validity.ORIGIN_LIMITED), False),
        (with_held(True, validity=Validity.INCORRECT), False),
        (with_held(True, validity=Validity.UNVERIFIED), False),
        (with_held(True, outcome=Outcome.CRASHED), False),
    ],
)
def test_a_held_point_counts_on_a_disturbed_machine(one: Trial, expected: bool) -> None:
    assert is_reliable(one) is expected
