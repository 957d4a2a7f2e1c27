"""What an open loop sees: the closed forms against schedules that are followed request by request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.schedules import Fixed, overload_quantile_ns, stall_quantile_ns
from httpdyno.errors import InvalidValue
from httpdyno.judge.generator import Queue, Stalling, replay

MS = 1_000_000
SECOND = 1_000 * MS
PLENTY = 10_000
SHARES = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)


@given(
    rate=st.integers(100, 2_000),
    tenths=st.integers(10, 40),
    share=st.floats(0.05, 0.4),
    at=st.floats(0.1, 0.5),
    service_ms=st.integers(0, 20),
)
def test_a_stall_delays_uniformly_whatever_the_rate(
    rate: int, tenths: int, share: float, at: float, service_ms: int
) -> None:
    duration_s = tenths / 10
    length_ns = round(share * duration_s * SECOND)
    server = Stalling(service_ms * MS, round(at * duration_s * SECOND), length_ns)
    seen = replay(server, rate_per_s=rate, duration_s=duration_s, connections=PLENTY, answered=PLENTY)
    assert seen.sent == seen.response.count
    # A schedule has as many waits in the stall as it has requests there: it meets the line in steps of one gap.
    step_ns = 2 * SECOND / rate / share
    for quantile in SHARES:
        expected = stall_quantile_ns(quantile, service_ns=service_ms * MS, length_ns=length_ns, duration_s=duration_s)
        assert abs(seen.response.quantile_ns(quantile) - expected) <= step_ns


@given(per_s=st.integers(50, 500), factor=st.floats(1.1, 3.0), tenths=st.integers(10, 40))
def test_more_than_can_be_served_waits_ever_longer(per_s: int, factor: float, tenths: int) -> None:
    duration_s, service_ns = tenths / 10, round(SECOND / per_s)
    seen = replay(Queue(service_ns), rate_per_s=per_s * factor, duration_s=duration_s, connections=PLENTY)
    for quantile in SHARES:
        expected = overload_quantile_ns(
            quantile, service_ns=service_ns, rate_per_s=per_s * factor, duration_s=duration_s
        )
        assert abs(seen.response.quantile_ns(quantile) - expected) <= 2 * service_ns


def test_what_can_be_served_waits_for_nobody() -> None:
    seen = replay(Queue(2 * MS), rate_per_s=400, duration_s=2, connections=4)
    assert (seen.response.quantile_ns(0), seen.response.quantile_ns(1)) == (2 * MS, 2 * MS)
    seen = replay(Fixed(5 * MS), rate_per_s=1_000, duration_s=1, connections=5)
    assert (seen.response.quantile_ns(0), seen.response.quantile_ns(1)) == (5 * MS, 5 * MS)


def test_who_waits_for_a_connection_waits_since_its_own_moment() -> None:
    # One connection, 10 ms an answer, one request each 5 ms: each waits 5 ms longer than the one before.
    seen = replay(Fixed(10 * MS), rate_per_s=200, duration_s=0.02, connections=1, answered=4)
    assert seen.response.times_ns == (10 * MS, 15 * MS, 20 * MS, 25 * MS)
    assert seen.sent == 2


def test_what_counts_at_the_end_is_between_what_was_answered_and_what_was_planned() -> None:
    for answered, counted in ((None, 1_000), (10, 1_000), (1_200, 1_200), (5_000, 1_500)):
        seen = replay(Queue(2 * MS), rate_per_s=750, duration_s=2, connections=64, answered=answered)
        assert seen.response.count == counted, answered


@pytest.mark.parametrize(("rate", "connections"), [(0.1, 1), (100, 0)])
def test_no_schedule_is_refused(rate: float, connections: int) -> None:
    with pytest.raises(InvalidValue, match="one request and one connection"):
        replay(Fixed(0), rate_per_s=rate * 0, duration_s=1, connections=connections)
