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
    [(8.5, 1, True), (8.4, 1, False), (8.5, 2, False), (17.0, 2, True), (0.0, 1, False)],
)
def test_saturation_is_a_share_of_the_cpus_while_the_list_lasts(
    cpu_s: float, subject_cpus: int, *, saturated: bool
) -> None:
    starts = pl.Series([100 * SECOND, None, 110 * SECOND])
    assert is_saturated(starts, counters(cpu_s, subject_cpus=subject_cpus)) is saturated


def test_nothing_is_said_without_starts_or_counts() -> None:
    assert not is_saturated(pl.Series([], dtype=pl.Int64), counters(9.0))
    assert not is_saturated(pl.Series([110 * SECOND]), Counters())


def test_only_false_errors_at_the_timeout_are_named() -> None:
    samples = pl.DataFrame(
        {
            "verdict": [Verdict.FALSE_ERROR.value, Verdict.FALSE_ERROR.value, Verdict.WRONG_LENGTH.value, "right"],
            "duration_ns": [5 * SECOND, 2 * SECOND, 5 * SECOND, 5 * SECOND],
            "cause": [None, None, None, "stall_tls"],
        }
    )
    causes = name_timeouts(samples, timeout_ns=5 * SECOND)["cause"].to_list()
    assert causes == [TIMED_OUT_SATURATED, None, None, "stall_tls"]
