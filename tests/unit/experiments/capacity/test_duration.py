"""Duration of a trial of a closed loop: its waits decide."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.plan import Timing, predicted_per_s, timing_of
from httpdyno.model import Loop

POINT = CapacityPoint(
    size_bytes=200 * 1024,
    delay_ns=0,
    round_trip_ns=0,
    rate_bits_per_s=100_000_000,
    queue_ns=100_000_000,
    concurrency=100,
    loop=Loop.CLOSED,
    target_per_s=200,
)


def closed(point: CapacityPoint) -> Timing:
    return timing_of(point, 5.0)


def latency_s(point: CapacityPoint) -> float:
    return point.concurrency / predicted_per_s(point)


def test_the_prediction_for_a_full_link_is_its_rate() -> None:
    assert predicted_per_s(POINT) == pytest.approx(59, rel=0.01)
    assert latency_s(POINT) == pytest.approx(1.7, rel=0.01)
    assert closed(POINT).urls == 300
    assert closed(POINT).foreseen_s == pytest.approx(3 * 1.7, rel=0.01)


def test_a_fast_answer_is_measured_for_a_while() -> None:
    fast = replace(POINT, rate_bits_per_s=None, concurrency=20, size_bytes=0, delay_ns=100_000_000)
    assert predicted_per_s(fast) == pytest.approx(200, rel=0.01)
    assert closed(fast).foreseen_s == pytest.approx(0.2 + 0.6, rel=0.02)


def test_over_a_distance_windows_have_time_to_open() -> None:
    far = replace(POINT, round_trip_ns=500_000_000, rate_bits_per_s=10**9, concurrency=20)
    assert closed(far).urls == 6 * 20
    # Six rounds of half a second; before them a connection, and a window that doubles four times.
    assert closed(far).foreseen_s == pytest.approx(6 * 0.5 + 5 * 0.5, rel=0.02)


def test_windows_that_open_in_a_part_of_a_round_need_no_further_ones() -> None:
    line = replace(POINT, round_trip_ns=38_000_000, rate_bits_per_s=47 * 10**6, size_bytes=1000 * 1024)
    assert latency_s(line) == pytest.approx(18, rel=0.01)
    assert closed(line).urls == 3 * 100


def test_the_prediction_has_a_limit_for_programs() -> None:
    wide = replace(POINT, rate_bits_per_s=None, concurrency=1500, size_bytes=1000 * 1024)
    assert predicted_per_s(wide) < 2000
    assert predicted_per_s(replace(wide, size_bytes=0, delay_ns=0)) == 20_000


@given(
    size=st.integers(0, 2**20),
    delay_ms=st.integers(0, 2000),
    rate=st.one_of(st.none(), st.integers(10**6, 10**11)),
    concurrency=st.integers(1, 2000),
)
def test_a_list_has_a_round_before_and_after_the_measured_ones(
    size: int, delay_ms: int, rate: int | None, concurrency: int
) -> None:
    point = replace(POINT, size_bytes=size, delay_ns=delay_ms * 10**6, rate_bits_per_s=rate, concurrency=concurrency)
    urls = closed(point).urls
    assert urls >= 3 * concurrency
    assert urls % concurrency == 0
    measured_s = (urls - 2 * concurrency) / predicted_per_s(point)
    assert measured_s >= 0.4
    assert measured_s >= 0.999 * latency_s(point)
    assert closed(point).deadline_s > closed(point).foreseen_s + 4
    assert 0 <= closed(point).send_s - (closed(point).foreseen_s - latency_s(point)) < 1
    assert closed(point).send_s == int(closed(point).send_s) >= 1
