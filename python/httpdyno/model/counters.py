"""Counters of the engine and the kernel for one trial: of the subject, the link and another machine's origin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model.record import Embedded, Recorded


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


REPORT_VERSION: Final = 1
"""Version of the engine's report that can be read."""


@dataclass(frozen=True, slots=True)
class Count:
    """How often something with a name was seen."""

    name: Annotated[str, Recorded("what was seen")]
    count: Annotated[int, Recorded("how often")]


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """One reading of the memory of the subject's process tree."""

    elapsed_ns: Annotated[int, Recorded("since exec", unit="ns")]
    bytes: Annotated[int, Recorded("memory in use", unit="bytes")]


@dataclass(frozen=True, slots=True)
class ThroughputPoint:
    """Answers that were completed within one bin of time."""

    elapsed_ns: Annotated[int, Recorded("end of the bin, since exec", unit="ns")]
    answers: Annotated[int, Recorded("answers completed in the bin")]


@dataclass(frozen=True, slots=True)
class CpuTime:
    """How busy one pinned CPU was, by all programs."""

    cpu: Annotated[int, Recorded("number of the CPU", type="int32")]
    role: Annotated[str, Recorded("whose CPU it is: `engine`, `subject` or `both`")]
    busy_ns: Annotated[int, Recorded("time not idle", unit="ns")]
    steal_ns: Annotated[int, Recorded("time taken by the hypervisor", unit="ns")]
    window_ns: Annotated[int, Recorded("time watched", unit="ns")]
    interrupt_ns: Annotated[
        int | None,
        Recorded("the part of `busy_ns` that went to interrupts, packets of the trial among them", unit="ns"),
    ] = None


@dataclass(frozen=True, slots=True)
class ProgramUse:
    """CPU time of a program that is not part of the trial."""

    name: Annotated[str, Recorded("its name")]
    cpu_ns: Annotated[int, Recorded("its CPU time, that of all of its processes", unit="ns")]


@dataclass(frozen=True, slots=True)
class Counters:
    """The engine's report of one trial, flat. What was not measured is None."""

    engine_version: Annotated[str | None, Recorded("version of the engine")] = None
    exit_code: Annotated[
        int | None, Recorded("exit status of the subject; null when a signal ended it", type="int32")
    ] = None
    signal: Annotated[int | None, Recorded("signal that ended the subject", type="int32")] = None
    started_at_ns: Annotated[int | None, Recorded("exec of the subject, since the Unix epoch", unit="ns")] = None
    ended_at_ns: Annotated[int | None, Recorded("end of the subject, since the Unix epoch", unit="ns")] = None
    wall_ns: Annotated[int | None, Recorded("from exec to the end, on the monotonic clock", unit="ns")] = None
    cpu_user_ns: Annotated[int | None, Recorded("CPU time of the subject in user mode", unit="ns")] = None
    cpu_system_ns: Annotated[int | None, Recorded("CPU time of the subject in the kernel", unit="ns")] = None
    peak_memory_bytes: Annotated[int | None, Recorded("highest reading of the subject's memory", unit="bytes")] = None
    memory: Annotated[tuple[MemoryPoint, ...] | None, Recorded("memory over time")] = None
    accounting: Annotated[str | None, Recorded("where CPU time comes from: `cgroup-v2`, `cgroup-v1`, `rusage`")] = None
    memory_limit_bytes: Annotated[int | None, Recorded("memory limit asked for", unit="bytes")] = None
    memory_limit_enforced_by: Annotated[str | None, Recorded("`cgroup-v2`, `cgroup-v1`; null when not enforced")] = None
    memory_limit_reason: Annotated[str | None, Recorded("why the memory limit is not enforced")] = None
    out_of_memory: Annotated[bool | None, Recorded("whether the kernel killed the subject for its memory")] = None
    sent_bytes: Annotated[
        int | None, Recorded("bytes on the wire from the subject, headers included", unit="bytes")
    ] = None
    received_bytes: Annotated[int | None, Recorded("bytes on the wire to the subject", unit="bytes")] = None
    sent_packets: Annotated[int | None, Recorded("packets from the subject")] = None
    received_packets: Annotated[int | None, Recorded("packets to the subject")] = None
    engine_cpu_user_ns: Annotated[int | None, Recorded("CPU time of the engine in user mode", unit="ns")] = None
    engine_cpu_system_ns: Annotated[int | None, Recorded("CPU time of the engine in the kernel", unit="ns")] = None
    peer_cpu_user_ns: Annotated[
        int | None,
        Recorded("CPU time in user mode of the server that played the peer; null: our origin did", unit="ns"),
    ] = None
    peer_cpu_system_ns: Annotated[int | None, Recorded("its CPU time in the kernel", unit="ns")] = None
    peer_ready_ns: Annotated[int | None, Recorded("from its exec until it accepted a connection", unit="ns")] = None
    cpus: Annotated[tuple[CpuTime, ...] | None, Recorded("the pinned CPUs")] = None
    cpu_pressure_us: Annotated[int | None, Recorded("time in which something waited for a CPU", unit="us")] = None
    memory_pressure_us: Annotated[int | None, Recorded("time in which something waited for memory", unit="us")] = None
    io_pressure_us: Annotated[int | None, Recorded("time in which something waited for a disk", unit="us")] = None
    throttled_ns: Annotated[
        int | None,
        Recorded("time in which a CPU quota of the machine kept programs from their CPUs, summed over CPUs", unit="ns"),
    ] = None
    web_digest: Annotated[str | None, Recorded("digest of the web's model and seed")] = None
    connections: Annotated[int | None, Recorded("TCP connections that the origin accepted")] = None
    handshakes_full: Annotated[int | None, Recorded("full TLS handshakes")] = None
    handshakes_resumed: Annotated[int | None, Recorded("resumed TLS handshakes")] = None
    handshakes_failed: Annotated[int | None, Recorded("failed TLS handshakes")] = None
    tls_versions: Annotated[tuple[Count, ...] | None, Recorded("handshakes by TLS version")] = None
    http_versions: Annotated[tuple[Count, ...] | None, Recorded("requests by HTTP version")] = None
    requests: Annotated[int | None, Recorded("requests that reached the origin")] = None
    reused: Annotated[int | None, Recorded("requests on a connection that had carried one before")] = None
    repeated: Annotated[int | None, Recorded("requests of a URL beyond those that a correct client sends")] = None
    peak_concurrency: Annotated[int | None, Recorded("most exchanges that were open at once")] = None
    dns_queries: Annotated[int | None, Recorded("DNS queries")] = None
    dns_repeated: Annotated[int | None, Recorded("DNS queries for a name and type that was asked before")] = None
    statuses: Annotated[tuple[Count, ...] | None, Recorded("answers by status code")] = None
    codings: Annotated[tuple[Count, ...] | None, Recorded("answers by content coding")] = None
    faults: Annotated[tuple[Count, ...] | None, Recorded("faults that were played")] = None
    user_agents: Annotated[tuple[Count, ...] | None, Recorded("requests by User-Agent, the first 16 distinct")] = None
    origin_sent_bytes: Annotated[int | None, Recorded("bytes that the origin handed to the kernel", unit="bytes")] = (
        None
    )
    origin_received_bytes: Annotated[int | None, Recorded("bytes that the origin read", unit="bytes")] = None
    lateness_count: Annotated[int | None, Recorded("sends that the origin had planned for a moment")] = None
    lateness_mean_ns: Annotated[int | None, Recorded("mean of how late they were", unit="ns")] = None
    lateness_p50_ns: Annotated[int | None, Recorded("median of how late they were", unit="ns")] = None
    lateness_p99_ns: Annotated[int | None, Recorded("99th percentile of how late they were", unit="ns")] = None
    lateness_max_ns: Annotated[int | None, Recorded("the latest", unit="ns")] = None
    origin_waiting_ns: Annotated[
        int | None, Recorded("time in which the origin had work, but something else had its CPU", unit="ns")
    ] = None
    throughput: Annotated[tuple[ThroughputPoint, ...] | None, Recorded("answers over time")] = None
    origin_congestion_control: Annotated[str | None, Recorded("TCP congestion control of the origin")] = None
    subject_congestion_control: Annotated[str | None, Recorded("the kernel's TCP congestion control")] = None
    key_exchange_groups: Annotated[str | None, Recorded("TLS groups that the origin offers, by preference")] = None
    tcp_rmem_max_bytes: Annotated[
        int | None, Recorded("the kernel's limit of a receive buffer: what a TCP window cannot exceed", unit="bytes")
    ] = None
    tcp_wmem_max_bytes: Annotated[int | None, Recorded("the kernel's limit of a send buffer", unit="bytes")] = None
    link: Annotated[LinkCounters | None, Embedded("link_")] = None
    against: Annotated[AgainstCounters | None, Embedded("against_")] = None

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of the subject."""
        return _both(self.cpu_user_ns, self.cpu_system_ns)

    @property
    def engine_cpu_ns(self) -> int | None:
        """CPU time of the engine, without a link's emulator."""
        return _both(self.engine_cpu_user_ns, self.engine_cpu_system_ns)

    @property
    def peer_cpu_ns(self) -> int | None:
        """CPU time of the server that played the peer."""
        return _both(self.peer_cpu_user_ns, self.peer_cpu_system_ns)

    @property
    def subject_cpus(self) -> tuple[CpuTime, ...]:
        """The CPUs that the subject may use, also those that it shares with the engine."""
        return tuple(cpu for cpu in self.cpus or () if cpu.role != "engine")

    @property
    def engine_cpus(self) -> tuple[CpuTime, ...]:
        """The CPUs that the engine may use, also those that it shares with the subject."""
        return tuple(cpu for cpu in self.cpus or () if cpu.role != "subject")


def _both(user_ns: int | None, system_ns: int | None) -> int | None:
    return None if user_ns is None or system_ns is None else user_ns + system_ns


_SUBJECT: Final = (
    "exit_code",
    "signal",
    "started_at_ns",
    "ended_at_ns",
    "wall_ns",
    "cpu_user_ns",
    "cpu_system_ns",
    "peak_memory_bytes",
    "accounting",
    "memory_limit_bytes",
    "memory_limit_enforced_by",
    "memory_limit_reason",
    "out_of_memory",
    "sent_bytes",
    "received_bytes",
    "sent_packets",
    "received_packets",
)
_ORIGIN: Final = (
    "connections",
    "handshakes_full",
    "handshakes_resumed",
    "handshakes_failed",
    "requests",
    "reused",
    "repeated",
    "peak_concurrency",
    "dns_queries",
    "dns_repeated",
)
_ORIGIN_COUNTS: Final = ("tls_versions", "http_versions", "statuses", "codings", "faults", "user_agents")


def counters_from_report(report: Mapping[str, Any]) -> Counters:
    """Read the counters of a trial from the JSON report that the engine left, version 1.

    A part that does not apply (``origin`` of a trial on the real internet) may be null or absent.
    """
    version = report.get("version")
    if version != REPORT_VERSION:
        raise EngineFailed(
            f"the engine's report has version {version}, this httpdyno reads {REPORT_VERSION}: {RENEW_ENGINE}"
        )
    try:
        return _counters(report)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineFailed(
            f"the engine's report cannot be read ({type(error).__name__}: {error}): {RENEW_ENGINE}"
        ) from error


def _counters(report: Mapping[str, Any]) -> Counters:
    subject = report.get("subject") or {}
    engine = report.get("engine") or {}
    pressure = report.get("pressure") or {}
    origin = report.get("origin") or {}
    lateness = origin.get("lateness_ns") or {}
    transport = report.get("transport") or {}
    peer = report.get("peer") or {}
    plain: dict[str, Any] = {name: subject.get(name) for name in _SUBJECT} | {
        name: origin.get(name) for name in _ORIGIN
    }
    counted: dict[str, Any] = {name: _counts(origin.get(name)) for name in _ORIGIN_COUNTS}
    return Counters(
        **plain,
        **counted,
        engine_version=engine.get("version"),
        engine_cpu_user_ns=engine.get("cpu_user_ns"),
        engine_cpu_system_ns=engine.get("cpu_system_ns"),
        peer_cpu_user_ns=peer.get("cpu_user_ns"),
        peer_cpu_system_ns=peer.get("cpu_system_ns"),
        peer_ready_ns=peer.get("ready_ns"),
        memory=tuple(MemoryPoint(int(at), int(size)) for at, size in subject.get("memory") or ()) if subject else None,
        cpus=tuple(
            CpuTime(cpu["cpu"], cpu["role"], cpu["busy_ns"], cpu["steal_ns"], cpu["window_ns"], cpu.get("interrupt_ns"))
            for cpu in report.get("cpus") or ()
        ),
        cpu_pressure_us=pressure.get("cpu_some_us"),
        memory_pressure_us=pressure.get("memory_some_us"),
        io_pressure_us=pressure.get("io_some_us"),
        throttled_ns=report.get("throttled_ns"),
        web_digest=(report.get("web") or {}).get("digest"),
        origin_sent_bytes=origin.get("sent_bytes"),
        origin_received_bytes=origin.get("received_bytes"),
        lateness_count=lateness.get("count"),
        lateness_mean_ns=lateness.get("mean"),
        lateness_p50_ns=lateness.get("p50"),
        lateness_p99_ns=lateness.get("p99"),
        lateness_max_ns=lateness.get("max"),
        origin_waiting_ns=origin.get("waiting_ns"),
        throughput=tuple(ThroughputPoint(int(at), int(answers)) for at, answers in report.get("throughput") or ()),
        origin_congestion_control=transport.get("origin_congestion_control"),
        subject_congestion_control=transport.get("subject_congestion_control"),
        key_exchange_groups=" ".join(transport.get("key_exchange_groups") or ()) or None,
        tcp_rmem_max_bytes=transport.get("tcp_rmem_max_bytes"),
        tcp_wmem_max_bytes=transport.get("tcp_wmem_max_bytes"),
        link=link_counters(report.get("link")),
        against=against_counters(report.get("against")),
    )


def _counts(counts: Mapping[str, int] | None) -> tuple[Count, ...] | None:
    return None if counts is None else tuple(Count(name, int(count)) for name, count in sorted(counts.items()))
