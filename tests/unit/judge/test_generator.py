"""Exact quantiles, schedules followed request by request, reports of generators and verdicts on their figures."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.schedules import overload_quantile_ns, stall_quantile_ns
from httpdyno.errors import EngineFailed, InvalidValue, UnreadableReport
from httpdyno.judge.generator import (
    Distribution,
    ServerRecord,
    distribution_of,
    judge_report,
    queueing_server,
    read_server_record,
    replay,
    stalling_server,
    why_not_judged,
    why_not_usable,
)
from httpdyno.judge.tool_reports.httpdyno_load import parse
from httpdyno.model import Count, ToolLatency, ToolReport


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300), st.integers(0, 1000))
def test_a_quantile_is_the_time_of_its_rank(times: list[int], thousandths: int) -> None:
    rank = max(1, -(-thousandths * len(times) // 1000))
    assert distribution_of(times).quantile_ns(thousandths / 1000) == sorted(times)[rank - 1]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50), st.integers(0, 10**9))
def test_later_is_later_by_so_much(times: list[int], by_ns: int) -> None:
    moved, direct = distribution_of(times).later(by_ns), distribution_of(time + by_ns for time in times)
    assert (moved.times_ns, moved.counts) == (direct.times_ns, direct.counts)
    assert moved.mean_ns == pytest.approx(direct.mean_ns)


def test_shares_beyond_the_ends_are_the_ends() -> None:
    found = distribution_of([3, 1, 2])
    assert (found.quantile_ns(-0.5), found.quantile_ns(1.5), found.mean_ns, found.count) == (1, 3, 2.0, 3)


def test_what_is_no_distribution_is_refused() -> None:
    for times, counts in (((2, 1), (1, 2)), ((1, 2), (2, 1)), ((1,), ())):
        with pytest.raises(InvalidValue, match="a distribution"):
            Distribution(times, counts, 0.0)
    with pytest.raises(InvalidValue, match="no quantiles"):
        distribution_of([]).quantile_ns(0.5)


MS = 1_000_000
SECOND = 1_000 * MS
PLENTY = 10_000
SHARES = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)


@given(
    rate=st.integers(100, 2_000),
    tenths=st.integers(10, 40),
    share=st.floats(0.05, 0.4),
    at=st.floats(0.1, 0.5),
    service_ms=st.integers(0, 20),
)
def test_a_stall_delays_uniformly_whatever_the_rate(
    rate: int, tenths: int, share: float, at: float, service_ms: int
) -> None:
    duration_s = tenths / 10
    length_ns = round(share * duration_s * SECOND)
    server = stalling_server(service_ms * MS, round(at * duration_s * SECOND), length_ns)
    seen = replay(server, rate_per_s=rate, duration_s=duration_s, connections=PLENTY, answered=PLENTY)
    assert seen.expected == seen.times.count
    # A schedule has as many waits in the stall as it has requests there: it meets the line in steps of one gap.
    step_ns = 2 * SECOND / rate / share
    for quantile in SHARES:
        expected = stall_quantile_ns(quantile, service_ns=service_ms * MS, length_ns=length_ns, duration_s=duration_s)
        assert abs(seen.times.quantile_ns(quantile) - expected) <= step_ns


@given(per_s=st.integers(50, 500), factor=st.floats(1.1, 3.0), tenths=st.integers(10, 40))
def test_more_than_can_be_served_waits_ever_longer(per_s: int, factor: float, tenths: int) -> None:
    duration_s, service_ns = tenths / 10, round(SECOND / per_s)
    seen = replay(queueing_server(service_ns), rate_per_s=per_s * factor, duration_s=duration_s, connections=PLENTY)
    for quantile in SHARES:
        expected = overload_quantile_ns(
            quantile, service_ns=service_ns, rate_per_s=per_s * factor, duration_s=duration_s
        )
        assert abs(seen.times.quantile_ns(quantile) - expected) <= 2 * service_ns


def test_a_server_with_spare_capacity_makes_no_request_wait() -> None:
    seen = replay(queueing_server(2 * MS), rate_per_s=400, duration_s=2, connections=4)
    assert (seen.times.quantile_ns(0), seen.times.quantile_ns(1)) == (2 * MS, 2 * MS)
    seen = replay(stalling_server(5 * MS), rate_per_s=1_000, duration_s=1, connections=5)
    assert (seen.times.quantile_ns(0), seen.times.quantile_ns(1)) == (5 * MS, 5 * MS)


def test_a_wait_for_a_connection_counts_from_the_intended_send() -> None:
    # One connection, 10 ms an answer, one request each 5 ms: each waits 5 ms longer than the one before.
    seen = replay(stalling_server(10 * MS), rate_per_s=200, duration_s=0.02, connections=1, answered=4)
    assert seen.times.times_ns == (10 * MS, 15 * MS, 20 * MS, 25 * MS)
    assert seen.expected == 2


def test_what_counts_at_the_end_is_between_what_was_answered_and_what_was_planned() -> None:
    for answered, counted in ((None, 1_000), (10, 1_000), (1_200, 1_200), (5_000, 1_500)):
        seen = replay(queueing_server(2 * MS), rate_per_s=750, duration_s=2, connections=64, answered=answered)
        assert seen.times.count == counted, answered


@pytest.mark.parametrize(("rate", "connections"), [(0.1, 1), (100, 0)])
def test_no_schedule_is_refused(rate: float, connections: int) -> None:
    with pytest.raises(InvalidValue, match="one request and one connection"):
        replay(stalling_server(0), rate_per_s=rate * 0, duration_s=1, connections=connections)


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
        (
            {},
            0.5,
            "other programs, or this machine's host, used the generator's CPUs for 50% of the time (5% is allowed)",
        ),
        ({"answers": 0}, 0.0, "no requests were sent"),
        ({"lateness_p50_ns": 300_000}, 0.0, "half of its answers 0.3 ms late"),
        ({"lateness_p99_ns": 3 * MS}, 0.0, "one answer in a hundred 3.0 ms late"),
        ({"lateness_p99_ns": 3 * MS, "planned_p99_ns": 900 * MS}, 0.0, None),
        (
            {"waiting_ns": 100 * MS},
            0.0,
            "host, used the server's CPU for 10% of the time (2% is allowed)",
        ),
    ],
)
def test_a_disturbed_server_judges_no_generator(change: dict[str, Any], foreign_share: float, said: str | None) -> None:
    reason = why_not_judged(replace(RECORD, **change), foreign_share=foreign_share)
    assert (reason is None) if said is None else (reason is not None and said in reason)


@pytest.mark.parametrize(
    ("reported_ms", "waiting_share", "foreign_share", "said"),
    [
        ({50.0: 5}, 0.3, 0.3, None),
        ({99.0: 9}, 0.001, 0.001, None),
        ({99.0: 9}, 0.002, 0.001, "its p99 would be wrong, but other programs, or this machine's host, used"),
        ({99.0: 9}, 0.0, 0.006, "for 0.60% of the time (0.25% is allowed for that)"),
        ({90.0: 9, 99.0: 9}, 0.0, 0.006, None),
        ({50.0: 9}, 0.05, 0.05, None),
        ({99.9: 9}, 0.0005, 0.0004, None),
        ({99.9: 9}, 0.002, 0.0, "p99.9 would be wrong"),
    ],
)
def test_figures_are_inconclusive_while_other_programs_use_the_cpus(
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


OPENED = {**OWN, "plan": {"rate_per_s": 1.5}}


def test_an_open_loop_is_held_to_response_time_and_a_closed_one_to_service_time() -> None:
    opened, closed = (parse(json.dumps({**OWN, "plan": {"rate_per_s": rate}})) for rate in (1.5, None))
    assert (opened.requests, opened.non_2xx, opened.errors) == (3, 1, (Count("ConnectionRefused", 1),))
    assert opened.latency is not None
    assert closed.latency is not None
    assert (opened.latency.percentiles_ns[99.9], closed.latency.percentiles_ns[99.9]) == (10_000, 100)
    assert (opened.latency.mean_ns, closed.latency.mean_ns) == (2_000, 20)


def test_a_report_of_the_generator_that_lacks_a_figure_is_refused() -> None:
    with pytest.raises(UnreadableReport, match=r"it has no response_time"):
        parse(json.dumps({**OPENED, "response_time": None}))
    assert parse(json.dumps({**OPENED, "requests": 0})).latency is None


TRUTH = distribution_of(range(MS, 1_001 * MS, MS))
"""1 ms to 1 s: the percentile p is 10 p ms."""


def report(requests: int = 1_000, mean_ms: float | None = None, **percentiles_ms: float) -> ToolReport:
    latency = ToolLatency(
        mean_ns=None if mean_ms is None else round(mean_ms * MS),
        percentiles_ns={float(name[1:].replace("_", ".")): round(ms * MS) for name, ms in percentiles_ms.items()},
    )
    return ToolReport(requests=requests, duration_ns=8_000 * MS, latency=latency)


@pytest.mark.parametrize(
    ("reported", "verdict"),
    [
        (report(p50=500, p99=990, p99_9=999), None),
        (report(p50=526, p99=945), None),
        (report(p50=540), "p50 1.08x too high"),
        (report(p50=450), "p50 1.11x too low"),
        (report(p50=500, p90=1, p99=1), "p99 990x too low"),
        (report(p50=500, p90=30_000), "p90 33x too high"),
        (report(mean_ms=500.5), None),
        (report(mean_ms=50), "mean 10x too low"),
        (report(p99=0), "p99 990,000x too low"),
    ],
)
def test_the_figure_that_is_off_the_most_is_named(reported: ToolReport, verdict: str | None) -> None:
    judgement = judge_report(reported, TRUTH, connections=0)
    assert (str(judgement.worst) if judgement.worst else None) == verdict
    assert judgement.right is (verdict is None)


def test_requests_under_way_at_the_end_may_count_or_not() -> None:
    # Ten of a thousand are missing: they may have been the slowest.
    without_the_slowest = report(requests=990, p99=980, p90=891)
    assert judge_report(without_the_slowest, TRUTH, connections=16).right
    far_off = report(requests=500, p90=800)
    assert not judge_report(far_off, TRUTH, connections=16).right


def test_very_short_times_may_differ_by_a_quarter_of_a_millisecond_and_the_last_by_one() -> None:
    at_once = distribution_of([25_000] * 10_000)
    assert judge_report(report(10_000, p50=0.2, p99=0.27, p99_9=1.0), at_once, connections=64).right
    late = judge_report(report(10_000, p50=0.96), at_once, connections=64)
    assert str(late.worst) == "p50 38x too high"


def test_a_percentile_that_fewer_than_ten_exceed_is_shown_but_not_judged() -> None:
    # One interruption of 4 ms: the slowest of a thousand, and of ten thousand the slowest eleven.
    answered = report(1_000, p50=5, p99=5, p99_9=9)
    assert judge_report(answered, distribution_of([5 * MS] * 1_000), connections=0).right
    many = judge_report(answered, distribution_of([5 * MS] * 10_000), connections=0)
    assert str(many.worst) == "p99.9 1.80x too high"
    # A result that could not be judged is not a success.
    few = judge_report(report(9, p50=5), distribution_of([5 * MS] * 9), connections=0)
    assert (few.right, few.worst) == (False, None)


def test_a_schedule_that_is_not_kept_is_wrong_even_if_every_time_is_right() -> None:
    judgement = judge_report(report(p50=500), TRUTH, connections=16, sent=900, expected=1_000)
    assert str(judgement.worst) == "sent 900 of 1,000 requests"
    assert judge_report(report(p50=500), TRUTH, connections=16, sent=980, expected=1_000).right


def test_a_tool_without_any_figure_is_not_right() -> None:
    nothing = ToolReport(requests=0, duration_ns=1)
    judgement = judge_report(nothing, TRUTH, connections=1)
    assert (judgement.right, judgement.worst) == (False, None)


def test_a_generator_that_omits_is_found_out() -> None:
    """A closed loop sees the stall once a connection; a generator with a schedule must report its response times."""
    stall = stalling_server(5 * MS, at_ns=4_000 * MS, length_ns=1_000 * MS)
    truth = replay(stall, rate_per_s=1_000, duration_s=8, connections=64).times
    honest = judge_report(_percentiles(truth.quantile_ns), truth, connections=64)
    assert honest.right, honest.worst
    omitting = distribution_of([5 * MS] * 6_936 + [1_000 * MS] * 64)
    judgement = judge_report(_percentiles(omitting.quantile_ns), truth, connections=64, sent=7_000, expected=8_000)
    assert judgement.worst is not None
    assert not judgement.right
    assert judgement.worst.name in {"p95", "p99"}
    assert judgement.worst.factor > 100


def _percentiles(quantile_ns: Callable[[float], int]) -> ToolReport:
    shares = (0.5, 0.9, 0.95, 0.99, 0.999)
    percentiles = {round(share * 100, 6): quantile_ns(share) for share in shares}
    return ToolReport(requests=8_000, duration_ns=8_000 * MS, latency=ToolLatency(percentiles_ns=percentiles))
