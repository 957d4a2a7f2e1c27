"""Readings of the link: whether the path between subject and peer was full, and whether it was what was asked."""

from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT, Stretch
from httpdyno.model import Link, LinkPath, Trial

__all__ = ["LATE_AT_MOST", "late", "rate_used", "unread"]

LATE_AT_MOST: Final = 5
"""Per cent of the round trip: what a link may be off by before the trial, too."""
_SHORTEST_ROUND_TRIP_NS: Final = 10_000_000
"""Of a shorter one, 0.5 ms of error is allowed, as it is before the trial."""


def rate_used(trial: Trial) -> Reading:
    """Return what was on the link while the list lasted, as a share of what it can carry: of the fuller direction.

    The link has counted the bytes itself, headers included. Of a trial without its figures, those of the subject stand.
    """
    link, stretch = _link(trial), Stretch.of(trial)
    if link is None or (link.up.rate_bits_per_s is None and link.down.rate_bits_per_s is None):
        return Reading(None, "the link has no limit of its rate")
    counters = trial.counters
    sent, received = counters.sent_bytes, counters.received_bytes
    if counters.link:
        sent, received = counters.link.up.bytes, counters.link.down.bytes
    if sent is None or received is None or stretch is None:
        return Reading(None, "the bytes on the link were not counted")
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    shares = (
        (_share(link.up, sent * stretch.work, stretch), "from the subject"),
        (_share(link.down, received * stretch.work, stretch), "to the subject"),
    )
    share, way = max(shares)
    return Reading(share, way)


def late(trial: Trial) -> Reading:
    """Return the 99th percentiles of the emulator's own lateness, both ways together, as a share of the round trip."""
    link = trial.counters.link
    if link is None:
        return Reading(None, "the link is direct: nothing is emulated")
    late_ns = [path.lateness_p99_ns for path in (link.up, link.down)]
    asked = _link(trial)
    if asked is None or None in late_ns:
        return Reading(None, "the emulator did not count how late it was")
    in_all = sum(one for one in late_ns if one is not None)
    measured_against_ns = max(asked.round_trip_ns, _SHORTEST_ROUND_TRIP_NS)
    detail = f"by {in_all / 1e6:.2f} ms where {LATE_AT_MOST * measured_against_ns / 1e8:g} ms are allowed"
    return Reading(100 * in_all / measured_against_ns, detail)


def unread(trial: Trial) -> Reading:
    """Return the packets that were lost because the emulator had not read those before them, as a share of all."""
    link = trial.counters.link
    if link is None:
        return Reading(None, "the link is direct: nothing is emulated")
    missed, read = (link.up.unread, link.down.unread), (link.up.packets, link.down.packets)
    missed_in_all, read_in_all = (sum(one for one in ways if one is not None) for ways in (missed, read))
    if None in missed or None in read or not read_in_all:
        return Reading(None, "the packets that the emulator has not read were not counted")
    return Reading(100 * missed_in_all / (missed_in_all + read_in_all), f"{missed_in_all} packets")


def _link(trial: Trial) -> Link | None:
    """Return the link of a trial; None where the record is of a time that wrote links otherwise."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return None


def _share(path: LinkPath, size_bytes: float, stretch: Stretch) -> float:
    if path.rate_bits_per_s is None:
        return 0.0
    return 100 * 8 * size_bytes * 1e9 / (path.rate_bits_per_s * stretch.length_ns)
