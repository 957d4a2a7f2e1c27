"""The steady stretch of a trial of a server: the load has settled, and what begins can be seen to its end."""

from dataclasses import dataclass
from typing import Final, Self

from httpdyno.experiments.service.figures import ServicePoint
from httpdyno.model import Loop

__all__ = ["SHORTEST_UNIT_NS", "Stretch", "ramp_ns", "send_ns", "unit_ns"]

SHORTEST_UNIT_NS: Final = 500_000_000
"""What a round is taken to last where requests do not wait: as many of them as make figures."""
_DRAIN_UNITS: Final = 1.5
"""Beyond the 1.1 times the ideal within which a point is held, so that no request that is not can hide at the end."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when requests have to begin to count, since the load began.

    A closed loop whose connections all began at once would send them all at once for ever: each answer of a server that
    waits 2 s comes 2 s later, and the next request with it. Connections therefore begin one after the other over one
    ideal (``ramp_ns``): from then on requests are spread over it evenly, as they would be after a long time of chance.
    After another ideal the first requests of all connections are over, with what opening a connection costs. Requests
    of the last one and a half ideals do not count, since they could not be seen to be late.

    References
    ----------
    Little, A proof for the queuing formula L = λW, Operations Research 9 (1961): what is in flight, how often it comes
    and how long it stays go together only while none of them changes.
    """

    begin_ns: int
    end_ns: int

    @classmethod
    def of(cls, point: ServicePoint, *, sent_ns: int) -> Self:
        """Return the stretch of a load that sends for ``sent_ns``; an empty one where that is too short."""
        begin_ns = _settled_ns(point)
        return cls(begin_ns, max(begin_ns, sent_ns - _drain_ns(point)))

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.begin_ns


def unit_ns(point: ServicePoint) -> int:
    """Return what a round lasts: the ideal of a request, where it has one."""
    return max(point.ideal_ns, SHORTEST_UNIT_NS)


def ramp_ns(point: ServicePoint) -> int:
    """Return over how long the connections of a closed loop begin; an open loop has its schedule.

    Over one ideal, however short: over one and a quarter, a quarter of them would send together with others, for ever.
    """
    return point.ideal_ns or SHORTEST_UNIT_NS if point.loop is Loop.CLOSED else 0


def send_ns(point: ServicePoint, measured_ns: int) -> int:
    """Return how long to send so that the steady stretch is that long."""
    return _settled_ns(point) + measured_ns + _drain_ns(point)


def _settled_ns(point: ServicePoint) -> int:
    return ramp_ns(point) + unit_ns(point)


def _drain_ns(point: ServicePoint) -> int:
    return round(_DRAIN_UNITS * unit_ns(point))
