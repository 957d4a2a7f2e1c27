"""Runs and loops as timeit chooses them, and the figure as IPython prints it."""

import timeit
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.latency.judge import (
    loop_choices,
    per_loop_text,
    timeit_runs,
    timeit_text,
)
from httpdyno.model.timed_calls import TIMED_RUNS

MS = 10**6


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (1.19e6, "1.19 ms"),
        (70.7e3, "70.7 us"),
        (18.5e6, "18.5 ms"),
        (465e3, "465 us"),
        (1.2e6, "1.2 ms"),
        (43e3, "43 us"),
        (0, "0 ns"),
        (0.4, "0.4 ns"),
        (12.345, "12.3 ns"),
        (999.4, "999 ns"),
        (999.7, "1 us"),
        (999_600, "1 ms"),
        (2.5e9, "2.5 s"),
        (75e9, "75 s"),
        (1234e9, "1234 s"),
    ],
)
def test_times_are_written_with_three_digits_that_matter(time_ns: float, text: str) -> None:
    assert timeit_text(time_ns, 0) == f"{text} ± 0 ns"


def test_the_figure_is_written_as_the_seed_prints_it() -> None:
    expected = "1.19 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 1,000 loops each)"
    assert per_loop_text(timeit_text(1.19e6, 70.7e3), 7, 1000) == expected
    assert per_loop_text(timeit_text(5e6, 0), 1, 1) == "5 ms ± 0 ns per loop (mean ± std. dev. of 1 run, 1 loop each)"


@given(st.floats(min_value=1, max_value=9e11))
def test_a_written_time_is_the_time_to_three_digits(time_ns: float) -> None:
    number, unit = timeit_text(time_ns, 0).removesuffix(" ± 0 ns").split()
    back = float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit]
    assert back == pytest.approx(time_ns, rel=5.1e-3)
    assert float(number) < 1000


@pytest.mark.parametrize("loop_ns", [90_000, 1_190_000, 2_010_000, 18_500_000, 199_999_999, 200_000_000, 3 * 10**9])
def test_as_many_loops_are_taken_as_timeit_itself_takes(loop_ns: int) -> None:
    now = 0

    def advance() -> None:
        nonlocal now
        now += loop_ns

    expected, _ = timeit.Timer(advance, timer=lambda: now / 1e9).autorange()
    runs = timeit_runs(np.full(60_000, loop_ns))
    assert runs is not None
    assert runs.loops == expected


def test_the_choices_are_those_of_timeit() -> None:
    assert list(islice(loop_choices(), 7)) == [1, 2, 5, 10, 20, 50, 100]


def test_the_runs_are_the_last_of_the_series_and_the_cold_start_is_in_none() -> None:
    slow, warm = np.full(10, 20 * MS), np.full(3000, MS)
    runs = timeit_runs(np.concatenate([slow, warm]))
    assert runs is not None
    assert runs.warm_up == 10
    assert runs.loops == 200
    assert runs.loop_ns == (MS,) * TIMED_RUNS


def test_too_few_loops_make_shorter_runs_and_say_so() -> None:
    runs = timeit_runs(np.full(800, MS))
    assert runs is not None
    assert (runs.warm_up, runs.loops) == (200, 50)


@pytest.mark.parametrize("count", [0, 1, 6, 205])
def test_fewer_than_seven_warm_loops_have_no_figure(count: int) -> None:
    assert timeit_runs(np.full(count, MS)) is None


@given(st.lists(st.integers(min_value=1, max_value=500 * MS), max_size=300))
def test_runs_never_reach_into_the_warm_up(times: list[int]) -> None:
    runs = timeit_runs(np.array(times, dtype=np.int64))
    if runs is None:
        return
    assert len(runs.loop_ns) == TIMED_RUNS
    assert runs.warm_up + TIMED_RUNS * runs.loops <= len(times)
    assert sum(times[: runs.warm_up]) >= 200 * MS
    whole = sum(runs.loop_ns) * runs.loops
    assert whole == pytest.approx(sum(times[-TIMED_RUNS * runs.loops :]))
