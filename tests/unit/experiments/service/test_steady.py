"""Durations of requests in the steady stretch, with failed ones and those that were open at the end."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from httpdyno.experiments.service.figures import Endpoint, ServicePoint, ServiceSummary
from httpdyno.experiments.service.steady import (
    FEWEST_OF_P999,
    OPEN,
    Stretch,
    measure_steady,
    time_percentile,
    with_open,
)
from httpdyno.model import Loop

S, MS = 10**9, 10**6
STRETCH = Stretch(4 * S, 12 * S)


def closed(connections: int) -> ServicePoint:
    return ServicePoint(
        connections, Loop.CLOSED, None, None, None, Endpoint.WORKLOADS, "2000", None, "httpdyno-load"
    )  # fmt: skip


def opened(rate: float) -> ServicePoint:
    return ServicePoint(20, Loop.OPEN, rate, None, None, Endpoint.WORKLOADS, "2000", None, "httpdyno-load")


def frame(*rows: tuple[int, int, str]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={"intended_ns": pl.Int64, "end_ns": pl.Int64, "status_or_error": pl.String}, orient="row"
    )


def measured(samples: pl.DataFrame, connections: int = 20) -> ServiceSummary:
    return measure_steady(samples, STRETCH, closed(connections))


def with_open_ones(samples: pl.DataFrame, connections: int) -> ServiceSummary:
    return measured(with_open(samples, closed(connections), sent_ns=15 * S), connections)


def rounds(connections: int, took_ns: int, *, sent_ns: int = 15 * S) -> pl.DataFrame:
    """A closed loop against a server with a constant time, its connections spread over the longest wait."""
    rows = []
    for connection in range(connections):
        begin = 2 * S * connection // connections
        while begin + took_ns <= sent_ns:
            rows.append((begin, begin + took_ns, "200", connection))
            begin += took_ns
    names = {"intended_ns": pl.Int64, "end_ns": pl.Int64, "status_or_error": pl.String, "connection": pl.Int64}
    return pl.DataFrame(rows, schema=names, orient="row")


def test_an_ideal_server_gives_half_as_many_answers_a_second_as_there_are_connections() -> None:
    steady = with_open_ones(rounds(20, 2 * S), 20)
    assert steady.answers / 8 == steady.per_s == 10
    assert steady.open_mean == pytest.approx(20)
    assert {steady.p50_ns, steady.p95_ns, steady.p99_ns} == {2 * S}
    assert (steady.errors, steady.still_open, steady.at_least) == (0, 0, False)


def test_a_slow_server_is_not_taken_for_a_fast_one_because_its_answers_came_too_late() -> None:
    # Of 100 connections ten are served at a time, so that each waits 20 s: most of them never answer within the load.
    rows = [(connection * 20 * MS, connection // 10 * 2 * S + 2 * S, "200") for connection in range(70)]
    early = frame(*rows).with_columns(connection=pl.int_range(70))
    steady = with_open_ones(early, 100)
    assert steady.still_open
    assert steady.p99_ns is not None
    assert steady.p99_ns > 2 * S
    assert steady.at_least


def test_what_failed_takes_for_ever() -> None:
    good = [(5 * S + number, 7 * S + number, "200") for number in range(97)]
    bad = [(5 * S, 6 * S, "503"), (5 * S, 6 * S, "ConnectionReset"), (6 * S, 7 * S, "503")]
    steady = measured(frame(*good, *bad, (1 * S, 2 * S, "502")))
    assert (steady.errors, steady.failures) == (3, "2 x 503, 1 x ConnectionReset")
    assert steady.p95_ns == 2 * S
    assert steady.p99_ns is None
    assert steady.mean_ns is None


def test_few_requests_have_a_longest_and_no_99_9th_percentile() -> None:
    steady = measured(frame(*((5 * S, (7 + number) * S, "200") for number in range(3))))
    assert (steady.p999_ns, steady.max_ns) == (None, 4 * S)


def test_only_what_began_in_the_stretch_counts_and_only_what_ended_in_it_is_a_rate() -> None:
    steady = measured(frame((3 * S, 5 * S, "200"), (5 * S, 8 * S, "200"), (11 * S, 16 * S, "200")))
    assert (steady.mean_ns, steady.max_ns, steady.answers) == (4 * S, 5 * S, 2)


def test_a_connection_that_is_never_answered_counts_as_often_as_others_were_answered() -> None:
    steady = with_open_ones(rounds(20, 2 * S).filter(pl.col("connection") > 0), 20)
    # Four requests of each connection.
    assert steady.mean_ns == (19 * 2 * S + 15 * S) / 20
    assert (steady.max_ns, steady.still_open) == (15 * S, 1)
    # Two of a hundred connections are two of a hundred requests, however many rounds the others make.
    steady = with_open_ones(rounds(100, S // 10).filter(pl.col("connection") > 1), 100)
    assert steady.still_open == 2
    assert steady.mean_ns == pytest.approx((98 * S / 10 + 15 * S + 14_980 * MS) / 100)
    assert (steady.p95_ns, steady.p99_ns) == (S // 10, 14_980 * MS)


def test_nothing_has_no_figures() -> None:
    steady = measured(frame())
    assert (steady.p50_ns, steady.mean_ns, steady.slowest_5_ns, steady.open_mean) == (None,) * 4
    assert np.isnan(time_percentile(np.array([]), 50.0))


def test_a_percentile_of_a_thousand_takes_a_thousand() -> None:
    few = [(5 * S, 7 * S, "200")] * (FEWEST_OF_P999 - 1)
    assert measured(frame(*few)).p999_ns is None
    assert measured(frame(*few, few[0])).p999_ns == 2 * S


def test_the_slowest_five_per_cent_are_meant_as_rewrk_means_them() -> None:
    rows = [(5 * S, 5 * S + took * MS, "200") for took in range(1, 101)]
    assert measured(frame(*rows)).slowest_5_ns == np.mean([96, 97, 98, 99, 100]) * MS
    assert measured(frame(rows[0])).slowest_5_ns == 1 * MS


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=300), st.sampled_from([50.0, 95.0, 99.0, 99.9, 100.0]))
def test_so_many_are_not_slower_than_a_percentile(times: list[int], rank: float) -> None:
    ascending = np.sort(np.array(times, dtype=float))
    value = time_percentile(ascending, rank)
    assert (ascending <= value).mean() * 100 >= rank - 1e-9
    assert (ascending < value).mean() * 100 < rank


def test_a_connection_without_an_answer_has_waited_since_it_began() -> None:
    samples = rounds(4, 2 * S).filter(pl.col("connection") != 3)
    still = with_open(samples, closed(4), sent_ns=15 * S).filter(pl.col("status_or_error") == OPEN)
    assert sorted(still["intended_ns"]) == [1_500 * MS, 14 * S, 14_500 * MS]


def test_what_was_due_on_the_schedule_and_never_ended_is_open() -> None:
    # 10 a second for 2 s; of the 20 that were due three never came back.
    ended = [
        (number * 100 * MS, number * 100 * MS + 50 * MS, "200") for number in range(20) if number not in {3, 7, 19}
    ]
    samples = frame(*ended).with_columns(connection=pl.lit(0))
    still = with_open(samples, opened(10.0), sent_ns=2 * S).filter(pl.col("status_or_error") == OPEN)
    assert sorted(still["intended_ns"]) == [300 * MS, 700 * MS, 1900 * MS]


@given(st.integers(1, 60), st.integers(50, 8000))
@example(3, 1)
def test_all_connections_are_somewhere_at_every_moment(connections: int, took_ms: int) -> None:
    steady = with_open_ones(rounds(connections, took_ms * MS), connections)
    assert steady.open_mean == pytest.approx(connections, rel=1e-6)
