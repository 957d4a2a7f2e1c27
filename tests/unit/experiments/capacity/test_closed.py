"""The steady stretch of a closed loop, for loops whose rate is known."""

import heapq
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpdyno.experiments.capacity.judge import ClosedStretch, sampled_stretch, sent_stretch

MS = 1_000_000


def closed_loop(count: int, concurrency: int, duration_ns: Callable[[int, int], int]) -> pl.DataFrame:
    """Play a closed loop: ``duration_ns`` gets the number of a request and when it starts."""
    free = [0] * concurrency
    starts, durations = [], []
    for number in range(count):
        start = heapq.heappop(free)
        starts.append(start)
        durations.append(duration_ns(number, start))
        heapq.heappush(free, start + durations[-1])
    return pl.DataFrame(
        {"start_ns": starts, "duration_ns": durations}, schema={"start_ns": pl.Int64, "duration_ns": pl.Int64}
    )


def one_line(service_ns: int) -> Callable[[int, int], int]:
    """Answer one request after the other, like a full link."""
    done = 0

    def duration(_: int, start: int) -> int:
        nonlocal done
        done = max(done, start) + service_ns
        return done - start

    return duration


def shared_unfairly(count: int, concurrency: int, seed: int) -> pl.DataFrame:
    """Share a link of 100 answers a second: each answer gets a weight of its own, as flows behind a full queue do."""
    random = np.random.default_rng(seed)
    left, weight, began = (np.zeros(concurrency) for _ in range(3))
    starts, durations, now, given_out = [], [], 0.0, 0
    active = np.zeros(concurrency, dtype=bool)
    while True:
        for slot in np.flatnonzero(~active)[: count - given_out]:
            left[slot], weight[slot], began[slot], active[slot] = 1.0, random.uniform(0.3, 1.7), now, True
            given_out += 1
        if not active.any():
            break
        speed = np.where(active, weight, 0.0)
        speed *= 100 / speed.sum()
        step = float((left[active] / speed[active]).min())
        now, left = now + step, left - speed * step
        for slot in np.flatnonzero(active & (left < 1e-9)):
            starts.append(round(began[slot] * 1e9))
            durations.append(round((now - began[slot]) * 1e9))
            active[slot] = False
    return pl.DataFrame(
        {"start_ns": starts, "duration_ns": durations}, schema={"start_ns": pl.Int64, "duration_ns": pl.Int64}
    )


def rate(stretch: ClosedStretch | None) -> float:
    assert stretch is not None
    return stretch.per_s


@given(concurrency=st.integers(1, 60), rounds=st.integers(3, 9), rest=st.integers(0, 59), delay_ms=st.integers(1, 3000))
def test_answers_in_step_give_the_rate_of_littles_law(concurrency: int, rounds: int, rest: int, delay_ms: int) -> None:
    # A list need not be a number of whole rounds.
    samples = closed_loop(rounds * concurrency + rest % concurrency, concurrency, lambda *_: delay_ms * MS)
    found = rate(sampled_stretch(samples, concurrency=concurrency))
    assert found == pytest.approx(concurrency / (delay_ms / 1e3))


@given(concurrency=st.integers(1, 60), rounds=st.integers(3, 9), rest=st.integers(0, 59))
def test_a_full_link_gives_its_own_rate(concurrency: int, rounds: int, rest: int) -> None:
    samples = closed_loop(rounds * concurrency + rest, concurrency, one_line(2 * MS))
    assert rate(sampled_stretch(samples, concurrency=concurrency)) == pytest.approx(500)


@given(seed=st.integers(0, 1000), concurrency=st.sampled_from([20, 60, 100]), rounds=st.integers(3, 6))
@settings(max_examples=40)
def test_a_link_that_is_shared_unfairly_gives_about_its_own_rate(seed: int, concurrency: int, rounds: int) -> None:
    samples = shared_unfairly(rounds * concurrency, concurrency, seed)
    assert rate(sampled_stretch(samples, concurrency=concurrency)) == pytest.approx(100, rel=0.12)


def test_answers_before_a_deadline_count_to_the_last_whole_round() -> None:
    samples = closed_loop(100, 10, lambda *_: 100 * MS)
    cut = samples.with_columns(pl.when(pl.int_range(pl.len()) < 85).then(pl.all()).name.keep())
    stretch = sampled_stretch(cut, concurrency=10)
    assert stretch is not None
    assert stretch.end_ns == 800 * MS
    assert stretch.per_s == pytest.approx(100)


def test_less_than_two_rounds_are_counted_from_the_first_start_to_the_last_end() -> None:
    samples = closed_loop(15, 10, lambda *_: 100 * MS)
    assert rate(sampled_stretch(samples, concurrency=10)) == pytest.approx(15 / 0.2)


def test_neither_the_beginning_nor_the_end_counts() -> None:
    def duration(number: int, _: int) -> int:
        # Connections take a second, and one answer of the last round never comes.
        return {0: 1000 * MS}.get(number // 10, 30_000 * MS if number == 995 else 20 * MS)

    samples = closed_loop(1000, 10, duration)
    assert rate(sampled_stretch(samples, concurrency=10)) == pytest.approx(500, rel=0.01)


def test_lines_without_a_time_are_left_out_and_two_lines_are_too_few() -> None:
    samples = closed_loop(12, 2, lambda *_: MS)
    missing = pl.DataFrame({"start_ns": [None], "duration_ns": [None]}, schema=samples.schema)
    assert rate(sampled_stretch(pl.concat([missing, samples]), concurrency=2)) == pytest.approx(2000)
    assert sampled_stretch(samples.head(2), concurrency=2) is None
    assert sampled_stretch(missing, concurrency=2) is None


@given(concurrency=st.integers(1, 40), rounds=st.integers(5, 9), rest=st.integers(0, 39), delay_ms=st.integers(1, 500))
def test_arrivals_give_the_same_rate_as_answers(concurrency: int, rounds: int, rest: int, delay_ms: int) -> None:
    samples = closed_loop(rounds * concurrency + rest % concurrency, concurrency, lambda *_: delay_ms * MS)
    arrivals = np.flip(samples["start_ns"].to_numpy())
    assert rate(sent_stretch(arrivals, concurrency=concurrency)) == pytest.approx(concurrency / (delay_ms / 1e3))


def test_a_tool_that_was_never_answered_has_no_stretch() -> None:
    assert sent_stretch(np.arange(10), concurrency=10) is None


def test_a_silence_until_the_deadline_lowers_the_rate() -> None:
    samples = closed_loop(1600, 200, lambda *_: 100 * MS)
    silent = samples.with_columns(pl.when(pl.int_range(pl.len()) < 400).then(pl.all()).name.keep())
    stretch = sampled_stretch(silent, concurrency=200, ended_at_ns=9_800 * MS)
    assert stretch is not None
    assert (stretch.per_s, stretch.is_silent) == (pytest.approx(400 / 9.8), True)
    # The next round is under way, not lost.
    stretch = sampled_stretch(silent, concurrency=200, ended_at_ns=290 * MS)
    assert stretch is not None
    assert (stretch.per_s, stretch.is_silent) == (pytest.approx(2000), False)


@given(seed=st.integers(0, 1000), rounds=st.integers(3, 5), spread=st.floats(0, 0.15))
@settings(max_examples=40)
def test_answers_that_are_nearly_in_step_do_not_exceed_littles_law(seed: int, rounds: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    samples = closed_loop(rounds * 200, 200, lambda *_: round(100 * MS * random.lognormal(0, spread)))
    assert rate(sampled_stretch(samples, concurrency=200)) == pytest.approx(2000, rel=0.04)
