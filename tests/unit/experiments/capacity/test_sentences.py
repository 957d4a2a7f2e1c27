"""The limits in a run's report, from made-up trials with a single limit each."""

from typing import Any, Final

import pytest

from doubles.trials import trial
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.limits import (
    add_limit,
    capacity_sentences,
    largest_size_bytes,
    wire_bytes,
)
from httpdyno.model import Counters, CpuTime, Link, Loop, Trial

KIB: Final = 1024
MS: Final = 10**6
GBIT: Final = 10**9


def measured(per_s: float, *, busy: float = 0.3, mean_ms: float | None = None, subject: str = "a", **at: Any) -> Trial:
    fields: dict[str, Any] = {
        "size_bytes": 200 * KIB,
        "delay_ns": 0,
        "round_trip_ns": 0,
        "rate_bits_per_s": None,
        "queue_ns": None,
        "concurrency": 200,
        "loop": Loop.OPEN,
        "target_per_s": 2000.0,
    }
    point = CapacityPoint(**(fields | at))
    second = 10**9
    summary = CapacitySummary(
        round(per_s),
        0,
        second,
        per_s=per_s,
        service_mean_ns=None if mean_ms is None else mean_ms * MS,
        held=per_s >= 0.99 * (point.target_per_s or 0),
    )
    counters = Counters(
        wall_ns=second, requests=round(per_s), cpus=(CpuTime(1, "subject", round(busy * second), 0, second),)
    )
    link = Link.symmetric(round_trip_ns=point.round_trip_ns, rate_bits_per_s=point.rate_bits_per_s)
    return add_limit(trial(subject, 0, link=str(link), capacity_point=point, capacity=summary, counters=counters))


def test_a_size_and_a_rate_are_turned_into_each_other() -> None:
    said = capacity_sentences([measured(575, rate_bits_per_s=GBIT), measured(1150, rate_bits_per_s=2 * GBIT)])

    assert said == (
        "bandwidth: 2,000 answers of 200.0 KiB a second need 3.4 Gbit/s, or answers of 58.7 KiB at most over 1 Gbit/s "
        "(measured: 575 of 2,000 a second over 1 Gbit/s, the link 98 % full; a)",
    )


def test_without_missed_points_the_fullest_link_is_shown() -> None:
    said = capacity_sentences(
        [measured(2000, rate_bits_per_s=4 * GBIT), measured(2000, size_bytes=100 * KIB, rate_bits_per_s=9 * GBIT)]
    )

    assert said == (
        "bandwidth: 2,000 answers of 200.0 KiB a second need 3.4 Gbit/s, or answers of 235.5 KiB at most over 4 Gbit/s "
        "(measured: 2,000 of 2,000 a second over 4 Gbit/s, the link 85 % full; a)",
    )


def test_the_largest_size_is_carried_and_one_more_byte_is_not() -> None:
    for rate in (1e8, 1e9, 3.3e9):
        size = largest_size_bytes(rate, 2000, head_bytes=190, mtu_bytes=1500)
        assert size is not None
        assert 8 * 2000 * wire_bytes(size) <= rate < 8 * 2000 * wire_bytes(size + 1)
    assert largest_size_bytes(1e6, 2000, head_bytes=190, mtu_bytes=1500) is None


def test_waiting_takes_requests_in_flight() -> None:
    (said,) = capacity_sentences([measured(330, size_bytes=0, delay_ns=500 * MS, round_trip_ns=100 * MS)])

    assert said == (
        "concurrency: 2,000 a second of answers that wait 600 ms for delay and distance need 1,200 in flight "
        "(Little's law); measured: 330 of 2,000 a second with 200 (a)"
    )


def test_a_subject_that_is_slow_itself_is_called_so() -> None:
    (said,) = capacity_sentences([measured(1000, size_bytes=0, delay_ns=50 * MS, mean_ms=200)])

    assert "answers that take 200 ms, most of it in a itself, need 400 in flight" in said


def test_large_answers_over_a_distance_take_windows() -> None:
    (said,) = capacity_sentences(
        [measured(6.4, size_bytes=16 * 1024 * KIB, round_trip_ns=200 * MS, concurrency=8, target_per_s=20.0)]
    )

    assert said.startswith(
        "window: over 200 ms an answer of 16.0 MiB takes 6 round trips (14 over a new connection), as TCP"
    )
    assert "20 a second need 24 in flight; measured: 6 of 20 a second with 8" in said


def test_each_subject_has_a_cpu_of_its_own() -> None:
    said = capacity_sentences(
        [measured(1500, busy=0.98), measured(500, busy=1.0, subject="b"), measured(2000, busy=0.5, subject="c")]
    )

    assert said == (
        "cpu: 2,000 answers of 200.0 KiB a second would take a 131 % of its CPU (measured: 1,500 of 2,000 a second, "
        "98 % busy)",
        "cpu: 2,000 answers of 200.0 KiB a second would take b 400 % of its CPU (measured: 500 of 2,000 a second, "
        "100 % busy)",
    )


def test_sentences_count_the_trials_that_the_model_does_not_explain() -> None:
    (said,) = capacity_sentences([measured(500, size_bytes=0, delay_ns=100 * MS, mean_ms=101)])

    assert said.startswith("the model does not explain 1 of 1 trials; the first is a at its point: unknown: measured 5")


@pytest.mark.parametrize("trials", [[], [measured(2000)], [measured(900, target_per_s=None, loop=Loop.CLOSED)]])
def test_limits_that_no_trial_reached_have_no_sentence(trials: list[Trial]) -> None:
    assert not [said for said in capacity_sentences(trials) if not said.startswith("the model does not explain")]
