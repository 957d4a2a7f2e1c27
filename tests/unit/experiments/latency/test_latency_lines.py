"""The cost of a call, from the lines of a client: figures of its calls and loops."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from httpdyno.experiments.latency.judge import Content, LatencyPoint, summarise_lines
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.judge.verdict import VERDICTS

MS = 10**6
START = 1_700_000_000 * 10**9
URL = "http://latency.example/plain?n="


def lines(durations_ms: list[float], parallel: int = 1, verdicts: list[str] | None = None) -> pl.DataFrame:
    """Make the lines of batches that are sent one after the other; calls of one batch begin together."""
    starts, now = [], START
    for first in range(0, len(durations_ms), parallel):
        batch = durations_ms[first : first + parallel]
        starts += [now] * len(batch)
        now += round(max(batch) * MS)
    return pl.DataFrame(
        {
            "url": [f"{URL}{number}" for number in range(len(durations_ms))],
            "start_ns": starts,
            "duration_ns": [round(duration * MS) for duration in durations_ms],
            "verdict": verdicts or ["right"] * len(durations_ms),
        },
        schema={"url": pl.String, "start_ns": pl.Int64, "duration_ns": pl.Int64, "verdict": VERDICTS},
    )


def point(parallel: int = 1) -> LatencyPoint:
    return LatencyPoint(Content.PLAIN, parallel)


def test_a_call_alone_is_a_loop() -> None:
    summary = summarise_lines(lines([50.0, *[2.0] * 1500]), point())
    assert summary.loops == 100
    assert (summary.mean_ns, summary.deviation_ns) == (2 * MS, 0)
    assert (summary.p50_ns, summary.p99_ns, summary.p999_ns) == (2 * MS, 2 * MS, 2 * MS)
    assert summary.first_ns == 50 * MS
    assert summary.calls == 1501 - 76, "the first 0.2 s warm the process up"


def test_a_batch_is_a_loop_from_its_first_call_to_its_last_answer() -> None:
    summary = summarise_lines(lines([1.0, 3.0, 8.0, 4.0] * 400, parallel=4), point(4))
    assert summary.mean_ns == 8 * MS
    assert summary.p50_ns == 3 * MS
    assert summary.call_ns == 4 * MS
    assert summary.calls % 4 == 0


def test_a_stall_shows_in_the_percentiles_that_a_mean_hides() -> None:
    # One call in 500 takes 100 ms: the mean of the loops hardly moves.
    summary = summarise_lines(lines([100.0 if number % 500 == 250 else 1.0 for number in range(6000)]), point())
    assert summary.p50_ns == MS
    assert summary.p999_ns == 100 * MS
    assert summary.max_ns == 100 * MS


def test_loops_with_a_wrong_answer_are_no_loops() -> None:
    verdicts = ["right"] * 3000
    verdicts[2001] = "wrong_length"
    durations = [1.0] * 3000
    durations[2000] = durations[2001] = 500.0
    summary = summarise_lines(lines(durations, 2, verdicts), point(2))
    assert summary.max_ns == MS


def test_what_a_call_takes_is_the_servers_the_wires_and_the_clients() -> None:
    samples = lines([2.0] * 1000)
    arrivals = samples.select(
        "url", at_ns=pl.col("start_ns") + 500_000, done_ns=pl.col("start_ns") + 1_000_000
    ).with_columns(done_ns=pl.when(pl.col("url").str.ends_with("7")).then(None).otherwise("done_ns"))
    kept = summarise_lines(samples, point(), arrivals=arrivals, round_trip_ns=30_000, connections_per_call=0.0)
    assert (kept.server_ns, kept.wire_ns, kept.client_ns) == (500_000, 30_000, 1_470_000)
    new = summarise_lines(samples, point(), arrivals=arrivals, round_trip_ns=30_000, connections_per_call=1.0)
    assert (new.wire_ns, new.client_ns) == (60_000, 1_440_000), "a connection costs a round trip of its own"


@pytest.mark.parametrize(("bound_ns", "known"), [(0, True), (1_999_999, True), (2_000_000, False), (10**9, False)])
def test_whose_a_call_is_needs_a_clock_that_is_known_better_than_a_call_lasts(bound_ns: int, known: bool) -> None:
    samples = lines([2.0] * 1000)
    arrivals = samples.select("url", at_ns=pl.col("start_ns"), done_ns=pl.col("start_ns") + 500_000)
    summary = summarise_lines(
        samples, point(), arrivals=arrivals, round_trip_ns=30_000, connections_per_call=0.0, clock_bound_ns=bound_ns
    )
    parts = (summary.server_ns, summary.wire_ns, summary.client_ns)
    assert parts == ((500_000, 30_000, 1_470_000) if known else (None, None, None))
    assert summary.p50_ns == 2 * MS, "how long it took is not the other clock's business"


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"round_trip_ns": 1000, "connections_per_call": 1.0},
        {
            "arrivals": pl.DataFrame(
                {"url": [], "at_ns": [], "done_ns": []},
                schema={"url": pl.String, "at_ns": pl.Int64, "done_ns": pl.Int64},
            )
        },
    ],
)
def test_without_stamps_the_shares_are_unknown(seen: dict[str, Any]) -> None:
    summary = summarise_lines(lines([2.0] * 1000), point(), **seen)
    assert summary.server_ns is None
    assert summary.client_ns is None


def test_cpu_time_is_that_of_the_warm_calls() -> None:
    # 200 ms of CPU to start, then half of the time.
    cpu = CpuSeries(START - 10**9, np.array([0, 10**9, 3 * 10**9]), np.array([0, 200 * MS, 200 * MS + 10**9]))
    summary = summarise_lines(lines([2.0] * 1000), point(), cpu=cpu)
    assert summary.cpu_per_call_ns == pytest.approx(MS)


@pytest.mark.parametrize(
    ("begin", "end", "used"), [(0, 10, 5.0), (2, 4, 1.0), (-1, 5, None), (5, 5, None), (8, 30, 1.0)]
)
def test_cpu_time_between_two_moments(begin: int, end: int, used: float | None) -> None:
    assert CpuSeries(100, np.array([0, 10]), np.array([0, 5])).between(100 + begin, 100 + end) == used


def test_a_client_that_printed_next_to_nothing_has_no_figures() -> None:
    assert summarise_lines(lines([]), point()).mean_ns is None
    few = summarise_lines(lines([30.0, 1.0]), point())
    assert (few.calls, few.mean_ns, few.first_ns) == (0, None, 30 * MS)
