"""The steady stretch: earlier requests have settled, and requests in it are observed to their end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.experiments.service.figures import Endpoint, ServicePoint
from httpdyno.experiments.service.steady import SHORTEST_UNIT_NS, Stretch, ramp_ns, send_ns, unit_ns
from httpdyno.model import Loop

S = 10**9


def point(loop: Loop = Loop.CLOSED, waits: str = "500,1000,2000", connections: int = 20) -> ServicePoint:
    endpoint = Endpoint.WORKLOADS if waits else Endpoint.PLAIN
    rate = 10.0 if loop is Loop.OPEN else None
    return ServicePoint(connections, loop, rate, None, None, endpoint, waits, None, "httpdyno-load")


def test_a_closed_loop_ramps_settles_and_is_drained() -> None:
    assert send_ns(point(), 8 * S) == (2 + 2 + 8 + 3) * S
    assert Stretch.of(point(), sent_ns=15 * S) == Stretch(4 * S, 12 * S)


@pytest.mark.parametrize("wait_ms", [20, 400, 500, 2000])
def test_connections_begin_spread_over_one_wait_so_that_requests_come_evenly(wait_ms: int) -> None:
    of = point(waits=str(wait_ms))
    begins = [ramp_ns(of) * connection // of.connections % of.ideal_ns for connection in range(of.connections)]
    assert begins == [of.ideal_ns * connection // of.connections for connection in range(of.connections)]


def test_an_open_loop_has_no_ramp() -> None:
    assert ramp_ns(point(Loop.OPEN)) == 0
    assert Stretch.of(point(Loop.OPEN), sent_ns=13 * S) == Stretch(2 * S, 10 * S)


def test_requests_that_do_not_wait_have_rounds_of_half_a_second() -> None:
    assert unit_ns(point(waits="")) == unit_ns(point(waits="1,2")) == SHORTEST_UNIT_NS


def test_a_load_that_is_too_short_has_no_stretch() -> None:
    assert Stretch.of(point(), sent_ns=3 * S).length_ns == 0


@given(st.sampled_from(list(Loop)), st.integers(1, 60_000), st.integers(1, 10_000), st.integers(10**9, 10**11))
def test_a_load_has_the_requested_stretch(loop: Loop, wait: int, connections: int, asked: int) -> None:
    of = point(loop, str(wait), connections)
    stretch = Stretch.of(of, sent_ns=send_ns(of, asked))
    assert stretch.length_ns == asked
    # Every connection has begun and had an answer, and late requests at the end are observed.
    assert stretch.begin_ns >= ramp_ns(of) + of.ideal_ns
    assert send_ns(of, asked) - stretch.end_ns > 1.1 * of.ideal_ns


@pytest.mark.parametrize("change", ["x", "1,,2", "0", "60001", "-1"])
def test_waits_that_cannot_be_are_refused(change: str) -> None:
    with pytest.raises(InvalidValue, match="--workloads-ms"):
        point(waits=change)
