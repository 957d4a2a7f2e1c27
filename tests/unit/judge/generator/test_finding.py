"""Verdicts over figures: what is right, what is off and by how much."""

from collections.abc import Callable

import pytest

from httpdyno.judge.generator import Stalling, judge_report, replay
from httpdyno.judge.generator.distribution import distribution_of
from httpdyno.model import ToolLatency, ToolReport

MS = 1_000_000
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


def test_a_percentile_that_fewer_than_ten_exceed_is_told_and_not_judged() -> None:
    # One interruption of 4 ms: the slowest of a thousand, and of ten thousand the slowest eleven.
    answered = report(1_000, p50=5, p99=5, p99_9=9)
    assert judge_report(answered, distribution_of([5 * MS] * 1_000), connections=0).right
    many = judge_report(answered, distribution_of([5 * MS] * 10_000), connections=0)
    assert str(many.worst) == "p99.9 1.80x too high"
    # That nothing could be judged is no praise.
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
    """A closed loop sees the stall once a connection; who claims a schedule must report what the schedule saw."""
    stall = Stalling(5 * MS, at_ns=4_000 * MS, length_ns=1_000 * MS)
    truth = replay(stall, rate_per_s=1_000, duration_s=8, connections=64).response
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
