"""What TCP makes of an answer: the bytes on the link that carry it, and the round trips that it takes."""

from math import ceil
from typing import Final

__all__ = ["HEAD_BYTES", "INITIAL_WINDOW", "restart_window", "round_trips", "segments", "wire_bytes"]

HEAD_BYTES: Final = 190
"""Status line and fields of an answer, about; what a trial has measured takes its place."""
INITIAL_WINDOW: Final = 10
"""Segments that a connection may send before the first of them is acknowledged (RFC 6928; Linux since 2.6.39)."""

_IP_AND_TCP_BYTES: Final = 52
"""Of each packet: 20 bytes of IPv4 (RFC 791), 20 of TCP (RFC 9293), 12 of its timestamps (RFC 7323)."""


def segments(size_bytes: int, *, head_bytes: float = HEAD_BYTES, mtu_bytes: int = 1500) -> int:
    """Return how many packets carry an answer: at least one."""
    return max(1, ceil((size_bytes + head_bytes) / (mtu_bytes - _IP_AND_TCP_BYTES)))


def wire_bytes(size_bytes: int, *, head_bytes: float = HEAD_BYTES, mtu_bytes: int = 1500) -> float:
    """Return the bytes of IP packets that carry an answer, its head included, when nothing is sent twice."""
    count = segments(size_bytes, head_bytes=head_bytes, mtu_bytes=mtu_bytes)
    return size_bytes + head_bytes + count * _IP_AND_TCP_BYTES


def round_trips(count: int, *, begins_with: int = INITIAL_WINDOW, at_most: int | None = None) -> int:
    """Return how many round trips an answer takes, that of its request included.

    In each of them the sender may have one window in flight, which doubles from one to the next.

    ``count`` and the windows are in segments; ``at_most`` is what buffers allow.

    References
    ----------
    RFC 5681, section 3.1: slow start. Cardwell, Savage and Anderson, Modeling TCP latency, INFOCOM 2000, equation 11.
    """
    highest = count if at_most is None else max(1, at_most)
    window, sent, rounds = min(begins_with, highest), 0, 0
    while sent < count:
        if window >= highest:
            return rounds + ceil((count - sent) / highest)
        sent, rounds, window = sent + window, rounds + 1, min(2 * window, highest)
    return rounds


def restart_window(count: int, *, idle_s: float, timeout_s: float) -> int:
    """Return the window, in segments, with which a connection goes on that has sent answers of ``count`` segments.

    It has grown to what they needed, and is halved for each retransmission timeout in which nothing was sent, down to
    the initial window.

    References
    ----------
    RFC 2861, section 3.1, as Linux does it (``net.ipv4.tcp_slow_start_after_idle``, tcp(7)).
    """
    halved = min(int(idle_s / timeout_s), 60)
    return max(min(INITIAL_WINDOW, count), count >> halved)
