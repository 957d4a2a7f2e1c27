"""One trial from the files that it left to its record."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.printed import artifacts
from httpdyno.errors import EngineFailed
from httpdyno.judge import (
    Circumstances,
    Reference,
    judge_crawl,
    read_arrivals,
    read_expectations,
    trial_not_run,
    trial_notes,
)
from httpdyno.judge.validity import judge_validity
from httpdyno.model import (
    Condition,
    ExplainedCase,
    KnownFailure,
    Link,
    Outcome,
    Sample,
    Subject,
    SubjectKind,
    TrialPlan,
    Validity,
    Workload,
    schema,
)
from httpdyno.store import polars_schema

S = 10**9
T = 1729512000 * S  # 2024-10-21T12:00:00Z
SUBJECT = Subject(
    "x",
    SubjectKind.CLIENT,
    "X",
    "x",
    Path(),
    ("x",),
    known_failures=(KnownFailure("stall_tls", "hangs", "https://issue"),),
)
PLAN = TrialPlan(7, 2, 1, SUBJECT, Condition("bench", "plain", Workload((), timeout_s=1), concurrency=2, name="point"))
REPORT = {
    "version": 1,
    "outcome": "exited",
    "subject": {"exit_code": 0, "started_at_ns": T, "ended_at_ns": T + 2 * S, "wall_ns": 2 * S},
}
EXPECT = b"""url,outcome,status,length,cause,arrives,request_url,requests,planned_ms
"https://a.example/x,y",status,200,300,,1,"https://a.example/x,y",1,10.5
https://b.example,error,,,stall_tls,0,https://b.example/,0,
https://c.example,either,404,9,slow,1,https://c.example/,1,900
"""
ARRIVALS = f"""at_ns,done_ns,connection,url,status
{T + 5 * 10**6},{T + 6 * 10**6},1,"https://a.example/x,y",200
{T + 7 * 10**6},,2,https://c.example/,
""".encode()
OUTPUT = b"""https://a.example/x,y,200,2024-10-21T12:00:00.000Z,20,300
https://b.example,200,2024-10-21T12:00:00.000Z,20,3
https://c.example,Timeout,2024-10-21T12:00:00.000Z,1000,
"""


LINK = {
    "spec": "rtt=40ms",
    "seed": 1,
    "up": {"delay_ns": 20_000_000, "packets": 0, "bytes": 0, "lost": 0, "dropped": 0},
    "down": {"delay_ns": 20_000_000, "packets": 0, "bytes": 0, "lost": 0, "dropped": 0},
    "measured": {"rtt_ns": {"count": 40, "p50": 43_000_000, "p99": 44_000_000}},
    "verdict": "missed",
    "reason": "asked for a round trip of 40 ms, measured 43 ms",
}


def test_a_trial_whose_link_missed_is_limited_by_it_and_no_fault_of_the_subject() -> None:
    report = {"version": 1, "outcome": "link_limited", "reason": "link", "subject": {"wall_ns": 0}, "link": LINK}
    judged = judge_crawl(PLAN, artifacts(report), reference())
    trial = judged.trial
    assert (trial.outcome, trial.validity, trial.validity_reason) == (
        Outcome.REFUSED,
        Validity.LINK_LIMITED,
        "asked for a round trip of 40 ms, measured 43 ms",
    )
    assert trial.reason == trial.validity_reason
    assert judge_validity(trial) == (trial.validity, trial.validity_reason)
    assert trial.counters.link
    assert (trial.counters.link.verdict, trial.counters.link.rtt_p50_ns) == ("missed", 43_000_000)
    assert trial.counters.wall_ns is None
    assert judged.samples.is_empty()
    assert trial_notes([trial]) == ("LINK_LIMITED: asked for a round trip of 40 ms, measured 43 ms",)


@pytest.mark.parametrize(
    ("line", "peer", "surely"),
    [
        (b"https://a.example/x,y,404,2024-10-21T12:00:00.000Z,20,300", None, 1),
        (b"https://a.example/x,y,200,2024-10-21T12:00:00.000Z,20,301", None, 1),
        # A server that is too busy answers something else.
        (b"https://a.example/x,y,503,2024-10-21T12:00:00.000Z,20,300", "nginx", None),
        # Nobody is answered behind such a handshake; a busy client may see a late answer before its clock.
        (b"https://b.example,200,2024-10-21T12:00:00.000Z,20,3", None, 0),
        (b"https://d.example,200,2024-10-21T12:00:00.000Z,20,3", None, 1),
        (b"https://late.example,200,2024-10-21T12:00:00.000Z,20,3", None, 0),
        (b"https://a.example/x,y,Timeout,2024-10-21T12:00:00.000Z,1000,", None, 0),
        (b"https://a.example/x,y,200,2024-10-21T12:00:00.000Z,9000,300", None, 0),
    ],
)
def test_what_no_load_on_the_machine_makes_is_counted(line: bytes, peer: str | None, surely: int | None) -> None:
    more = b"""https://d.example,error,,,expired_certificate,0,https://d.example/,0,
https://late.example,error,,,timeout,1,https://late.example/,1,1600
"""
    expectations = read_expectations(io.BytesIO(EXPECT + more))
    condition = replace(PLAN.condition, peer=peer)
    judged = judge_crawl(replace(PLAN, condition=condition), artifacts(REPORT, line + b"\n"), Reference(expectations))
    assert judged.trial.tally
    assert judged.trial.tally.surely_wrong == surely


LATE_OUTPUT = b"""https://a.example/x,y,Timeout,2024-10-21T12:00:00.000Z,1000,
https://b.example,Timeout,2024-10-21T12:00:00.000Z,1000,
https://c.example,Timeout,2024-10-21T12:00:00.000Z,1000,
"""


@pytest.mark.parametrize(
    ("link", "explained"),
    [("direct", 0), ("rtt=16ms", 0), ("rtt=17ms", 1), ("rate=1gbit", 1), ("down.loss=0.1%", 1)],
)
def test_a_timeout_that_the_link_may_be_the_cause_of_is_no_mistake(link: str, explained: int) -> None:
    plan = replace(PLAN, condition=replace(PLAN.condition, link=Link.parse(link)))
    trial = judge_crawl(plan, artifacts(REPORT, LATE_OUTPUT), reference()).trial
    assert trial.tally
    assert (trial.tally.false_error, trial.tally.right) == (1, 2), "it is no right answer either"
    assert trial.tally.explained == explained
    assert [case.case for case in trial.tally.explained_cases] == ["timeout_over_link"] * explained
    # Of an error that came before its time, the link is no cause.
    early = LATE_OUTPUT.replace(b"000Z,1000,", b"000Z,500,")
    hasty = judge_crawl(plan, artifacts(REPORT, early), reference()).trial
    assert hasty.tally
    assert hasty.tally.explained == 0


def reference() -> Reference:
    return Reference(read_expectations(io.BytesIO(EXPECT)), read_arrivals(io.BytesIO(ARRIVALS)))


def test_from_files_to_record() -> None:
    judged = judge_crawl(PLAN, artifacts(REPORT, OUTPUT), reference(), Circumstances("1.2"))
    trial = judged.trial
    assert (trial.trial, trial.block, trial.position, trial.condition) == (7, 2, 1, "point")
    assert (trial.outcome, trial.reason, trial.validity, trial.version) == (Outcome.OK, None, Validity.VALID, "1.2")
    assert (trial.urls_given, trial.concurrency, trial.timeout_ns, trial.counters.wall_ns) == (3, 2, S, 2 * S)
    assert trial.tally is not None
    assert (trial.tally.right, trial.tally.missed_error, trial.tally.explained, trial.tally.wrong) == (2, 1, 1, 0)
    assert trial.tally.explained_cases == (ExplainedCase("stall_tls", "hangs", "https://issue", 1),)
    assert trial.summary is not None
    assert (trial.summary.urls, trial.summary.status_2xx, trial.summary.exceptions) == (3, 2, 1)
    assert judged.samples.columns == [field.name for field in schema(Sample)]
    assert dict(judged.samples.schema) == polars_schema(Sample)
    assert judged.samples["verdict"].to_list() == ["right", "missed_error", "right"]
    assert judged.samples["cause"].to_list() == [None, "stall_tls", "slow"]
    assert judged.samples["trial"].to_list() == [7, 7, 7]


def test_a_failed_trial_keeps_its_samples_but_has_no_validity() -> None:
    report = {**REPORT, "outcome": "signaled", "subject": {**REPORT["subject"], "exit_code": None, "signal": 11}}  # type: ignore[dict-item]
    judged = judge_crawl(PLAN, artifacts(report, OUTPUT[:70], stderr="boom"), reference())
    assert (judged.trial.outcome, judged.trial.reason) == (Outcome.CRASHED, "killed by SIGSEGV: boom")
    assert judged.trial.validity is None
    assert len(judged.samples) == 1


def test_the_deadline_leaves_urls_that_were_not_reached() -> None:
    report = {**REPORT, "outcome": "deadline"}
    judged = judge_crawl(PLAN, artifacts(report, OUTPUT[:70]), reference())
    assert judged.trial.outcome is Outcome.OK
    assert judged.samples["verdict"].to_list() == ["right", "not_reached", "not_reached"]


def test_a_client_that_could_not_start_is_a_trial_too() -> None:
    judged = judge_crawl(PLAN, artifacts({"version": 1, "outcome": "failed_to_start", "reason": "gone"}), reference())
    assert (judged.trial.outcome, judged.trial.reason) == (Outcome.CRASHED, "could not be started: gone")


def test_the_record_of_a_subject_that_is_not_there() -> None:
    trial = trial_not_run(PLAN, Outcome.UNAVAILABLE, "needs go")
    assert (trial.subject, trial.reason, trial.summary, trial.counters.wall_ns) == ("x", "needs go", None, None)


@pytest.mark.parametrize("text", [b"no,such,columns\n1,2,3\n", b"\x00\xff", EXPECT.replace(b"either", b"perhaps")])
def test_expectations_that_are_none_are_one_clear_line(text: bytes) -> None:
    with pytest.raises(EngineFailed, match="the engine's expectations cannot be read"):
        read_expectations(io.BytesIO(text))


def test_a_client_that_was_given_nothing_and_printed_nothing_did_well() -> None:
    nothing = Reference(
        read_expectations(io.BytesIO()), read_arrivals(io.BytesIO(ARRIVALS.splitlines(keepends=True)[0]))
    )
    judged = judge_crawl(PLAN, artifacts(REPORT), nothing)
    assert (judged.trial.outcome, judged.trial.urls_given, len(judged.samples)) == (Outcome.OK, 0, 0)
    assert judged.trial.summary is not None
    assert judged.trial.summary.right_per_s is None


def test_spaces_around_a_url_do_not_matter_and_lines_of_spaces_are_none() -> None:
    row = b",error,,,invalid_url,0,,0,\n"
    header = EXPECT.splitlines(keepends=True)[0]
    text = header + b" https://a.example " + row + b"   " + row + b"not a url" + row + b'"say ""x"", y"' + row
    assert read_expectations(io.BytesIO(text)).distinct["url"].to_list() == [
        "https://a.example",
        "not a url",
        'say "x", y',
    ]


def test_expectations_that_are_not_there_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="the engine's arrivals cannot be read"):
        read_arrivals(tmp_path / "none")


def test_a_plan_without_concurrency_takes_the_subjects() -> None:
    plan = replace(PLAN, condition=replace(PLAN.condition, concurrency=None))
    assert trial_not_run(plan, Outcome.UNAVAILABLE, None).concurrency == 10
