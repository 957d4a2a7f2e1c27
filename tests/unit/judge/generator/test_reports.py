"""The reports of the calibrator and of httpdyno's own generator, and when nobody is judged."""

import json
from dataclasses import replace
from typing import Any

import pytest

from httpdyno.errors import EngineFailed, UnreadableReport
from httpdyno.judge.generator import ServerRecord, judge_report, read_server_record, why_not_judged, why_not_usable
from httpdyno.judge.generator.distribution import distribution_of
from httpdyno.judge.tool_reports.load_report import read_load_report
from httpdyno.model import Count, Loop, ToolLatency, ToolReport

MS = 1_000_000
RECORD = ServerRecord(
    requests=3,
    answers=3,
    answers_span_ns=1_000 * MS,
    connections=2,
    arrived_in_stall=1,
    service=distribution_of([MS, MS, 5 * MS]),
    planned_p99_ns=5 * MS,
    lateness_p50_ns=20_000,
    lateness_p99_ns=90_000,
    waiting_ns=10 * MS,
)
REPORT: dict[str, Any] = {
    "version": 1,
    "calibrator": {
        "requests": 3,
        "answers": 3,
        "given_up": 0,
        "connections": 2,
        "answers_span_ns": 1_000 * MS,
        "arrived_in_stall": 1,
        "service": {"count": 3, "mean_ns": 7 * MS / 3, "steps": [[MS, 2], [5 * MS, 3]]},
        "planned": {"p99_ns": 5 * MS},
        "lateness": {"p50_ns": 20_000, "p99_ns": 90_000},
        "waiting_ns": 10 * MS,
    },
}


def test_the_calibrators_report_is_read() -> None:
    assert read_server_record(json.dumps(REPORT)) == RECORD


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"calibrator": {"requests": "many"}}'])
def test_what_is_no_report_of_the_calibrator_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(EngineFailed, match="the calibrator's report cannot be read"):
        read_server_record(text)


@pytest.mark.parametrize(
    ("change", "foreign_share", "said"),
    [
        ({}, 0.0, None),
        ({}, 0.05, None),
        ({}, 0.5, "other work, or this machine's host, had the generator's CPUs for 50% of the time (5% is allowed)"),
        ({"answers": 0}, 0.0, "no answer was asked for"),
        ({"lateness_p50_ns": 300_000}, 0.0, "half of its answers 0.3 ms late"),
        ({"lateness_p99_ns": 3 * MS}, 0.0, "one answer in a hundred 3.0 ms late"),
        ({"lateness_p99_ns": 3 * MS, "planned_p99_ns": 900 * MS}, 0.0, None),
        (
            {"waiting_ns": 100 * MS},
            0.0,
            "host, had the server's CPU for 10% of the time (2% is allowed)",
        ),
    ],
)
def test_nobody_is_judged_by_a_server_that_was_disturbed(
    change: dict[str, Any], foreign_share: float, said: str | None
) -> None:
    reason = why_not_judged(replace(RECORD, **change), foreign_share=foreign_share)
    assert (reason is None) if said is None else (reason is not None and said in reason)


@pytest.mark.parametrize(
    ("reported_ms", "waiting_share", "foreign_share", "said"),
    [
        ({50.0: 5}, 0.3, 0.3, None),
        ({99.0: 9}, 0.001, 0.001, None),
        ({99.0: 9}, 0.002, 0.001, "its p99 would be wrong, but other work, or this machine's host, had"),
        ({99.0: 9}, 0.0, 0.006, "for 0.60% of the time (0.25% is allowed for that)"),
        ({90.0: 9, 99.0: 9}, 0.0, 0.006, None),
        ({50.0: 9}, 0.05, 0.05, None),
        ({99.9: 9}, 0.0005, 0.0004, None),
        ({99.9: 9}, 0.002, 0.0, "p99.9 would be wrong"),
    ],
)
def test_nobody_is_called_wrong_for_what_came_while_the_cpus_were_taken(
    reported_ms: dict[float, int], waiting_share: float, foreign_share: float, said: str | None
) -> None:
    latency = ToolLatency(percentiles_ns={percent: time * MS for percent, time in reported_ms.items()})
    report = ToolReport(requests=20_000, duration_ns=1_000 * MS, latency=latency)
    judgement = judge_report(report, distribution_of([5 * MS] * 20_000), connections=16)
    record = replace(RECORD, waiting_ns=round(waiting_share * RECORD.answers_span_ns))
    reason = why_not_usable(judgement, record, foreign_share=foreign_share)
    assert (reason is None) if said is None else (reason is not None and said in reason)


def histogram(factor: int) -> dict[str, int]:
    names = ("min", "mean", "stdev", "max", "p50", "p75", "p90", "p95", "p99", "p99_9")
    return {f"{name}_ns": factor * (place + 1) for place, name in enumerate(names)}


OWN: dict[str, Any] = {
    "version": 1,
    "elapsed_s": 2.0,
    "requests": 3,
    "rps": 1.5,
    "statuses": {"200": 2, "500": 1},
    "errors": {"ConnectionRefused": 1},
    "wire": {"received_bytes": 300},
    "response_time": histogram(1_000),
    "service_time": histogram(10),
}


def test_an_open_loop_is_held_to_response_time_and_a_closed_one_to_service_time() -> None:
    opened, closed = (read_load_report(json.dumps(OWN), loop) for loop in (Loop.OPEN, Loop.CLOSED))
    assert (opened.requests, opened.non_2xx, opened.errors) == (3, 1, (Count("ConnectionRefused", 1),))
    assert opened.latency is not None
    assert closed.latency is not None
    assert (opened.latency.percentiles_ns[99.9], closed.latency.percentiles_ns[99.9]) == (10_000, 100)
    assert (opened.latency.mean_ns, closed.latency.mean_ns) == (2_000, 20)


def test_a_report_of_the_generator_that_lacks_a_figure_is_refused() -> None:
    with pytest.raises(UnreadableReport, match=r"there is no response_time"):
        read_load_report(json.dumps({**OWN, "response_time": None}), Loop.OPEN)
    assert read_load_report(json.dumps({**OWN, "requests": 0}), Loop.OPEN).latency is None
