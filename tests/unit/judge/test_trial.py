"""One trial from its artifacts to its record; the figures of a crawl by the published definitions."""

import io
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from doubles.honest_trial import judge_validity
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
from httpdyno.judge.outcome import Ending
from httpdyno.judge.trial import summarise_crawl
from httpdyno.judge.validity import RULES
from httpdyno.judge.verdict import VERDICTS
from httpdyno.model import (
    Condition,
    ExplainedCase,
    KnownFailure,
    LinesSummary,
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

SECOND, MS = 10**9, 10**6

# language and method: time, okReqsSec, okReqsPct, avgBodyLen, 2xx, 3xx, 4xx, 5xx, Exception (c7g.medium, 10,000 URLs)
PUBLISHED = {
    "Rust reqwest": (49149, 162, 0.8, 256487, 7980, 1, 971, 21, 1027),
    "Deno fetch": (58016, 138, 0.8, 258782, 8007, 1, 952, 25, 1015),
    "Go net/http": (64000, 125, 0.8, 260033, 8004, 1, 970, 21, 1004),
    "Node.js reqwest": (71716, 112, 0.8, 258417, 8000, 1, 964, 22, 1013),
    ".NET HttpClient": (106468, 73, 0.77, 258980, 7739, 279, 977, 24, 981),
    "Ruby async + http.rb": (107077, 74, 0.8, 257226, 7977, 0, 992, 25, 1006),
    "Python aiohttp": (108243, 73, 0.79, 259900, 7943, 0, 979, 27, 1051),
    "Java HttpClient": (172855, 45, 0.79, 238532, 7853, 37, 1010, 24, 1076),
    "Node.js undici request": (192018, 41, 0.79, 254941, 7865, 26, 1003, 23, 1083),
    "Node.js fetch": (209810, 38, 0.79, 259108, 7885, 1, 997, 26, 1091),
}


def samples(
    starts_ms: list[int | None],
    durations_ms: list[int | None],
    statuses: list[int | None],
    lengths: list[int | None] | None = None,
    verdicts: list[str] | None = None,
    precision_ns: int = MS,
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "line": [None if start is None else line for line, start in enumerate(starts_ms, 1)],
            "status": statuses,
            "start_ns": [None if start is None else start * MS for start in starts_ms],
            "duration_ns": [None if duration is None else duration * MS for duration in durations_ms],
            "body_length": lengths or [None] * len(starts_ms),
            "verdict": verdicts or ["right"] * len(starts_ms),
            "precision_ns": [precision_ns] * len(starts_ms),
        },
        schema={
            "line": pl.Int32,
            "status": pl.Int16,
            "start_ns": pl.Int64,
            "duration_ns": pl.Int64,
            "body_length": pl.Int64,
            "verdict": VERDICTS,
            "precision_ns": pl.Int64,
        },
    )


def ended(after_ms: int, kind: str = "exited") -> Ending:
    return Ending(kind, exit_code=0, started_at_ns=0, ended_at_ns=after_ms * MS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_table_follows_from_its_counts(name: str) -> None:
    time_ms, ok_per_s, ok_share, body_length, *counts = PUBLISHED[name]
    classes = [200, 301, 404, 500, None]
    statuses = [status for status, count in zip(classes, counts, strict=True) for _ in range(count)]
    n = len(statuses)
    assert n == 10_000
    lengths = [body_length if status == 200 else 7 for status in statuses]
    summary = summarise_crawl(
        samples([0] * n, [100] * (n - 1) + [time_ms], statuses, lengths),
        ended(time_ms + 50),
        urls_given=n,
        concurrency=150,
    )
    assert summary.time_ns == time_ms * MS
    assert round(summary.ok_per_s or 0) == ok_per_s
    assert round(summary.ok_share or 0, 2) == ok_share
    assert summary.mean_body_length == body_length
    found = [summary.status_2xx, summary.status_3xx, summary.status_4xx, summary.status_5xx, summary.exceptions]
    assert found == counts
    assert summary.max_ns == time_ms * MS
    assert summary.mean_ns == pytest.approx((100 * (n - 1) + time_ms) / n * MS)


def test_nothing_printed_has_no_figures() -> None:
    assert summarise_crawl(samples([], [], []), ended(10), urls_given=5, concurrency=1) == LinesSummary()
    unreached = samples([None], [None], [None], verdicts=["not_reached"])
    assert summarise_crawl(unreached, ended(10, "deadline"), urls_given=1, concurrency=1) == LinesSummary()


def test_right_answers_are_counted_until_the_list_is_exhausted() -> None:
    # One after the other, 100 ms each, ten of them; the last takes 5 s and decides nothing.
    summary = summarise_crawl(
        samples([100 * i for i in range(10)], [100] * 9 + [5000], [200] * 10), ended(6000), urls_given=10, concurrency=1
    )
    assert summary.exhausted_ns == 900 * MS
    assert summary.time_ns == 5900 * MS
    assert summary.right_per_s == pytest.approx(10)


def test_wrong_answers_do_not_count_as_right() -> None:
    summary = summarise_crawl(
        samples(
            [0, 100, 200, 300, 400], [100] * 5, [200] * 5, verdicts=["right", "late", "right", "wrong_time", "right"]
        ),
        ended(600),
        urls_given=5,
        concurrency=1,
    )
    assert summary.right_per_s == pytest.approx(2 / 0.4)


def test_a_list_that_is_short_for_its_concurrency_has_no_rate() -> None:
    seven = samples([0, 1, 2, 3, 4, 5, 6], [1] * 7, [200] * 7)
    assert summarise_crawl(seven, ended(200), urls_given=7, concurrency=2).right_per_s is None
    assert summarise_crawl(seven, ended(200), urls_given=7, concurrency=1).right_per_s == pytest.approx(6 / 0.006)


def test_a_list_that_the_deadline_cut_was_never_exhausted() -> None:
    cut = samples([0, 100, None], [100, 100, None], [200, 200, None], verdicts=["right", "right", "not_reached"])
    summary = summarise_crawl(cut, ended(250, "deadline"), urls_given=4, concurrency=1)
    assert (summary.urls, summary.exhausted_ns) == (2, None)
    assert summary.right_per_s == pytest.approx(2 / 0.2)


@pytest.mark.parametrize(
    ("kind", "deadline_s", "ended_after_ms", "right_per_s"),
    [
        # The two seconds to end are not measured.
        ("deadline", 12.0, 14_000, 2 / 12),
        ("deadline", 12.0, 12_001, 2 / 12),
        ("deadline", 0.15, 250, 2 / 0.2),
        ("interrupted", 12.0, 250, 2 / 0.25),
    ],
)
def test_who_answers_nothing_more_until_the_deadline_is_as_slow_as_that(
    kind: str, deadline_s: float, ended_after_ms: int, right_per_s: float
) -> None:
    cut = samples([0, 100, None], [100, 100, None], [200, 200, None], verdicts=["right", "right", "not_reached"])
    ending = ended(ended_after_ms, kind)
    summary = summarise_crawl(cut, ending, urls_given=4, concurrency=1, deadline_s=deadline_s)
    assert summary.right_per_s == pytest.approx(right_per_s)


def test_coarse_start_times_leave_the_end_to_the_process() -> None:
    coarse = samples([0, 1000], [100, 100], [200, 200], precision_ns=SECOND)
    assert summarise_crawl(coarse, ended(1700), urls_given=2, concurrency=1).time_ns == 1700 * MS


def test_no_claim_reaches_beyond_the_process() -> None:
    summary = summarise_crawl(samples([0], [9000], [200]), ended(500), urls_given=1, concurrency=1)
    assert summary.time_ns == 500 * MS
    before = summarise_crawl(samples([-900], [100], [200]), ended(500), urls_given=1, concurrency=1)
    assert (before.time_ns, before.ok_per_s, before.right_per_s) == (0, None, None)


def test_an_answer_without_a_known_length_has_no_part_in_the_mean() -> None:
    summary = summarise_crawl(
        samples([0, 0, 0], [1, 1, 1], [200, 200, 404], [10, None, 99]), ended(5), urls_given=3, concurrency=1
    )
    assert summary.mean_body_length == 10
    none = summarise_crawl(samples([0], [1], [404], [99]), ended(5), urls_given=1, concurrency=1)
    assert none.mean_body_length is None


def test_unverified_answers_are_not_counted_as_right() -> None:
    unverified = samples([0, 100, 200, 300], [50] * 4, [200] * 4, verdicts=["unverified"] * 4)
    for kind in ("exited", "deadline"):
        summary = summarise_crawl(unverified, ended(400, kind), urls_given=4, concurrency=1)
        assert (summary.right_per_s, summary.ok_share, summary.status_2xx) == (None, 1.0, 4)
        assert summary.exhausted_ns == 300 * MS


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
    judged = judge_crawl(PLAN, artifacts(report), reference(), rules=RULES)
    trial = judged.trial
    assert (trial.outcome, trial.validity, trial.validity_reason) == (
        Outcome.REFUSED,
        Validity.LINK_LIMITED,
        "asked for a round trip of 40 ms, measured 43 ms",
    )
    assert trial.reason == trial.validity_reason
    assert judge_validity(trial, RULES) == (trial.validity, trial.validity_reason)
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
        # An overloaded server answers differently.
        (b"https://a.example/x,y,503,2024-10-21T12:00:00.000Z,20,300", "nginx", None),
        # No answer follows such a handshake; a busy client may see a late answer before its clock.
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
    judged = judge_crawl(
        replace(PLAN, condition=condition), artifacts(REPORT, line + b"\n"), Reference(expectations), rules=RULES
    )
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
    trial = judge_crawl(plan, artifacts(REPORT, LATE_OUTPUT), reference(), rules=RULES).trial
    assert trial.tally
    assert (trial.tally.false_error, trial.tally.right) == (1, 2), "it is no right answer either"
    assert trial.tally.explained == explained
    assert [case.case for case in trial.tally.explained_cases] == ["timeout_over_link"] * explained
    # The link does not explain an error before the timeout.
    early = LATE_OUTPUT.replace(b"000Z,1000,", b"000Z,500,")
    hasty = judge_crawl(plan, artifacts(REPORT, early), reference(), rules=RULES).trial
    assert hasty.tally
    assert hasty.tally.explained == 0


def reference() -> Reference:
    return Reference(read_expectations(io.BytesIO(EXPECT)), read_arrivals(io.BytesIO(ARRIVALS)))


def test_from_files_to_record() -> None:
    judged = judge_crawl(PLAN, artifacts(REPORT, OUTPUT), reference(), RULES, Circumstances("1.2"))
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
    judged = judge_crawl(PLAN, artifacts(report, OUTPUT[:70], stderr="boom"), reference(), rules=RULES)
    assert (judged.trial.outcome, judged.trial.reason) == (Outcome.CRASHED, "killed by SIGSEGV: boom")
    assert judged.trial.validity is None
    assert len(judged.samples) == 1


def test_the_deadline_leaves_urls_that_were_not_reached() -> None:
    report = {**REPORT, "outcome": "deadline"}
    judged = judge_crawl(PLAN, artifacts(report, OUTPUT[:70]), reference(), rules=RULES)
    assert judged.trial.outcome is Outcome.OK
    assert judged.samples["verdict"].to_list() == ["right", "not_reached", "not_reached"]


def test_a_client_that_could_not_start_is_a_trial_too() -> None:
    judged = judge_crawl(
        PLAN, artifacts({"version": 1, "outcome": "failed_to_start", "reason": "gone"}), reference(), rules=RULES
    )
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
    judged = judge_crawl(PLAN, artifacts(REPORT), nothing, rules=RULES)
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
