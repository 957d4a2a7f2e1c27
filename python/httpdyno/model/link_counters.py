"""What the emulated link of one trial did: what it was found to be before the trial, and what it carried during it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from httpdyno.model.record import Embedded, Recorded

__all__ = ["LinkCounters", "PathCounters", "link_counters"]


@dataclass(frozen=True, slots=True)
class PathCounters:
    """One direction of the link."""

    packets: Annotated[int | None, Recorded("packets that were offered, those of super-packets each")] = None
    bytes: Annotated[
        int | None, Recorded("bytes of IP packets that were carried: of all but those dropped", unit="bytes")
    ] = None
    super_packets: Annotated[int | None, Recorded("super-packets, each of which stood for several of them")] = None
    lost: Annotated[int | None, Recorded("packets lost on the way, by chance")] = None
    dropped: Annotated[int | None, Recorded("packets for which the queue had no room")] = None
    unread: Annotated[
        int | None, Recorded("packets that the kernel dropped, as the emulator had not read those before them")
    ] = None
    waited_max_ns: Annotated[int | None, Recorded("the longest that a packet waited for the rate", unit="ns")] = None
    lateness_p50_ns: Annotated[int | None, Recorded("median of how late the emulator let packets go", unit="ns")] = None
    lateness_p99_ns: Annotated[int | None, Recorded("99th percentile of it", unit="ns")] = None
    lateness_max_ns: Annotated[int | None, Recorded("the latest", unit="ns")] = None
    goodput_bits_per_s: Annotated[
        float | None, Recorded("content that was measured to pass before the trial", unit="bit/s")
    ] = None
    goodput_expected_bits_per_s: Annotated[
        float | None, Recorded("what of the rate is left for content", unit="bit/s")
    ] = None


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """The engine's report of the link of a trial, flat. What was not measured is None."""

    seed: Annotated[int | None, Recorded("seed of the losses", type="uint64")] = None
    verdict: Annotated[
        str | None, Recorded("whether the link was what was asked, before the trial: `held`, `missed`, `unchecked`")
    ] = None
    rtt_p50_ns: Annotated[int | None, Recorded("median round trip that was measured before the trial", unit="ns")] = (
        None
    )
    rtt_p99_ns: Annotated[int | None, Recorded("99th percentile of it", unit="ns")] = None
    up: Annotated[PathCounters, Embedded("up_")] = PathCounters()
    """From the subject to its peer."""
    down: Annotated[PathCounters, Embedded("down_")] = PathCounters()
    """From the peer to the subject."""
    offload_bytes: Annotated[
        int | None, Recorded("the longest super-packet; null where there are none", unit="bytes")
    ] = None
    offload_reason: Annotated[str | None, Recorded("why it is that long, or why there are none")] = None
    cpu: Annotated[int | None, Recorded("CPU of the emulator", type="int32")] = None
    cpu_shared: Annotated[bool | None, Recorded("whether the engine or the subject has that CPU, too")] = None
    cpu_time_ns: Annotated[int | None, Recorded("CPU time of the emulator", unit="ns")] = None


def link_counters(link: Mapping[str, Any] | None) -> LinkCounters | None:
    """Return the figures of a link from its part of the engine's report; None for a direct one."""
    if link is None:
        return None
    measured = link.get("measured") or {}
    round_trip = measured.get("rtt_ns") or {}
    offload = link.get("offload") or {}
    return LinkCounters(
        seed=link.get("seed"),
        verdict=link.get("verdict"),
        rtt_p50_ns=round_trip.get("p50"),
        rtt_p99_ns=round_trip.get("p99"),
        up=_path(link.get("up") or {}, measured.get("up") or {}),
        down=_path(link.get("down") or {}, measured.get("down") or {}),
        offload_bytes=offload.get("longest_bytes"),
        offload_reason=offload.get("why"),
        cpu=link.get("cpu"),
        cpu_shared=link.get("cpu_shared"),
        cpu_time_ns=link.get("cpu_time_ns"),
    )


def _path(path: Mapping[str, Any], measured: Mapping[str, Any]) -> PathCounters:
    lateness = path.get("lateness_ns") or {}
    return PathCounters(
        packets=path.get("packets"),
        bytes=path.get("bytes"),
        super_packets=path.get("super_packets"),
        lost=path.get("lost"),
        dropped=path.get("dropped"),
        unread=path.get("unread"),
        waited_max_ns=path.get("waited_max_ns"),
        lateness_p50_ns=lateness.get("p50"),
        lateness_p99_ns=lateness.get("p99"),
        lateness_max_ns=lateness.get("max"),
        goodput_bits_per_s=measured.get("goodput_bits_per_s"),
        goodput_expected_bits_per_s=measured.get("expected_bits_per_s"),
    )
