"""What is known of another machine's origin in one trial: how far it is, and how well its clock is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from httpdyno.model.record import Recorded

__all__ = ["AgainstCounters", "against_counters"]


@dataclass(frozen=True, slots=True)
class AgainstCounters:
    """The engine's report of the way to another machine, flat. What was not measured is None."""

    url: Annotated[str | None, Recorded("the origin of another machine that played the web")] = None
    address: Annotated[str | None, Recorded("where it was")] = None
    rtt_min_ns: Annotated[
        int | None, Recorded("the quickest exchange with it, before and after the trial", unit="ns")
    ] = None
    rtt_p50_ns: Annotated[int | None, Recorded("the median of them", unit="ns")] = None
    connect_ns: Annotated[int | None, Recorded("how long connecting to it took", unit="ns")] = None
    clock_ahead_ns: Annotated[
        int | None, Recorded("how far its clock was ahead of this machine's when the trial began", unit="ns")
    ] = None
    clock_drifted_ns: Annotated[int | None, Recorded("by how much more when it ended", unit="ns")] = None
    clock_bound_ns: Annotated[
        int | None,
        Recorded("its stamps are right to so much once they are moved to this machine's clock, either way", unit="ns"),
    ] = None


def against_counters(against: Mapping[str, Any] | None) -> AgainstCounters | None:
    """Return what the engine's report says of another machine; None where there was none."""
    if not against:
        return None
    trip, clock = against.get("rtt") or {}, against.get("clock") or {}
    return AgainstCounters(
        url=against.get("url"),
        address=against.get("address"),
        rtt_min_ns=trip.get("min_ns"),
        rtt_p50_ns=trip.get("p50_ns"),
        connect_ns=trip.get("connect_ns"),
        clock_ahead_ns=clock.get("ahead_ns"),
        clock_drifted_ns=clock.get("drifted_ns"),
        clock_bound_ns=clock.get("bound_ns"),
    )
