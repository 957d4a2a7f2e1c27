"""How long a trial at a point lasts: what is sent in it, and when it is ended whatever is left."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from httpdyno.experiments.capacity.duration import closed_deadline_s, closed_duration_s, closed_urls, tool_send_s
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.model import Loop

__all__ = ["DEFAULT_DURATION_S", "SHORTEST_DURATION_S", "Timing", "timing_of"]

DEFAULT_DURATION_S: Final = 5.0
"""Of what is measured of a schedule."""
SHORTEST_DURATION_S: Final = 0.5
"""A shorter one is less than a program takes to come to rest after it was started."""
_WARM_UP_S: Final = 0.5
"""Of each schedule goes to the warm-up of a program."""
_STARTING_S: Final = 30.0
"""A program may take so long until it reads its first line, with which the schedule begins."""
_TO_SETTLE: Final = 2
"""Times of an answer until answers come as often as they are asked for."""
_GRACE_S: Final = 1.0
"""How long answers are waited for after the schedule: who has not come by then has missed what may be waited for."""
_PAYLOAD: Final = 1448 / 1500


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one trial."""

    urls: int
    send_s: float
    """How long is sent on schedule, or by a tool."""
    grace_s: float | None
    """How long after the schedule is waited for answers; None where there is no schedule."""
    deadline_s: float
    foreseen_s: float
    """How long it takes where the point is held."""


def timing_of(point: CapacityPoint, duration_s: float) -> Timing:
    """Return how long a trial lasts.

    ``duration_s`` is how much of a schedule is measured; a closed loop is as long as it needs.
    """
    if point.loop is Loop.CLOSED:
        deadline_s = _milliseconds(closed_deadline_s(point))
        return Timing(closed_urls(point), tool_send_s(point), None, deadline_s, closed_duration_s(point))
    assert point.target_per_s is not None, "an open loop has a rate"
    answer_s = _answer_s(point)
    send_s = _milliseconds(_WARM_UP_S + _TO_SETTLE * answer_s + duration_s)
    grace_s = _milliseconds(_GRACE_S + _TO_SETTLE * answer_s)
    deadline_s = _milliseconds(_STARTING_S + send_s + grace_s)
    return Timing(ceil(send_s * point.target_per_s), send_s, grace_s, deadline_s, send_s + answer_s)


def _answer_s(point: CapacityPoint) -> float:
    """Return how long one answer takes on an idle link, its connection included."""
    rate = point.rate_bits_per_s
    sending_s = 0.0 if rate is None else 8 * point.size_bytes / (rate * _PAYLOAD)
    return (point.delay_ns + 2 * point.round_trip_ns) / 1e9 + sending_s


def _milliseconds(time_s: float) -> float:
    """Round up to what command lines take: no program reads 2.9000000000000004 s."""
    return ceil(round(time_s * 1000, 6)) / 1000
