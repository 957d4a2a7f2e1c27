"""The row of a subject: medians under the published names, and failed trials."""

from dataclasses import replace

from httpdyno.experiments.registry import definition_of
from httpdyno.judge import trial_notes
from httpdyno.model import Cell, Counters, ExplainedCase, LinesSummary, Outcome, Tally, Trial, Validity, figures_of

MS = 10**6
SUMMARY = LinesSummary(
    urls=10,
    time_ns=1500 * MS,
    mean_ns=12.6 * MS,
    max_ns=99 * MS,
    p50_ns=10.26 * MS,
    p99_ns=98 * MS,
    ok_per_s=5.5,
    ok_share=0.796,
    mean_body_length=10.4,
    right_per_s=6.66,
    status_2xx=8,
    status_4xx=1,
    exceptions=1,
)
COUNTERS = Counters(
    cpu_user_ns=30 * MS,
    cpu_system_ns=20 * MS,
    peak_memory_bytes=2048,
    sent_bytes=100,
    received_bytes=900,
    connections=4,
)
GOOD = Trial(
    0, 0, 0, "bench", "", "go-net-http", "Go", "net/http", "1.25", 125, "plain", 1, "direct", 5, True, "", "", 10,
    Outcome.OK, validity=Validity.VALID, tally=Tally(right=10), counters=COUNTERS, figures=figures_of(SUMMARY),
)  # fmt: skip


def cells(*trials: Trial) -> dict[str, Cell]:
    table = definition_of("bench").presentation.table(trials)
    return dict(zip((column.name for column in table.columns), table.rows[0], strict=True))


def test_the_columns_begin_with_the_seeds() -> None:
    shown = [column.name for column in definition_of("bench").presentation.table([]).columns if column.shown]
    assert ",".join(shown) == (
        "language,method,concurrency,totalUrls,time,avg,max,okReqsSec,okReqsPct,avgBodyLen,2xx,3xx,4xx,5xx,Exception,"
        "right_per_s,right_per_s_low,right_per_s_high,p50_ms,p99_ms,cpu_user_ms,cpu_system_ms,cpu_per_right_ms,"
        "cpu_per_right_ms_low,cpu_per_right_ms_high,rank,right_per_core_s,right_per_core_s_low,right_per_core_s_high,"
        "in_flight_per_core,start_cpu_ms,warm_up_cpu_ms,peak_memory_bytes,wire_bytes,connections,limited_by,wrong,verdict"
    )


def test_one_trial() -> None:
    assert cells(GOOD) == {
        "subject": "go-net-http",
        "language": "Go",
        "method": "net/http",
        "concurrency": 125,
        "http_version": "",
        "totalUrls": 10,
        "time": 1500,
        "avg": 13,
        "max": 99,
        "okReqsSec": 6,
        "okReqsPct": 0.8,
        "avgBodyLen": 10,
        "2xx": 8,
        "3xx": 0,
        "4xx": 1,
        "5xx": 0,
        "Exception": 1,
        "rank": None,
        "rank_note": None,
        "rank_best": None,
        "rank_worst": None,
        "right_per_s": 6.7,
        "right_per_s_low": None,
        "right_per_s_high": None,
        "p50_ms": 10.3,
        "p99_ms": 98.0,
        "cpu_user_ms": 30,
        "cpu_system_ms": 20,
        "cpu_per_right_ms": None,
        "cpu_per_right_ms_low": None,
        "cpu_per_right_ms_high": None,
        "right_per_core_s": None,
        "right_per_core_s_low": None,
        "right_per_core_s_high": None,
        "in_flight_per_core": None,
        "start_cpu_ms": None,
        "warm_up_cpu_ms": None,
        "peak_memory_bytes": 2048,
        "wire_bytes": 1000,
        "connections": 4,
        "http2_share": None,
        "limited_by": None,
        "wrong": 0,
        "verdict": "VALID",
        "ceiling_per_s": None,
        "ceiling_limit": None,
    }
    assert trial_notes([GOOD]) == ()


def test_figures_are_medians_and_wrong_is_the_worst() -> None:
    trials = [
        replace(GOOD.having(replace(SUMMARY, time_ns=time * MS)), tally=Tally(right=10 - wrong, late=wrong))
        for time, wrong in ((100, 0), (900, 2), (300, 1))
    ]
    row = cells(*trials)
    assert (row["time"], row["wrong"]) == (300, 2)


def test_a_failed_trial_shows_in_the_verdict_and_has_no_part_in_the_figures() -> None:
    crashed = replace(
        GOOD.having(replace(SUMMARY, time_ns=1)), outcome=Outcome.CRASHED, reason="killed by SIGSEGV", validity=None
    )
    row = cells(GOOD, crashed)
    assert (row["time"], row["verdict"]) == (1500, "crashed")
    assert trial_notes([GOOD, crashed]) == ("crashed: killed by SIGSEGV (1 of 2 trials)",)


def test_an_unavailable_subject_keeps_its_row() -> None:
    absent = replace(
        GOOD,
        outcome=Outcome.UNAVAILABLE,
        reason="needs go",
        validity=None,
        figures={},
        tally=None,
        counters=Counters(),
    )
    row = cells(absent)
    assert (row["language"], row["concurrency"], row["verdict"]) == ("Go", 125, "unavailable")
    assert {row[name] for name in ("totalUrls", "time", "2xx", "connections", "wrong")} == {None}
    assert trial_notes([absent]) == ("unavailable: needs go",)


def test_the_real_internet_has_no_wrong() -> None:
    live = replace(GOOD, validity=Validity.UNVERIFIED, validity_reason="r", tally=Tally(unverified=10))
    assert (cells(live)["wrong"], cells(live)["verdict"]) == (None, "UNVERIFIED")


def test_the_worst_validity_is_the_verdict_and_is_explained() -> None:
    bad = replace(GOOD, validity=Validity.INCORRECT, validity_reason="3 of 10 answers are wrong")
    assert cells(GOOD, bad, GOOD)["verdict"] == "INCORRECT"
    assert trial_notes([GOOD, bad, bad]) == ("INCORRECT: 3 of 10 answers are wrong (2 of 3 trials)",)


def test_known_failures_have_a_note() -> None:
    trials = [
        replace(GOOD, tally=Tally(explained=n, explained_cases=(ExplainedCase("stall_tls", "hangs", "https://i", n),)))
        for n in (1, 3)
    ]
    assert trial_notes(trials) == ("known failure stall_tls: hangs (https://i): explains 3 wrong answers",)
    assert trial_notes(trials[:1])[0].endswith(": explains 1 wrong answer")
