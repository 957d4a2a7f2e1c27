"""CPU time of made-up programs whose start, warm-up and cost of an answer are known."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.judge.cpu_time import CpuSeries, Int64Array, spending_of, with_cpu_time
from httpdyno.judge.verdict import VERDICTS
from httpdyno.model import Counters, LinesSummary

MS = 1_000_000
US = 1000


def made_up(
    costs_ns: Any,  # any input of an array
    *,
    start_ns: int = 100 * MS,
    start_cpu_ns: int = 50 * MS,
    waits_ns: int = 100 * US,
    every_ns: int = 10 * MS,
) -> tuple[CpuSeries, Int64Array]:
    """Make the readings of a program that starts, and then fetches documents of a given cost."""
    costs = np.asarray(costs_ns, dtype=np.int64)
    requests = start_ns + np.concatenate(([0], np.cumsum(costs + waits_ns)))
    spent = start_cpu_ns + np.concatenate(([0], np.cumsum(costs)))
    moments = np.concatenate(([0], requests))
    used = np.concatenate(([0], spent))
    readings = np.arange(every_ns, int(requests[-1]) + 2 * every_ns, every_ns)
    return CpuSeries(0, readings, np.interp(readings, moments, used).astype(np.int64)), requests


@pytest.mark.parametrize("spread_ns", [0, 5 * US, 40 * US])
def test_a_program_that_costs_the_same_from_its_first_document_on_has_a_start_and_no_warm_up(spread_ns: int) -> None:
    found = spending_of(*made_up(np.random.default_rng(1).normal(200 * US, spread_ns, 9_999)))
    assert found is not None
    assert (found.start_ns, found.start_cpu_ns) == (100 * MS, 50 * MS)
    assert found.warm_up_answers == 0
    assert found.steady_cpu_per_answer_ns == pytest.approx(200 * US, rel=0.01)
    assert found.cold_cpu_per_answer_ns == pytest.approx(200 * US, rel=0.05)
    assert found.warm_up_cpu_ns == pytest.approx(0, abs=1)
    assert not found.drift


@pytest.mark.parametrize("warm_up", [250, 1_000, 2_000])
@pytest.mark.parametrize("times", [3, 10])
def test_a_warm_up_is_found_and_what_it_cost_is_taken_apart(warm_up: int, times: int) -> None:
    steady = 300 * US
    found = spending_of(*made_up([times * steady] * warm_up + [steady] * (9_999 - warm_up)))
    assert found is not None
    assert found.warm_up_answers == pytest.approx(warm_up, abs=300)
    assert found.warm_up_answers is not None
    assert found.warm_up_answers >= warm_up - 60
    assert found.steady_cpu_per_answer_ns == pytest.approx(steady, rel=0.02)
    assert found.warm_up_cpu_ns == pytest.approx((times - 1) * steady * warm_up, rel=0.05)
    assert found.cold_cpu_per_answer_ns == pytest.approx(times * steady, rel=0.05)


def test_a_cost_that_never_settles_is_said_to_drift() -> None:
    falling = np.linspace(900 * US, 300 * US, 9_999)
    found = spending_of(*made_up(falling + np.random.default_rng(1).normal(0, 20 * US, 9_999)))
    assert found is not None
    assert found.drift is not None
    assert found.drift < -0.3


@given(st.lists(st.integers(20 * US, 5 * MS), min_size=2, max_size=3_000), st.integers(0, 500 * MS))
def test_start_warm_up_and_steady_state_add_up_to_all_that_was_spent_until_the_last_request(
    costs: list[int], start_cpu_ns: int
) -> None:
    cpu, requests = made_up(costs, start_ns=600 * MS, start_cpu_ns=start_cpu_ns)
    found = spending_of(cpu, requests)
    assert found is not None
    spent = float(cpu.at(requests[-1:])[0])
    if found.warm_up_answers is None:
        assert found.steady_cpu_per_answer_ns is None
        return
    assert found.warm_up_answers <= len(costs) / 4
    assert found.steady_cpu_per_answer_ns is not None
    assert found.warm_up_cpu_ns is not None
    sum_of_parts = found.start_cpu_ns + found.warm_up_cpu_ns + len(costs) * found.steady_cpu_per_answer_ns
    assert sum_of_parts == pytest.approx(spent, abs=2)
    assert [step.answers for step in found.steps] == sorted({step.answers for step in found.steps})
    assert found.steps[-1].answers <= len(costs)


def test_the_order_in_which_requests_were_logged_does_not_matter() -> None:
    cpu, requests = made_up([200 * US] * 2_000)
    assert spending_of(cpu, requests[::-1].copy()) == spending_of(cpu, requests)


@pytest.mark.parametrize("documents", [1, 2, 50])
def test_a_few_documents_show_no_warm_up(documents: int) -> None:
    found = spending_of(*made_up([200 * US] * (documents - 1)))
    assert found is not None
    assert found.start_cpu_ns == 50 * MS
    assert found.warm_up_answers is None
    assert found.steady_cpu_per_answer_ns is None
    assert found.steps == ()


def test_readings_that_are_rarer_than_documents_make_longer_steps() -> None:
    often = spending_of(*made_up([200 * US] * 9_999, every_ns=MS))
    rarely = spending_of(*made_up([200 * US] * 9_999, every_ns=40 * MS))
    assert often is not None
    assert rarely is not None
    assert 200 <= len(often.steps) < 210
    assert 20 <= len(rarely.steps) < 40


@pytest.mark.parametrize("every_ns", [200 * MS, 10_000 * MS])
def test_readings_that_are_too_rare_say_nothing_of_a_warm_up(every_ns: int) -> None:
    found = spending_of(*made_up([200 * US] * 9_999, every_ns=every_ns))
    assert found is not None
    assert found.warm_up_answers is None


def test_without_requests_or_readings_nothing_is_said() -> None:
    cpu, requests = made_up([200 * US] * 100)
    nothing = np.empty(0, dtype=np.int64)
    assert spending_of(cpu, nothing) is None
    assert spending_of(CpuSeries(0, nothing, nothing), requests) is None


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
    """Make the lines and the CPU clock of a client with a number of URLs in flight; each costs half at its end."""
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
def test_start_up_is_separate_and_neither_the_first_nor_the_last_in_flight_count_twice(in_flight: int) -> None:
    found = with_cpu_time(LinesSummary(), *crawl(1_000, in_flight=in_flight), Counters())
    assert found.start_cpu_ns == pytest.approx(60 * MS, rel=0.1)
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.01)
    assert found.warm_up_cpu_ns == pytest.approx(0, abs=20 * MS)


def test_the_cost_of_the_warm_up_is_separate() -> None:
    found = with_cpu_time(LinesSummary(), *crawl(2_000, cold=200, cold_cost_ns=8 * MS), Counters())
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.02)
    assert found.warm_up_cpu_ns == pytest.approx(1600 * MS, rel=0.1)


def test_wrong_answers_are_on_the_account_of_the_right_ones() -> None:
    samples, cpu = crawl(1_000)
    verdicts = pl.Series(["right"] * 800 + ["wrong_status"] * 200, dtype=VERDICTS)
    found = with_cpu_time(LinesSummary(), samples.with_columns(verdict=verdicts), cpu, Counters())
    assert found.cpu_per_right_ns == pytest.approx(2.5 * MS, rel=0.01)


def test_a_short_crawl_shows_no_warm_up() -> None:
    found = with_cpu_time(LinesSummary(), *crawl(40), Counters())
    assert found.warm_up_cpu_ns is None
    assert found.cpu_per_right_ns == pytest.approx(2 * MS, rel=0.02)


def test_without_readings_or_times_start_up_is_not_separate() -> None:
    samples, cpu = crawl(100)
    counted = Counters(cpu_user_ns=150 * MS, cpu_system_ns=50 * MS)
    assert with_cpu_time(LinesSummary(), samples, None, counted) == LinesSummary(cpu_per_right_ns=2 * MS)
    coarse = samples.with_columns(precision_ns=pl.lit(1000 * MS))
    assert with_cpu_time(LinesSummary(), coarse, cpu, counted) == LinesSummary(cpu_per_right_ns=2 * MS)
    assert with_cpu_time(LinesSummary(), samples, None, Counters()) == LinesSummary()


@pytest.mark.parametrize("verdict", ["unverified", "wrong_status"])
def test_cpu_time_is_unknown_without_verified_right_answers(verdict: str) -> None:
    samples, cpu = crawl(100)
    verdicts = pl.Series([verdict] * 100, dtype=VERDICTS)
    assert with_cpu_time(LinesSummary(), samples.with_columns(verdict=verdicts), cpu, Counters()) == LinesSummary()
