"""Whether a link leaves honest answers the time that the web has planned for them."""

from typing import Final

from httpdyno.model import KnownFailure, Link

__all__ = ["TIMED_OUT_OVER_LINK", "outlasts_plan"]

TIMED_OUT_OVER_LINK: Final = KnownFailure(
    case="timeout_over_link",
    reason="the link may take longer than what the web's answers leave of the timeout; a longer --timeout tells",
    issue="",
)
"""Explains honest answers that a client gave up at its timeout, over a link for which that may be right."""

_LEFT: Final = 0.4
"""Share of the timeout that is left for a client and the way to it: honest answers are planned to end before."""
_ROUND_TRIPS: Final = 24
"""A chain of three hosts (name, connection, handshake, request: five each), and slow start up to a megabyte."""


def outlasts_plan(link: Link, *, timeout_ns: int) -> bool:
    """Return whether an honest answer may take longer over a link than the timeout of a client that does all right.

    Distance alone can be counted in round trips. How long packets wait for a rate that others use too, or for one that
    was lost to be sent again, cannot be foreseen: there it always may.
    """
    unforeseen = any(path.rate_bits_per_s is not None or path.loss > 0 for path in (link.up, link.down))
    return unforeseen or _ROUND_TRIPS * link.round_trip_ns > _LEFT * timeout_ns
