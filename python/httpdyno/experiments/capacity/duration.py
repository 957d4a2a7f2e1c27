"""How long a trial of a closed loop has to be: as long as what it waits for, and not longer."""

from math import ceil, log2
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint

__all__ = [
    "closed_deadline_s",
    "closed_duration_s",
    "closed_urls",
    "foreseen_latency_s",
    "foreseen_per_s",
    "tool_send_s",
]

_PAYLOAD: Final = 1448 / 1500
"""Of the bytes of a link, those that are content: packets of 1,500 bytes, with headers of 52."""
_HEAD_BYTES: Final = 200
"""Of an answer's head, about."""
_ANSWER_S: Final = 0.0002
"""What an answer takes at least, wherever nothing else holds it up."""
_PROGRAM_PER_S: Final = 20_000.0
_PROGRAM_BITS_PER_S: Final = 12e9
"""More than these no program makes of a CPU or two: so that a list is not longer than it can be read."""
_MEASURED_S: Final = 0.6
"""So long is the stretch that is measured, as far as whole rounds go, of which it has one at least."""
_ROUNDS_AROUND: Final = 2
"""The first one, which warms up, and the last one, which is under way when the list is exhausted."""
_FEWEST_OVER_A_DISTANCE: Final = 4
"""Rounds that are measured at least where the first one is one of windows that open, more than of answers."""
_INITIAL_WINDOW_BYTES: Final = 10 * 1448
"""What a new connection may send before it waits for a round trip (RFC 6928)."""
_STARTING_S: Final = 5.0
_PATIENCE: Final = 6.0
"""How many times as long as foreseen a trial may take: a program may be slower than any link."""


def foreseen_per_s(point: CapacityPoint) -> float:
    """Return how many answers a second can come at most, whoever asks.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W (1961), Operations Research 9(3): what is in flight is the rate
    times the time of an answer.
    """
    bits = 8 * (point.size_bytes + _HEAD_BYTES)
    waited_s = (point.delay_ns + point.round_trip_ns) / 1e9 + _ANSWER_S
    limits = [point.concurrency / waited_s, _PROGRAM_PER_S, _PROGRAM_BITS_PER_S / bits]
    if point.rate_bits_per_s is not None:
        limits.append(point.rate_bits_per_s * _PAYLOAD / bits)
    return min(limits)


def foreseen_latency_s(point: CapacityPoint) -> float:
    """Return how long an answer takes at least while that many are in flight."""
    return point.concurrency / foreseen_per_s(point)


def closed_urls(point: CapacityPoint) -> int:
    """Return how long a list has to be, in whole rounds: one before those that are measured, and one after them."""
    latency_s = foreseen_latency_s(point)
    fewest = _FEWEST_OVER_A_DISTANCE if 2 * _opening_s(point) > latency_s else 1
    measured = max(fewest, round(_MEASURED_S / latency_s))
    return (_ROUNDS_AROUND + measured) * point.concurrency


def closed_duration_s(point: CapacityPoint) -> float:
    """Return how long a list takes at least: its rounds, and before them connections and windows that open."""
    return closed_urls(point) / foreseen_per_s(point) + _opening_s(point)


def _opening_s(point: CapacityPoint) -> float:
    """Return how long a new connection takes until its window is as large as an answer.

    References
    ----------
    RFC 5681: in slow start a window doubles with each round trip.
    """
    round_trips = 1 + ceil(log2(1 + point.size_bytes / _INITIAL_WINDOW_BYTES))
    return round_trips * point.round_trip_ns / 1e9


def tool_send_s(point: CapacityPoint) -> float:
    """Return for how long a tool sends that is told a time: what it waits for after that is no part of it.

    In whole seconds, as some tools read no others.
    """
    return float(ceil(closed_duration_s(point) - foreseen_latency_s(point)))


def closed_deadline_s(point: CapacityPoint) -> float:
    """Return when a trial is ended whatever is left of its list: what was answered until then is measured."""
    return _STARTING_S + _PATIENCE * closed_duration_s(point)
