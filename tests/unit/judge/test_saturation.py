"""A saturated client's own timeouts have a known cause; nobody else's have."""

import polars as pl
import pytest

from httpdyno.judge.saturation import TIMED_OUT_SATURATED, is_saturated, name_timeouts
from httpdyno.model import Counters, CpuTime, Verdict

SECOND = 1_000_000_000


def counters(cpu_s: float, *, subject_cpus: int = 1) -> Counters:
    cpus = [CpuTime(0, "engine", 0, 0, 0), *(CpuTime(1 + n, "subject", 0, 0, 0) for n in range(subject_cpus))]
    return Counters(started_at_ns=100 * SECOND, cpu_user_ns=int(cpu_s * SECOND), cpu_system_ns=0, cpus=tuple(cpus))


@pytest.mark.parametrize(
    ("cpu_s", "subject_cpus", "saturated"),
    [(8.6, 1, True), (8.4, 1, False), (8.6, 2, False), (17.2, 2, True), (0.0, 1, False)],
)
def test_saturation_is_a_share_of_the_cpus_while_the_list_lasts(
    cpu_s: float, subject_cpus: int, *, saturated: bool
) -> None:
    starts = pl.Series([*(100 * SECOND + n for n in range(199)), None, 110 * SECOND])
    assert is_saturated(starts, counters(cpu_s, subject_cpus=subject_cpus), concurrency=1) is saturated


def test_what_was_spent_after_the_last_start_does_not_count() -> None:
    starts = pl.Series([100 * SECOND, 100 * SECOND, 101 * SECOND])
    assert is_saturated(starts, counters(2.7), concurrency=2)
    assert not is_saturated(starts, counters(2.4), concurrency=2)
    assert not is_saturated(starts, counters(99.0), concurrency=3)


def test_nothing_is_said_without_starts_or_counts() -> None:
    assert not is_saturated(pl.Series([], dtype=pl.Int64), counters(9.0), concurrency=1)
    assert not is_saturated(pl.Series([105 * SECOND, 110 * SECOND]), Counters(), concurrency=1)


def test_only_false_errors_at_the_timeout_are_named() -> None:
    samples = pl.DataFrame(
        {
            "verdict": [Verdict.FALSE_ERROR.value, Verdict.FALSE_ERROR.value, Verdict.WRONG_LENGTH.value, "right"],
            "duration_ns": [5 * SECOND, 2 * SECOND, 5 * SECOND, 5 * SECOND],
            "cause": [None, None, None, "stall_tls"],
        }
    )
    causes = name_timeouts(samples, TIMED_OUT_SATURATED, timeout_ns=5 * SECOND)["cause"].to_list()
    assert causes == [TIMED_OUT_SATURATED, None, None, "stall_tls"]
