"""One trial of the latency question, from its files."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from doubles.printed import artifacts
from httpdyno.experiments.definition import WITHOUT_PACE
from httpdyno.experiments.latency.judge import Content, LatencyPoint, LatencySummary, judge_latency
from httpdyno.judge import Reference, TrialArtifacts
from httpdyno.lab.web_answers import PEER_URL, peer_expectations
from httpdyno.model import Condition, Outcome, Subject, SubjectKind, TrialPlan, UrlSeries, Validity, Workload

MS = 10**6
START = 1_700_000_000 * 10**9
SUBJECT = Subject("a", SubjectKind.CLIENT, "Python", "a", Path("/a"), ("./a",))
SERIES = UrlSeries(f"{PEER_URL}/plain?n=", 3000)


def planned(harness: str = "", peer: str | None = "flask-dev") -> TrialPlan:
    condition = Condition(
        "latency",
        "plain",
        Workload(SERIES, harness=harness),
        concurrency=1,
        peer=peer,
        point=LatencyPoint(Content.PLAIN, 1),
    )
    return TrialPlan(0, 0, 0, SUBJECT, condition)


def reported(outcome: str = "exited", **changes: Any) -> dict[str, Any]:
    subject = {"exit_code": 0, "signal": None, "started_at_ns": START, "ended_at_ns": START + 9 * 10**9, **changes}
    return {
        "version": 1,
        "outcome": outcome,
        "subject": subject,
        "peer": {"cpu_user_ns": 5, "cpu_system_ns": 6, "ready_ns": 7},
    }


def remains(text: str, report: dict[str, Any]) -> TrialArtifacts:
    return artifacts(report, text, round_trip_ns=20_000, output=io.BytesIO(text.encode()))


def reference() -> Reference:
    return Reference(peer_expectations(SERIES))


def timed(**changes: Any) -> str:
    line = {
        "outcome": "ok",
        "loops": 200,
        "calls_per_loop": 1,
        "runs_ns": [240 * MS] * 7,
        "cpu_user_ns": [80 * MS] * 7,
        "cpu_system_ns": [40 * MS] * 7,
        "answers": [{"code": "200", "body_length": 13, "calls": 2000}],
    }
    return json.dumps(line | changes) + "\n"


def test_lines_are_judged_and_timed() -> None:
    rows = [
        f"{PEER_URL}/plain?n={number},200,2023-11-14T22:13:2{number // 500}.{2000 * (number % 500):06d}Z,2.0,13"
        for number in range(3000)
    ]
    judged = judge_latency(planned(), remains("\n".join(rows) + "\n", reported()), reference(), rules=WITHOUT_PACE)
    trial = judged.trial
    assert (trial.outcome, trial.validity) == (Outcome.OK, Validity.VALID)
    assert (trial.peer, trial.counters.peer_cpu_user_ns) == ("flask-dev", 5)
    assert trial.get(LatencySummary) is not None
    assert trial[LatencySummary].mean_ns == 2 * MS
    assert (trial[LatencySummary].server_ns, trial[LatencySummary].wire_ns) == (None, None), (
        "nobody counted its connections"
    )
    assert len(judged.samples) == 3000


def test_what_there_was_no_time_for_is_nothing_that_was_missed() -> None:
    rows = [
        f"{PEER_URL}/plain?n={number},200,2023-11-14T22:13:2{number // 500}.{2000 * (number % 500):06d}Z,2.0,13"
        for number in range(2000)
    ]
    report = reported("deadline", exit_code=None, signal=15, ended_at_ns=START + 4 * 10**9)
    judged = judge_latency(planned(), remains("\n".join(rows) + "\n", report), reference(), rules=WITHOUT_PACE)
    assert (judged.trial.outcome, judged.trial.validity) == (Outcome.OK, Validity.VALID)
    assert judged.trial.tally is not None
    assert (judged.trial.tally.right, judged.trial.tally.not_reached) == (2000, 0)
    assert len(judged.samples) == 2000


def test_a_client_that_printed_nothing_may_want_more_time() -> None:
    trial = judge_latency(planned(), remains("", reported("deadline")), reference(), rules=WITHOUT_PACE).trial
    assert trial.outcome is Outcome.HUNG
    reason = trial.reason or ""
    assert reason.startswith("printed nothing in 9.0 s; 3,000 URLs missing: ")
    assert reason.endswith("; if it only starts slowly, increase --duration")


def test_what_a_client_timed_itself_is_checked_and_kept() -> None:
    trial = judge_latency(planned("timeit"), remains(timed(), reported()), reference(), rules=WITHOUT_PACE).trial
    assert (trial.outcome, trial.validity, trial.harness) == (Outcome.OK, Validity.VALID, "timeit")
    assert trial.tally is not None
    assert (trial.tally.right, trial.tally.wrong) == (2000, 0)
    assert trial.get(LatencySummary) is not None
    assert (trial[LatencySummary].mean_ns, trial[LatencySummary].deviation_ns, trial[LatencySummary].loops) == (
        1.2 * MS,
        0,
        200,
    )
    assert trial[LatencySummary].cpu_per_call_ns == 0.6 * MS
    assert trial[LatencySummary].p50_ns is None


def test_the_deviation_is_that_of_a_population() -> None:
    runs_ns = [round(time_ms * 200 * MS) for time_ms in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.7)]
    trial = judge_latency(
        planned("timeit"), remains(timed(runs_ns=runs_ns), reported()), reference(), rules=WITHOUT_PACE
    ).trial
    assert trial[LatencySummary].mean_ns == pytest.approx(1.1 * MS)
    assert trial[LatencySummary].deviation_ns == pytest.approx(0.06**0.5 * MS)


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"code": "500", "body_length": 13}, "wrong_status"),
        ({"code": "200", "body_length": 12}, "wrong_length"),
        ({"code": "CheckFailed", "body_length": 13}, "false_error"),
    ],
)
def test_wrong_answers_are_found_in_its_own_count(answer: dict[str, Any], field: str) -> None:
    line = timed(answers=[{**answer, "calls": 1000}, {"code": "200", "body_length": 13, "calls": 1000}])
    trial = judge_latency(planned("timeit"), remains(line, reported()), reference(), rules=WITHOUT_PACE).trial
    assert trial.tally is not None
    assert getattr(trial.tally, field) == trial.tally.wrong == 1000
    assert trial.validity is Validity.INCORRECT


def test_calls_that_never_reached_the_origin_are_wrong() -> None:
    report = reported() | {"origin": {"requests": 1500, "connections": 1}}
    trial = judge_latency(planned("timeit", peer=None), remains(timed(), report), reference(), rules=WITHOUT_PACE).trial
    assert trial.tally is not None
    assert (trial.tally.right, trial.tally.wrong_time) == (1500, 500)
    assert trial.validity is Validity.INCORRECT


@pytest.mark.parametrize(
    ("text", "report", "outcome", "said"),
    [
        ("", reported(), Outcome.GARBAGE, "0 lines"),
        ("1.19 ms\n", reported(), Outcome.GARBAGE, "HARNESS=timeit"),
        (
            timed(outcome="ECONNREFUSED", runs_ns=[], cpu_user_ns=[], cpu_system_ns=[], loops=None),
            reported(),
            Outcome.GARBAGE,
            "ECONNREFUSED",
        ),
        ("", reported(exit_code=127), Outcome.CRASHED, "exited with 127"),
        ("", reported("deadline"), Outcome.HUNG, "printed nothing"),
        ("", {"version": 1, "outcome": "peer_failed", "reason": "no such module"}, Outcome.REFUSED, "no such module"),
    ],
)
def test_what_went_wrong_has_a_name_and_a_reason(
    text: str, report: dict[str, Any], outcome: Outcome, said: str
) -> None:
    trial = judge_latency(planned("timeit"), remains(text, report), reference(), rules=WITHOUT_PACE).trial
    assert trial.outcome is outcome
    assert said in (trial.reason or "")


def test_a_peer_that_does_not_come_up_spoils_lines_too() -> None:
    report = {"version": 1, "outcome": "peer_failed", "reason": "Address already in use"}
    trial = judge_latency(planned(), remains("", report), reference(), rules=WITHOUT_PACE).trial
    assert (trial.outcome, trial.validity) == (Outcome.REFUSED, Validity.ORIGIN_LIMITED)
