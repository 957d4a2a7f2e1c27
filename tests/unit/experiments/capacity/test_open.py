"""Figures of an open loop: from made-up samples with known truths."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.capacity.judge import Schedule, summarise_open
from httpdyno.model import Verdict

MS, S = 10**6, 10**9
BEGAN = 1_700_000_000 * S


def measured(
    count: int,
    rate_per_s: float,
    service_ns: np.ndarray | float,
    *,
    lag_ns: np.ndarray | float = 0,
    wrong: set[int] = frozenset(),  # type: ignore[assignment]  # never changed
    unreached: int = 0,
    concurrency: int = 10,
    ended_ns: int | None = None,
) -> tuple[CapacitySummary, dict[str, float | None]]:
    """Summarise a trial: request number n is taken ``lag_ns`` after it was due, the last ``unreached`` never."""
    schedule = Schedule(BEGAN, rate_per_s, count)
    numbers = np.arange(count)
    starts = schedule.due_ns(numbers) + np.broadcast_to(lag_ns, count).astype(np.int64)
    durations = np.broadcast_to(service_ns, count).astype(np.int64)
    reached = numbers < count - unreached
    verdicts = [
        (Verdict.FALSE_ERROR if number in wrong else Verdict.RIGHT if there else Verdict.NOT_REACHED).value
        for number, there in zip(numbers.tolist(), reached.tolist(), strict=True)
    ]
    samples = pl.DataFrame(
        {
            "url": [f"http://a.example/bytes/1?n={number}" for number in numbers.tolist()],
            "start_ns": pl.Series(starts).zip_with(pl.Series(reached), pl.Series([None] * count, dtype=pl.Int64)),
            "duration_ns": pl.Series(durations).zip_with(pl.Series(reached), pl.Series([None] * count, dtype=pl.Int64)),
            "verdict": verdicts,
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)
    return summarise_open(samples, schedule, concurrency=concurrency, ended_at_ns=ended_ns or schedule.end_ns + S)


@given(st.integers(400, 4000), st.floats(50, 5000), st.floats(0.001, 0.2))
def test_a_steady_client_keeps_its_rate_whatever_its_latency(count: int, rate: float, part: float) -> None:
    latency_ns = part * count / rate * S
    summary, figures = measured(count, rate, latency_ns)
    assert summary.per_s == pytest.approx(rate, rel=0.02)
    assert (summary.errors, summary.errors_share) == (0, 0.0)
    for name in ("p50", "p99", "max", "mean"):
        assert figures[name] == pytest.approx(latency_ns, abs=2)
    assert summary.service_mean_ns == pytest.approx(latency_ns, abs=2)


def test_a_stall_counts_for_all_who_had_to_wait_for_it() -> None:
    # One second in ten without an answer, for a client that then answers all due requests at once.
    count, rate = 10_000, 1000.0
    numbers = np.arange(count)
    stalled = (numbers >= 5000) & (numbers < 6000)
    lag = np.where(stalled, (6000 - numbers) * MS, 0)
    summary, figures = measured(count, rate, 1 * MS, lag_ns=lag)
    assert summary.service_mean_ns == pytest.approx(1 * MS)
    # A tenth of the requests waited half a second in the mean: the longest a second. Service times do not show it.
    assert figures["max"] == pytest.approx(1001 * MS)
    assert figures["p90"] == pytest.approx(1 * MS, abs=150 * MS)
    assert figures["p99"] == pytest.approx(901 * MS, abs=20 * MS)
    assert summary.per_s == pytest.approx(1000, rel=0.01)


def test_a_client_that_falls_behind_does_not_keep_the_rate() -> None:
    # It takes 2 ms for each, one after the other, of 1000 that are due in a second.
    count, rate = 5000, 1000.0
    numbers = np.arange(count)
    summary, figures = measured(count, rate, 2 * MS, lag_ns=numbers * MS, unreached=2000, ended_ns=BEGAN + 6 * S)
    assert summary.per_s == pytest.approx(500, rel=0.01)
    assert (figures["p50"] or 0) > S
    # The end of the trial is the lower bound for requests that were never taken.
    assert (figures["max"] or 0) >= 3 * S
    assert summary.errors == 0


def test_the_catching_up_of_a_slow_start_is_no_part_of_the_steady_stretch() -> None:
    count, rate = 2000, 1000.0
    numbers = np.arange(count)
    lag = np.maximum(0, 300 - numbers) * MS
    summary, figures = measured(count, rate, 1 * MS, lag_ns=lag)
    assert summary.per_s == pytest.approx(1000, rel=0.01)
    assert figures["p99"] == pytest.approx(1 * MS)
    assert summary.measured_ns < 2 * S


def test_to_catch_up_is_not_to_hold_more() -> None:
    # Nothing is answered until half of the schedule is over, then all that was due and each as it becomes due.
    count = 2000
    lag = np.maximum(0, 1200 - np.arange(count)) * MS
    assert measured(count, 1000.0, 1 * MS, lag_ns=lag)[0].per_s == 1000.0


def test_errors_are_a_share_of_the_requests_due_in_the_stretch() -> None:
    summary, figures = measured(1000, 1000.0, 1 * MS, wrong=set(range(500, 1000, 10)))
    assert summary.errors == 50
    assert figures["errors"] == pytest.approx(0.05, rel=0.05)
    assert summary.per_s == pytest.approx(950, rel=0.03)


def test_a_silent_client_has_figures() -> None:
    summary, figures = measured(100, 100.0, 0, unreached=100)
    assert (summary.answers, summary.per_s, summary.service_mean_ns) == (0, None, None)
    assert summary.errors_share == 0.0
    assert (figures["p50"] or 0) >= S


def test_one_request_at_a_time_of_200_ms_is_five_a_second() -> None:
    # Ten are due in a second, and each begins when the one before has ended.
    numbers = np.arange(10)
    summary, _ = measured(10, 10.0, 200 * MS, lag_ns=numbers * 100 * MS, concurrency=1)
    assert summary.per_s is not None
    assert 3 < summary.per_s <= 5


def test_answers_after_the_schedule_are_no_rate() -> None:
    # The client starts later than the schedule ends.
    summary, figures = measured(10, 10.0, 200 * MS, lag_ns=2 * S, ended_ns=BEGAN + 4 * S)
    assert (summary.answers, summary.per_s, summary.errors) == (0, None, 0)
    assert (figures["p50"] or 0) >= 2 * S


def test_requests_due_after_the_end_do_not_count() -> None:
    numbers = list(range(1000))
    samples = pl.DataFrame(
        {
            "url": [f"http://a.example/bytes/1?n={number}" for number in numbers],
            "start_ns": [BEGAN + number * MS if number < 600 else None for number in numbers],
            "duration_ns": [MS if number < 600 else None for number in numbers],
            "verdict": [Verdict.RIGHT.value if number < 600 else Verdict.NOT_REACHED.value for number in numbers],
        }
    )
    summary, figures = summarise_open(
        samples, Schedule(BEGAN, 1000.0, 600), concurrency=1, ended_at_ns=BEGAN + 600 * MS
    )
    assert summary.per_s == pytest.approx(1000, rel=0.02)
    assert figures["max"] == MS


@given(st.integers(1, 5), st.integers(20, 200), st.floats(1.2, 3.0))
def test_answers_in_step_are_counted_in_whole_rounds(concurrency: int, round_ms: int, duration_s: float) -> None:
    # All slots are busy, and each request takes the same time: Little's law.
    count = int(duration_s * 1000)
    due = np.arange(count) * MS
    starts = np.arange(count) // concurrency * round_ms * MS
    summary, _ = measured(
        count,
        1000.0,
        round_ms * MS,
        lag_ns=starts - due,
        concurrency=concurrency,
        unreached=int((starts > duration_s * S).sum()),
    )
    allowed = concurrency * 1000 / round_ms
    assert summary.per_s is not None
    assert summary.per_s <= 1.001 * allowed or summary.answers < 3 * concurrency
