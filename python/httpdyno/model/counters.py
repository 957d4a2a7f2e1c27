"""Counters of one trial, from the engine and the kernel: of the subject, the link and another machine's origin."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final, TypeVar

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model.record import Embedded, FigureRecord, Recorded, measured, members, restore

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class PathCounters:
    """One direction of the link."""

    packets: int | None = measured("packets that reached the emulator; those within super-packets count one by one")
    bytes: int | None = measured("bytes of the IP packets that were not dropped")
    super_packets: int | None = measured("super-packets, each of which contains several packets")
    lost: int | None = measured("packets lost on the way, by chance")
    dropped: int | None = measured("packets for which the queue had no room")
    unread: int | None = measured("packets that the kernel dropped because the emulator read too slowly")
    waited_max_ns: int | None = measured("longest time that a packet waited for the rate")
    lateness_p50_ns: int | None = measured("median delay of packets beyond their due time", "lateness_ns.p50")
    lateness_p99_ns: int | None = measured("99th percentile of that delay", "lateness_ns.p99")
    lateness_max_ns: int | None = measured("longest delay of a packet", "lateness_ns.max")
    goodput_bits_per_s: float | None = measured("rate of content, measured before the trial", "measured.", unit="bit/s")
    goodput_expected_bits_per_s: float | None = measured(
        "rate of content that the link allows, without headers", "measured.expected_bits_per_s", unit="bit/s"
    )


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """The engine's report of the link of a trial, flat. What was not measured is None."""

    seed: int | None = measured("seed of the losses", type="uint64")
    verdict: str | None = measured("state of the link before the trial: `held`, `missed`, `unchecked`")
    rtt_p50_ns: int | None = measured("median round trip that was measured before the trial", "measured.rtt_ns.p50")
    rtt_p99_ns: int | None = measured("99th percentile of that round trip", "measured.rtt_ns.p99")
    up: Annotated[PathCounters, Embedded("up_")] = PathCounters()
    """From the subject to its peer."""
    down: Annotated[PathCounters, Embedded("down_")] = PathCounters()
    """From the peer to the subject."""
    offload_bytes: int | None = measured("longest super-packet; null without any", "offload.longest_bytes")
    offload_reason: str | None = measured("reason for that length, or for having no super-packets", "offload.why")
    cpu: int | None = measured("CPU of the emulator", type="int32")
    cpu_shared: bool | None = measured("whether the engine or the subject uses that CPU, too")
    cpu_time_ns: int | None = measured("CPU time of the emulator")


@dataclass(frozen=True, slots=True)
class AgainstCounters:
    """The engine's report of the path to another machine, flat. What was not measured is None."""

    url: str | None = measured("URL of the origin on another machine that played the web")
    address: str | None = measured("IP address and port of that origin")
    rtt_min_ns: int | None = measured("shortest exchange with the origin, before and after the trial", "rtt.min_ns")
    rtt_p50_ns: int | None = measured("median exchange with the origin", "rtt.p50_ns")
    connect_ns: int | None = measured("time that connecting to the origin took", "rtt.")
    clock_ahead_ns: int | None = measured("lead of its clock over this machine's at the start", "clock.ahead_ns")
    clock_drifted_ns: int | None = measured("change of that lead until the end", "clock.drifted_ns")
    clock_bound_ns: int | None = measured(
        "possible error of the origin's time stamps on this machine's clock, in both directions", "clock.bound_ns"
    )


_REPORT_VERSION: Final = 1
"""Version of the engine's report that can be read."""


@dataclass(frozen=True, slots=True)
class LabelCount:
    """Requests of a load with one label; times are response times of good answers that ended."""

    label: Annotated[str, Recorded("label of the requests")]
    grouped: Annotated[int | None, Recorded("labels that are counted together here; null for a single one")]
    requests: Annotated[int, Recorded("answers that came whole, whatever their status")]
    errors: Annotated[int, Recorded("requests that failed: without an answer, or with one that is not good")]
    not_2xx: Annotated[int, Recorded("answers with another status than 2xx")]
    statuses: Annotated[str, Recorded("answers by status code: `200: 9980, 503: 20`")]
    failures: Annotated[str, Recorded("requests without an answer, by the name of the error")]
    mean_ns: float | None = measured("mean response time")
    p50_ns: int | None = measured("median")
    p75_ns: int | None = measured("75th percentile")
    p90_ns: int | None = measured("90th percentile")
    p95_ns: int | None = measured("95th percentile")
    p99_ns: int | None = measured("99th percentile")
    p99_9_ns: int | None = measured("99.9th percentile")
    p99_99_ns: int | None = measured("99.99th percentile")
    max_ns: int | None = measured("the longest")


@dataclass(frozen=True, slots=True)
class Labels(FigureRecord):
    """Requests of one trial by label."""

    prefix: ClassVar[str] = ""

    labels: Annotated[tuple[LabelCount, ...], Recorded("requests by label, in order of appearance")] = ()


@dataclass(frozen=True, slots=True)
class AddressCount:
    """Connections of a load to one address of its servers, and their requests."""

    address: Annotated[str, Recorded("address of a server, with its port")]
    grouped: Annotated[int | None, Recorded("addresses that are counted together here; null for a single one")]
    opened: Annotated[int, Recorded("opened connections")]
    failed: Annotated[int, Recorded("failed attempts to connect")]
    requests: Annotated[int, Recorded("answers that came whole, whatever their status")]
    failed_answers: Annotated[int, Recorded("answers that are not good")]
    errors: Annotated[int, Recorded("requests that were sent and had no answer")]
    response_p50_ns: int | None = measured("median response time of good answers")
    response_p99_ns: int | None = measured("99th percentile")


@dataclass(frozen=True, slots=True)
class Addresses(FigureRecord):
    """Connections and requests of one trial by the address of the server."""

    prefix: ClassVar[str] = ""

    addresses: Annotated[tuple[AddressCount, ...], Recorded("connections and requests by address of the servers")] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was counted, with its name."""

    name: Annotated[str, Recorded("what was seen")]
    count: Annotated[int, Recorded("how often")]


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """One reading of the memory of the subject's process tree."""

    elapsed_ns: Annotated[int, Recorded("since exec")]
    bytes: Annotated[int, Recorded("memory in use")]


@dataclass(frozen=True, slots=True)
class ThroughputPoint:
    """Answers that were completed within one bin of time."""

    elapsed_ns: Annotated[int, Recorded("end of the bin, since exec")]
    answers: Annotated[int, Recorded("answers completed in the bin")]


@dataclass(frozen=True, slots=True)
class CpuTime:
    """How busy one pinned CPU was, by all programs."""

    cpu: Annotated[int, Recorded("number of the CPU", type="int32")]
    role: Annotated[str, Recorded("who uses the CPU: `engine`, `subject` or `both`")]
    busy_ns: Annotated[int, Recorded("time not idle")]
    steal_ns: Annotated[int, Recorded("time that the hypervisor took")]
    window_ns: Annotated[int, Recorded("time watched")]
    interrupt_ns: Annotated[int | None, Recorded("part of `busy_ns` in interrupts, such as for packets")] = None


@dataclass(frozen=True, slots=True)
class ProgramUse:
    """CPU time of a program that is not part of the trial."""

    name: Annotated[str, Recorded("its name")]
    cpu_ns: Annotated[int, Recorded("CPU time of all its processes")]


@dataclass(frozen=True, slots=True)
class Counters:
    """The engine's report of one trial, flat. What was not measured is None."""

    engine_version: str | None = measured("version of the engine", "engine.version")
    exit_code: int | None = measured("exit status of the subject; null after a signal", "subject.", type="int32")
    signal: int | None = measured("signal that ended the subject", "subject.", type="int32")
    started_at_ns: int | None = measured("exec of the subject, since the Unix epoch", "subject.")
    ended_at_ns: int | None = measured("end of the subject, since the Unix epoch", "subject.")
    wall_ns: int | None = measured("from exec to the end, on the monotonic clock", "subject.")
    cpu_user_ns: int | None = measured("CPU time of the subject in user mode", "subject.")
    cpu_system_ns: int | None = measured("CPU time of the subject in the kernel", "subject.")
    peak_memory_bytes: int | None = measured(
        "highest reading of the subject's memory, or largest resident set of one process", "subject."
    )
    memory: tuple[MemoryPoint, ...] | None = measured("memory over time", "subject.")
    accounting: str | None = measured("source of the CPU time: `cgroup-v2`, `cgroup-v1`, `rusage`", "subject.")
    memory_limit_bytes: int | None = measured("requested memory limit", "subject.")
    memory_limit_enforced_by: str | None = measured("`cgroup-v2` or `cgroup-v1`; null: not enforced", "subject.")
    memory_limit_reason: str | None = measured("why the memory limit is not enforced", "subject.")
    out_of_memory: bool | None = measured("whether the kernel killed the subject for its memory", "subject.")
    sent_bytes: int | None = measured("bytes on the wire from the subject, headers included", "subject.")
    received_bytes: int | None = measured("bytes on the wire to the subject", "subject.")
    sent_packets: int | None = measured("packets from the subject", "subject.")
    received_packets: int | None = measured("packets to the subject", "subject.")
    engine_cpu_user_ns: int | None = measured("CPU time of the engine in user mode", "engine.cpu_user_ns")
    engine_cpu_system_ns: int | None = measured("CPU time of the engine in the kernel", "engine.cpu_system_ns")
    peer_cpu_user_ns: int | None = measured(
        "CPU time of a server as the peer, in user mode; null: the origin was the peer", "peer.cpu_user_ns"
    )
    peer_cpu_system_ns: int | None = measured("CPU time of a server as the peer, in the kernel", "peer.cpu_system_ns")
    peer_ready_ns: int | None = measured("from the server's exec until it accepted a connection", "peer.ready_ns")
    cpus: tuple[CpuTime, ...] | None = measured("the pinned CPUs")
    cpu_pressure_us: int | None = measured("time in which a process waited for a CPU", "pressure.cpu_some_us")
    memory_pressure_us: int | None = measured("time in which a process waited for memory", "pressure.memory_some_us")
    io_pressure_us: int | None = measured("time in which a process waited for a disk", "pressure.io_some_us")
    throttled_ns: int | None = measured("time lost because of a CPU quota of the machine, summed over CPUs")
    web_digest: str | None = measured("digest of the web's model and seed", "web.digest")
    connections: int | None = measured("TCP connections that the origin accepted", "origin.")
    handshakes_full: int | None = measured("full TLS handshakes", "origin.")
    handshakes_resumed: int | None = measured("resumed TLS handshakes", "origin.")
    handshakes_failed: int | None = measured("failed TLS handshakes", "origin.")
    tls_versions: tuple[Count, ...] | None = measured("handshakes by TLS version", "origin.")
    http_versions: tuple[Count, ...] | None = measured("requests by HTTP version", "origin.")
    requests: int | None = measured("requests that reached the origin", "origin.")
    reused: int | None = measured("requests on a connection that had carried another before", "origin.")
    repeated: int | None = measured("repeated requests that a correct client does not send", "origin.")
    peak_concurrency: int | None = measured("most exchanges that were open at once", "origin.")
    dns_queries: int | None = measured("DNS queries", "origin.")
    dns_repeated: int | None = measured("DNS queries that repeat a name and type", "origin.")
    statuses: tuple[Count, ...] | None = measured("answers by status code", "origin.")
    codings: tuple[Count, ...] | None = measured("answers by content coding", "origin.")
    faults: tuple[Count, ...] | None = measured("faults that the origin played, by name", "origin.")
    user_agents: tuple[Count, ...] | None = measured("requests by User-Agent, the first 16 distinct", "origin.")
    origin_sent_bytes: int | None = measured("bytes that the origin handed to the kernel", "origin.sent_bytes")
    origin_received_bytes: int | None = measured("bytes that the origin read", "origin.received_bytes")
    lateness_count: int | None = measured("answers that had a planned sending time", "origin.lateness_ns.count")
    lateness_mean_ns: int | None = measured("mean lateness of those answers", "origin.lateness_ns.mean")
    lateness_p50_ns: int | None = measured("median lateness of those answers", "origin.lateness_ns.p50")
    lateness_p99_ns: int | None = measured("99th percentile of that lateness", "origin.lateness_ns.p99")
    lateness_max_ns: int | None = measured("longest lateness of an answer", "origin.lateness_ns.max")
    origin_waiting_ns: int | None = measured("time that the origin waited for its CPU", "origin.waiting_ns")
    throughput: tuple[ThroughputPoint, ...] | None = measured("answers over time")
    origin_congestion_control: str | None = measured("TCP congestion control of the origin", "transport.")
    subject_congestion_control: str | None = measured("the kernel's TCP congestion control", "transport.")
    key_exchange_groups: str | None = measured("TLS groups that the origin offers, by preference", "transport.")
    tcp_rmem_max_bytes: int | None = measured("the kernel's limit of a receive buffer and TCP window", "transport.")
    tcp_wmem_max_bytes: int | None = measured("the kernel's limit of a send buffer", "transport.")
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
        """CPU time of the server that was the peer."""
        return _both(self.peer_cpu_user_ns, self.peer_cpu_system_ns)

    @property
    def subject_cpus(self) -> tuple[CpuTime, ...]:
        """The CPUs that the subject may use, including those that it shares with the engine."""
        return tuple(cpu for cpu in self.cpus or () if cpu.role != "engine")

    @property
    def engine_cpus(self) -> tuple[CpuTime, ...]:
        """The CPUs that the engine may use, including those that it shares with the subject."""
        return tuple(cpu for cpu in self.cpus or () if cpu.role != "subject")


def _both(user_ns: int | None, system_ns: int | None) -> int | None:
    return None if user_ns is None or system_ns is None else user_ns + system_ns


def counters_from_report(report: Mapping[str, Any]) -> Counters:
    """Read the counters of a trial from the JSON report that the engine left, version 1.

    A part that does not apply, such as ``origin`` on the real internet, may be null or absent.
    """
    version = report.get("version")
    if version != _REPORT_VERSION:
        raise EngineFailed(
            f"the engine's report has version {version}, this httpdyno reads {_REPORT_VERSION}: {RENEW_ENGINE}"
        )
    try:
        link = report.get("link")
        if link:
            # The report has the rates of both directions before the trial in a part of their own.
            before = link.get("measured") or {}
            ways = {way: {**(link.get(way) or {}), "measured": before.get(way)} for way in ("up", "down")}
            report = {**report, "link": {**link, **ways}}
        counters = _read(Counters, report)
        return replace(
            counters,
            memory=(counters.memory or ()) if report.get("subject") else None,
            cpus=counters.cpus or (),
            throughput=counters.throughput or (),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineFailed(
            f"the engine's report cannot be read ({type(error).__name__}: {error}): {RENEW_ENGINE}"
        ) from error


def _read(record: type[_Record], part: Mapping[str, Any]) -> _Record:
    """Read each field of a record from a part of the report."""
    values: dict[str, Any] = {}
    for member in members(record):
        value: Any = part
        path: str = getattr(member.mark, "at", "")
        for key in (path if path and not path.endswith(".") else path + member.name).split("."):
            value = (value or {}).get(key)
        if isinstance(member.mark, Embedded):
            value = _read(member.type, value or {}) if value or not member.nullable else None
        elif isinstance(value, Mapping):
            value = tuple(Count(name, int(count)) for name, count in sorted(value.items()))
        elif member.element is not None and value is not None:
            value = tuple(
                restore(member.element, entry) if isinstance(entry, Mapping) else member.element(*map(int, entry))
                for entry in value
            )
        elif isinstance(value, list):
            value = " ".join(value) or None
        values[member.name] = value
    return record(**values)
