"""A trial of a load tool: the number of answers is from the origin, their times from the tool."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import CAPACITY_RULES, judge_capacity_tool, tool_figures
from httpdyno.judge.outcome import ToolArtifacts, ending_from_report, tool_ending
from httpdyno.model import (
    Condition,
    Loop,
    Outcome,
    Subject,
    SubjectKind,
    Tally,
    Trial,
    TrialPlan,
    UrlSeries,
    Validity,
    Workload,
)

REPORTS = Path(__file__).parents[3] / "fixtures" / "tool-reports"
MS = 1_000_000
POINT = CapacityPoint(
    size_bytes=1000,
    delay_ns=100 * MS,
    round_trip_ns=0,
    rate_bits_per_s=None,
    queue_ns=None,
    concurrency=10,
    loop=Loop.CLOSED,
    target_per_s=200,
)
REPORT = """
Summary:
  Total:	{total:.4f} secs
  Slowest:	0.1100 secs
  Fastest:	0.1000 secs
  Average:	0.1010 secs
  Requests/sec:	{rate:.4f}

  Total data:	{data} bytes

Latency distribution:
  50% in 0.1005 secs
  99% in 0.1090 secs

Status code distribution:
  [200]	{answers} responses
"""


def plan(point: CapacityPoint = POINT) -> TrialPlan:
    hey = Subject("hey", SubjectKind.TOOL, "Go", "hey", Path("/hey"), ("hey", "{url}"), report_parser="hey")
    workload = Workload(UrlSeries("http://capacity.example/bytes/1000?delay_ms=100&n=", 1000))
    return TrialPlan(0, 0, 0, hey, Condition("capacity", "plain", workload, concurrency=10, point=point))


def engine_report(served: int, **changes: Any) -> dict[str, Any]:
    subject = {"exit_code": 0, "wall_ns": 2 * 10**9}
    origin = {"requests": served, "statuses": {"200": served}, "user_agents": {"hey/0.0.1": served, "other/2": 1}}
    return {"version": 1, "outcome": "exited", "subject": subject, "origin": origin, **changes}


def measured(text: str, rounds: int = 20, report: dict[str, Any] | None = None, point: CapacityPoint = POINT) -> Trial:
    arrivals = pl.DataFrame({"at_ns": [turn * 100 * MS for turn in range(rounds) for _ in range(10)]})
    remains = ToolArtifacts(report or engine_report(10 * rounds), text, "", arrivals)
    return judge_capacity_tool(plan(point), remains, rules=CAPACITY_RULES)


def text(answers: int = 200, *, content: int | None = None) -> str:
    data = answers * 1000 if content is None else content
    return REPORT.format(total=2.01, rate=answers / 2.01, data=data, answers=answers)


def figures(trial: Trial) -> CapacitySummary:
    assert trial.get(CapacitySummary) is not None
    return trial[CapacitySummary]


def test_answers_are_counted_by_the_origin_and_times_are_the_tools() -> None:
    trial = measured(text())
    found = figures(trial)
    assert (trial.outcome, trial.version, trial.tally) == (Outcome.OK, "0.0.1", Tally(right=200))
    assert found.per_s == pytest.approx(100)
    assert (found.answers, found.errors, found.errors_share) == (180, 0, 0)
    assert found.measured_ns == 1700 * MS
    assert (found.service_mean_ns, found.response_p50_ns, found.response_p99_ns) == (101 * MS, 100.5 * MS, 109 * MS)
    assert (found.claimed_answers, found.claimed_per_s) == (200, pytest.approx(200 / 2.01, abs=1e-4))
    _, _, claimed = tool_ending(plan(), ending_from_report(engine_report(200)), text())
    assert claimed is not None
    assert tool_figures(claimed) == {
        "p50": 100.5 * MS, "p90": None, "p99": 109 * MS, "p99.9": None, "mean": 101 * MS, "max": 110 * MS, "errors": 0
    }  # fmt: skip


def test_claimed_answers_that_were_not_served_count_as_wrong() -> None:
    trial = measured(text(250), report=engine_report(200))
    assert trial.tally == Tally(right=200, missed_error=50)


@pytest.mark.parametrize(("content", "short"), [(199_000, 0), (180_000, 20), (0, 200)])
def test_content_that_was_not_read_counts_as_wrong_beyond_rounding(content: int, short: int) -> None:
    trial = measured(text(content=content))
    assert trial.tally == Tally(right=200 - short, wrong_length=short)


def test_errors_are_no_answers() -> None:
    failed = text(150) + "\nError distribution:\n  [50]\tGet http://x: context deadline exceeded\n"
    trial = measured(failed)
    found = figures(trial)
    assert found.errors_share == pytest.approx(0.25)
    assert found.per_s == pytest.approx(75)
    assert (found.answers, found.errors) == (135, 45)


def test_on_a_schedule_all_of_the_tools_time_is_measured() -> None:
    trial = measured(text(), point=replace(POINT, loop=Loop.OPEN))
    assert figures(trial).measured_ns == 1900 * MS
    assert figures(trial).per_s == pytest.approx(100)


@pytest.mark.parametrize(
    ("report", "said", "outcome", "reason"),
    [
        (engine_report(5), "", Outcome.GARBAGE, "the report of hey cannot be read: it is empty"),
        (engine_report(5, outcome="deadline"), "", Outcome.HUNG, "did not end before the deadline"),
        (engine_report(5, outcome="interrupted"), text(), Outcome.INTERRUPTED, "stopped before it ended"),
        (engine_report(5, subject={"exit_code": 2}), "", Outcome.CRASHED, "exited with 2: no message"),
        (engine_report(5, outcome="failed_to_start", reason="no such file"), "", Outcome.CRASHED, "no such file"),
    ],
)
def test_a_tool_that_fails_has_no_figures(report: dict[str, Any], said: str, outcome: Outcome, reason: str) -> None:
    trial = measured(said, report=report)
    assert (trial.outcome, trial.reason, trial.get(CapacitySummary)) == (outcome, reason, None)


def test_a_tool_is_not_measured_over_a_wrong_link() -> None:
    report = engine_report(0, outcome="link_limited", link={"reason": "asked 1 Gbit/s, measured 0.7 Gbit/s"})
    trial = measured("", report=report)
    assert (trial.outcome, trial.validity) == (Outcome.REFUSED, Validity.LINK_LIMITED)
    assert trial.reason == "asked 1 Gbit/s, measured 0.7 Gbit/s"


def test_a_tool_that_was_never_answered_has_no_rate() -> None:
    trial = measured((REPORTS / "hey-refused.txt").read_text(), rounds=0, report=engine_report(0))
    assert figures(trial).per_s is None
    assert figures(trial).answers == 0
    assert trial.tally == Tally()
