"""What a right answer of a crawl costs: made-up crawls whose start, warm-up and cost of an answer are known."""

import numpy as np
import polars as pl
import pytest

from httpdyno.judge.cpu_per_right import CpuPerRight, cpu_per_right
from httpdyno.judge.cpu_series import CpuSeries
from httpdyno.judge.verdict import VERDICTS
from httpdyno.model import Counters

MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000


def crawl(
    urls: int,
    *,
    in_flight: int = 50,
    each_ns: int = 500 * MS,
    cost_ns: int = 2 * MS,
    cold: int = 0,
    cold_cost_ns: int = 0,
    start_ns: int = 100 * MS,
    start_cpu_ns: int = 60 * MS,
) -> tuple[pl.DataFrame, CpuSeries]:
    """Make the lines and the CPU clock of a client that has so many URLs in flight; each costs half at its end."""
    starts = start_ns + np.arange(urls) * (each_ns // in_flight)
    ends = starts + each_ns
    costs = np.where(np.arange(urls) < cold, cost_ns + cold_cost_ns, cost_ns)
    moments = np.concatenate((starts, ends))
    order = np.argsort(moments, kind="stable")
    spent = start_cpu_ns + np.cumsum(np.concatenate((costs, costs))[order] / 2)
    readings = np.arange(10 * MS, int(ends[-1]) + 20 * MS, 10 * MS)
    used = np.interp(readings, np.concatenate(([0, start_ns], moments[order])), [0, start_cpu_ns, *spent])
    samples = pl.DataFrame(
        {
            "start_ns": EPOCH + starts,
            "duration_ns": ends - starts,
            "precision_ns": np.full(urls, MS),
            "verdict": pl.Series(["right"] * urls, dtype=VERDICTS),
        }
    )
    return samples, CpuSeries(EPOCH, readings, used.astype(np.int64))


@pytest.mark.parametrize("in_flight", [1, 50, 250])
def test_starting_is_told_apart_and_neither_the_first_nor_the_last_in_flight_count_twice(in_flight: int) -> None:
    found = cpu_per_right(*crawl(1_000, in_flight=in_flight), Counters())
    assert found.start_cpu_ns == pytest.approx(60 * MS, rel=0.1)
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.01)
    assert found.warm_up_cpu_ns == pytest.approx(0, abs=20 * MS)


def test_what_it_costs_to_get_warm_is_told_apart() -> None:
    found = cpu_per_right(*crawl(2_000, cold=200, cold_cost_ns=8 * MS), Counters())
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.02)
    assert found.warm_up_cpu_ns == pytest.approx(1600 * MS, rel=0.1)


def test_wrong_answers_are_on_the_account_of_the_right_ones() -> None:
    samples, cpu = crawl(1_000)
    verdicts = pl.Series(["right"] * 800 + ["wrong_status"] * 200, dtype=VERDICTS)
    found = cpu_per_right(samples.with_columns(verdict=verdicts), cpu, Counters())
    assert found.cpu_per_right_ns == pytest.approx(2.5 * MS, rel=0.01)


def test_a_short_crawl_says_nothing_of_a_warm_up() -> None:
    found = cpu_per_right(*crawl(40), Counters())
    assert found.warm_up_cpu_ns is None
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.02)


def test_without_readings_or_times_starting_is_not_told_apart() -> None:
    samples, cpu = crawl(100)
    counted = Counters(cpu_user_ns=150 * MS, cpu_system_ns=50 * MS)
    assert cpu_per_right(samples, None, counted) == CpuPerRight(cpu_per_right_ns=2 * MS)
    coarse = samples.with_columns(precision_ns=pl.lit(1000 * MS))
    assert cpu_per_right(coarse, cpu, counted) == CpuPerRight(cpu_per_right_ns=2 * MS)
    assert cpu_per_right(samples, None, Counters()) == CpuPerRight()


@pytest.mark.parametrize("verdict", ["unverified", "wrong_status"])
def test_nothing_is_said_where_nobody_knows_what_is_right_or_nothing_is(verdict: str) -> None:
    samples, cpu = crawl(100)
    verdicts = pl.Series([verdict] * 100, dtype=VERDICTS)
    assert cpu_per_right(samples.with_columns(verdict=verdicts), cpu, Counters()) == CpuPerRight()
