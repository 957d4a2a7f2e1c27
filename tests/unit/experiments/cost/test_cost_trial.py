"""A trial of the cost question from its files: verification, wrong answers, costs."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doubles.printed import artifacts
from httpdyno.errors import EngineFailed
from httpdyno.experiments.cost.judge import (
    BOUND_AT_MOST_NS,
    DOCUMENT_BYTES,
    UNCHECKED,
    CostSummary,
    RequestClock,
    judge_cost,
    judge_cost_tool,
)
from httpdyno.experiments.cost.plan import Cost
from httpdyno.experiments.definition import WITHOUT_PACE
from httpdyno.judge import Circumstances, Reference, read_arrivals, read_expectations
from httpdyno.judge.outcome import ToolArtifacts
from httpdyno.model import Capabilities, Outcome, Subject, SubjectKind, Trial, TrialPlan, Validity

S, MS = 10**9, 10**6
T = 1729512000 * S  # 2024-10-21T12:00:00Z
REPORTS = Path(__file__).parents[3] / "fixtures" / "tool-reports"
COUNT = 2_000
CLIENT = Subject(
    "x",
    SubjectKind.CLIENT,
    "X",
    "x",
    Path(),
    ("x",),
    capabilities=Capabilities(check=("json",)),
    json_parser="a parser",
)
TOOL = Subject("ab", SubjectKind.TOOL, "C", "ab", Path(), ("ab", "{url}"), report_parser="ab")
CONDITION = Cost(documents=COUNT).conditions()[0]
PLAN = TrialPlan(0, 0, 0, CLIENT, CONDITION)
URLS = list(CONDITION.workload.urls)  # type: ignore[arg-type]  # it is a series
EACH_NS = 2 * MS
FIRST_NS = T + 100 * MS


def report(**changes: Any) -> dict[str, Any]:
    """Make the engine's: 50 ms of CPU time until the first request, and half of the time from then on."""
    readings = [[at * MS, at * MS // 4, at * MS // 4] for at in range(10, 4_200, 10)]
    subject = {"started_at_ns": T, "ended_at_ns": T + 5 * S, "wall_ns": 5 * S, "exit_code": 0, "cpu": readings}
    subject |= {"cpu_user_ns": S, "cpu_system_ns": S, "peak_memory_bytes": 2**20}
    origin = {"statuses": {"200": COUNT}, "connections": 1}
    return {"version": 1, "outcome": "exited", "subject": subject, "origin": origin} | changes


def reference(wrong: int = 0) -> Reference:
    """Return the served documents: the first ones are wrong."""
    head = "url,outcome,status,length,cause,arrives,request_url,requests,planned_ms\n"
    lines = [
        f"{url},error,,,check_failed,1,{url},1,0" if number < wrong else f"{url},status,200,16384,,1,{url},1,0"
        for number, url in enumerate(URLS)
    ]
    arrived = "".join(
        f"{FIRST_NS + n * EACH_NS},{FIRST_NS + n * EACH_NS + MS},1,{url},200\n" for n, url in enumerate(URLS)
    )
    return Reference(
        read_expectations(io.BytesIO((head + "\n".join(lines) + "\n").encode())),
        read_arrivals(io.BytesIO(("at_ns,done_ns,connection,url,status\n" + arrived).encode())),
    )


def output(codes: Mapping[int, str]) -> str:
    """Print a line for each document: 200, or another code for some of them."""
    start = pl.Series([FIRST_NS - MS // 2 + n * EACH_NS for n in range(COUNT)])
    stamps = pl.from_epoch(start, time_unit="ns").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
    return "".join(f"{url},{codes.get(n, '200')},{stamps[n]},1.8,16384\n" for n, url in enumerate(URLS))


def judged(codes: Mapping[int, str], *, wrong: int = 0, **changes: Any) -> Trial:
    """Judge a client that reports these codes."""
    remains = artifacts(report(**changes), output(codes))
    return judge_cost(PLAN, remains, reference(wrong), WITHOUT_PACE, Circumstances("1")).trial


def test_what_was_spent_is_divided_among_verified_documents() -> None:
    cost = judged({}).get(CostSummary)
    assert cost is not None
    assert (cost.answered, cost.verified, cost.caught) == (COUNT, COUNT, 0)
    assert cost.cpu_ns == 2 * S
    assert cost.cpu_per_document_ns == MS
    assert cost.per_s == COUNT / 5
    assert cost.bytes_per_s == COUNT * DOCUMENT_BYTES / 5
    assert cost.json_parser == "a parser"
    assert cost.start_cpu_ns == 50 * MS
    assert cost.steady_cpu_per_document_ns == pytest.approx(MS)
    assert cost.warm_up_documents == 0


def test_a_client_that_names_right_documents_as_wrong_pays_for_fewer() -> None:
    trial = judged(dict.fromkeys(range(100), "CheckFailed"))
    assert trial.get(CostSummary) is not None
    assert trial[CostSummary].verified == COUNT - 100
    assert trial[CostSummary].cpu_per_document_ns == 2 * S / (COUNT - 100)
    assert trial.validity is Validity.INCORRECT


def test_a_wrong_document_that_is_named_as_such_is_caught_and_right() -> None:
    trial = judged({0: "CheckFailed", 1: "CheckFailed"}, wrong=2)
    assert trial.get(CostSummary) is not None
    assert (trial[CostSummary].verified, trial[CostSummary].caught) == (COUNT - 2, 2)
    assert trial.tally is not None
    assert trial.tally.wrong == 0


def test_a_client_that_takes_a_wrong_document_for_a_right_one_is_believed_nothing() -> None:
    trial = judged({0: "CheckFailed"}, wrong=3)
    assert trial.get(CostSummary) is not None
    assert (trial[CostSummary].verified, trial[CostSummary].caught) == (COUNT - 3, 1)
    assert trial.tally is not None
    assert trial.tally.missed_error == 2
    # Two of 2,000 would be tolerated for other answers; here they mean that nothing is checked.
    assert trial.validity is Validity.INCORRECT
    assert trial.validity_reason == "it took 2 of 3 wrong documents for right ones: its check does not work"


def test_an_engine_without_readings_leaves_the_start_unknown() -> None:
    subject = {name: value for name, value in report()["subject"].items() if name != "cpu"}
    cost = judged({}, subject=subject).get(CostSummary)
    assert cost is not None
    assert cost.cpu_per_document_ns == MS
    assert cost.start_cpu_ns is None
    assert cost.steps is None


def test_readings_that_are_none_are_the_engines_fault() -> None:
    with pytest.raises(EngineFailed, match="readings of the CPU clock"):
        judged({}, subject=report()["subject"] | {"cpu": [[1, 2], [3, 4]]})


@pytest.mark.parametrize(
    ("result", "done", "reason"),
    [(None, None, None), ({"done": True, "reason": None}, True, None), ({"done": False, "reason": "no"}, False, "no")],
)
def test_the_record_has_the_receive_steering(result: object, done: bool | None, reason: str | None) -> None:
    cost = judged({}, receive_steering=result).get(CostSummary)
    assert cost is not None
    assert (cost.receive_steering, cost.receive_steering_reason) == (done, reason)


def split(*, bound_ns: int, arrivals: bool = True) -> CostSummary:
    """Judge a client whose origin's clock is known to a bound, and 40 ms ahead within it."""
    known = reference()
    ahead = None if known.arrivals is None else known.arrivals.with_columns(pl.col("at_ns", "done_ns") + 40 * MS)
    seen = replace(known, arrivals=ahead if arrivals else None, clock_bound_ns=bound_ns)
    cost = judge_cost(PLAN, artifacts(report(), output({})), seen, rules=WITHOUT_PACE).trial.get(CostSummary)
    assert cost is not None
    return cost


def test_start_and_steady_state_rest_on_arrivals_as_long_as_their_clock_is_known_better_than_the_cpu_clock() -> None:
    near = split(bound_ns=BOUND_AT_MOST_NS)
    # The first arrival is 40 ms late, of which the client was busy for half.
    assert (near.requests_timed_by, near.start_cpu_ns) == (RequestClock.ORIGIN, 70 * MS)
    # The clock offset of two machines does not change the time between two arrivals.
    assert near.steady_cpu_per_document_ns == pytest.approx(MS)


@pytest.mark.parametrize(("bound_ns", "arrivals"), [(BOUND_AT_MOST_NS + 1, True), (0, False)])
def test_where_arrivals_are_not_known_well_start_and_steady_state_rest_on_the_clients_lines(
    bound_ns: int, arrivals: bool
) -> None:
    far = split(bound_ns=bound_ns, arrivals=arrivals)
    assert far.requests_timed_by is RequestClock.CLIENT
    # It claims a start half a millisecond before the arrival of the request.
    assert far.start_cpu_ns == pytest.approx(50 * MS - MS / 4)
    assert far.steady_cpu_per_document_ns == pytest.approx(MS)


def tool(text: str, **changes: Any) -> Trial:
    """Judge a tool that prints this."""
    remains = ToolArtifacts(report(**changes), text, "", reference().arrivals)
    return judge_cost_tool(replace(PLAN, subject=TOOL), remains, WITHOUT_PACE, Circumstances("2.3"))


def ab(complete: int) -> str:
    """Take a report of ab with another number of answers."""
    text = (REPORTS / "ab-good.txt").read_text(encoding="utf-8")
    lines = [
        f"Complete requests:      {complete}" if line.startswith("Complete requests") else line
        for line in text.splitlines()
    ]
    return "\n".join(lines) + "\n"


def test_a_tool_has_figures_and_nothing_verified() -> None:
    trial = tool(ab(COUNT))
    assert trial.get(CostSummary) is not None
    assert (trial[CostSummary].answered, trial[CostSummary].verified) == (COUNT, None)
    assert trial[CostSummary].cpu_per_document_ns == MS
    assert trial[CostSummary].start_cpu_ns == 50 * MS
    assert trial[CostSummary].claimed_answers == COUNT
    assert (trial.validity, trial.validity_reason) == (Validity.UNVERIFIED, UNCHECKED)
    assert trial.urls_given == COUNT


@pytest.mark.parametrize(("bound_ns", "start_cpu_ns"), [(BOUND_AT_MOST_NS, 50 * MS), (BOUND_AT_MOST_NS + 1, None)])
def test_a_tool_has_no_lines_to_replace_arrivals(bound_ns: int, start_cpu_ns: int | None) -> None:
    cost = tool(ab(COUNT), against={"clock": {"bound_ns": bound_ns}}).get(CostSummary)
    assert cost is not None
    assert (cost.start_cpu_ns, cost.requests_timed_by is None) == (start_cpu_ns, start_cpu_ns is None)
    assert cost.cpu_per_document_ns == MS


def test_what_a_tool_claims_beyond_what_was_served_did_not_come() -> None:
    trial = tool(ab(COUNT + 500))
    assert trial.get(CostSummary) is not None
    assert trial[CostSummary].answered == COUNT
    assert trial.tally is not None
    assert trial.tally.missed_error == 500


def test_a_tool_without_a_report_failed() -> None:
    trial = tool("nothing of the kind")
    assert trial.get(CostSummary) is None
    assert trial.outcome is Outcome.GARBAGE


def test_a_tool_that_got_fewer_documents_than_it_was_to_get_has_no_figures() -> None:
    trial = tool(ab(COUNT - 1_900))
    assert trial.get(CostSummary) is None
    assert trial.outcome is Outcome.MISSING
    assert trial.reason is not None
    assert trial.reason.startswith("100 of 2,000 documents arrived")
