"""Machines for a load: cores, requests in flight, memory, bandwidth and sockets, computed from a client's trials."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, isfinite, log2
from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.judge.limit import Limit, limited_by
from httpdyno.model import Trial
from httpdyno.stats import FloatArray, median_interval

EXPECTED_RATE: Final = "write it like 1e9/week, 100M/day or 2000/s"
_RATE: Final = re.compile(
    r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,9})?(?:[eE]\+?[0-9]{1,2})?)(?P<scale>[kKMGB]?)\s*/\s*(?P<unit>[a-z]+)"
)
_SCALES: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}
_UNIT_S: Final = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3600),
    **dict.fromkeys(("d", "day"), 86_400),
    **dict.fromkeys(("w", "week"), 604_800),
    "month": 30 * 86_400,
}
_HIGHEST_PER_S: Final = 1e12

PORTS: Final = 64_511
"""Number of ports (1025 to 65535): concurrent connections from one address to one other (address and port)."""
OPEN_FILES: Final = 1_048_576
"""Default limit of sockets that one process may open on Linux (``fs.nr_open``)."""
_TIME_WAIT_S: Final = 60
"""How long a port stays in use after its connection was closed (Linux, ``TCP_TIMEWAIT_LEN``)."""
_SEGMENT_BYTES: Final = 1448
_INITIAL_WINDOW: Final = 10
"""Segments of a new connection's first round trip (RFC 6928)."""
_SEVERAL_SIZES: Final = 2.0
"""Ratio of the largest to the smallest mean answer from which the cost is fitted over the size."""
_CHECK_SHARES: Final = (1 / 10, 1 / 20, 1 / 50, 1 / 100, 1 / 1000)
_CHECK_BUSY: Final = 0.7
"""Shares of the measured CPUs that a check may take: a client should sustain it easily."""
_CHECK_SPARE: Final = 1.25
"""Requests in flight that a check allows, over those by Little's law."""
_HEAD_BYTES: Final = 190


class Resource(StrEnum):
    """Resource that can limit a machine."""

    CPU = "CPU"
    MEMORY = "memory"
    BANDWIDTH = "bandwidth"
    SOCKETS = "sockets"


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Cost of a right answer, from one trial."""

    cpu_ms: float
    time_ms: float
    received_bytes: float
    """Bytes on the wire, including headers."""
    requests: float
    """Requests for one answer, including redirects."""
    connections: float
    """Connections opened for one answer: 1 if none is reused."""
    handshake_round_trips: float
    """Round trips of TLS handshakes for one answer."""
    memory_bytes: float
    """Peak memory of the process."""
    concurrency: int
    """Requests that the process may have in flight."""
    cpus: int
    """CPUs that the process may use."""
    ok_share: float | None = None
    """Share of answers with a status of 2xx among all right ones."""
    rate_per_s: float | None = None
    """Right answers a second of the process."""
    queries: float | None = None
    """DNS queries for one answer; None: not counted."""

    @property
    def busy_share(self) -> float | None:
        """Return the share of its CPUs that the process used; None if its rate is unknown."""
        return None if self.rate_per_s is None else self.rate_per_s * self.cpu_ms / 1e3 / self.cpus

    def round_trips(self, answer_bytes: float) -> float:
        """Return the round trips of one answer of that size.

        One for each request, one to connect, those of the TLS handshake and, on a new connection, those of TCP's slow
        start.

        References
        ----------
        RFC 6928 (initial window of ten segments); RFC 5681, section 3.1 (the window doubles with each round trip).
        """
        segments = max(answer_bytes / max(self.requests, 1.0), 1.0) / _SEGMENT_BYTES
        slow_start = max(1, ceil(log2(segments / _INITIAL_WINDOW + 1))) - 1
        return self.requests + self.handshake_round_trips + self.connections * (1 + slow_start)


@dataclass(frozen=True, slots=True)
class Load:
    """The load to plan for."""

    rate_per_s: float
    """Right answers a second."""
    answer_bytes: float | None = None
    """Mean answer on the wire; None: as measured."""
    round_trip_ms: float = 0.0
    """Distance in addition to the measured time of an answer."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One of the machines that share the load."""

    cores: float
    memory_bytes: float
    bandwidth_bits_per_s: float
    """Bandwidth towards the machine."""
    addresses: int | None = None
    """Number of server addresses; None: enough for ports not to run out."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Median over the trials of a client, and both ends of its interval."""

    value: float
    low: float
    high: float
    level: float | None
    """Confidence of the interval, 0 to 1; None for a single trial, whose ends are its value."""

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray) -> "Estimate":
        """Summarise values, one per trial; at least one."""
        array = np.asarray(values, dtype=np.float64)
        value, interval = float(np.median(array)), median_interval(array)
        return cls(value, interval.low, interval.high, interval.level) if interval else cls(value, value, value, None)


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """Resources that one client needs for a load, summed over all machines."""

    cores: Estimate
    in_flight: Estimate
    processes: Estimate
    """Processes like the measured one."""
    memory_bytes: Estimate
    bits_per_s: Estimate
    """Received."""
    sockets: Estimate
    """Connections that are open, or were closed less than 60 s ago."""
    connections_per_s: Estimate
    """Opened."""
    answer_ms: Estimate
    """Time of an answer, including the distance."""
    answer_bytes: Estimate
    round_trips: Estimate
    shares: Mapping[Resource, Estimate]
    """Machines that each resource alone requires, as a fraction."""
    machines: int
    """Machines that the scarcest resource requires."""
    machines_low: int
    machines_high: int
    """The same for the lower and the upper ends of the intervals."""
    trials: int

    @property
    def limit(self) -> Resource:
        """Return the resource that runs out first."""
        return max(self.shares, key=lambda resource: self.shares[resource].value)

    @property
    def used_share(self) -> float:
        """Return the used share of the limiting resource, over all machines."""
        return self.shares[self.limit].value / self.machines


@dataclass(frozen=True, slots=True)
class Check:
    """A point of the capacity experiment that a client must hold if its plan is right."""

    share: float
    """Share of the load of one machine."""
    rate_per_s: float
    size_bytes: int
    """Content of an answer."""
    delay_ms: int
    round_trip_ms: float
    concurrency: int


def parse_load_rate(text: str, *, name: str = "RATE") -> float:
    """Read a load in answers a second, such as ``1e9/week``, ``100M/day``, ``3000/min`` or ``2000/s``.

    Raises
    ------
    InvalidValue
        If it is not a rate, or not above 0.
    """
    match = _RATE.fullmatch(text.strip().replace(",", ""))
    unit_s = _UNIT_S.get(match["unit"]) if match else None
    if match is None or unit_s is None:
        raise InvalidValue(f"{name}: {text[:60]!r} is not a rate; {EXPECTED_RATE}")
    rate_per_s = float(match["number"]) * _SCALES[match["scale"]] / unit_s
    if not 0 < rate_per_s <= _HIGHEST_PER_S or not isfinite(rate_per_s):
        wrong = "must be above 0" if rate_per_s == 0 else "is too high"
        raise InvalidValue(f"{name}: {text[:60]!r} {wrong}; {EXPECTED_RATE}")
    return rate_per_s


def answer_figures(trial: Trial) -> AnswerFigures | None:
    """Return the cost of a right answer in a trial; None if CPU time, memory, bytes or times were not measured."""
    summary, tally, counters = trial.summary, trial.tally, trial.counters
    if summary is None or tally is None or not tally.right:
        return None
    cpu_ns, time_ns = summary.cpu_per_right_ns, _answer_ns(trial)
    received, memory = counters.received_bytes, counters.peak_memory_bytes
    if cpu_ns is None or time_ns is None or received is None or memory is None:
        return None
    versions = {version.name: version.count for version in counters.tls_versions or ()}
    # TLS 1.3 takes one round trip (RFC 8446), earlier versions two.
    handshake_trips = sum(count if name == "1.3" else 2 * count for name, count in versions.items())
    return AnswerFigures(
        cpu_ms=cpu_ns / 1e6,
        time_ms=time_ns / 1e6,
        received_bytes=received / tally.right,
        requests=(counters.requests or tally.right) / tally.right,
        connections=(counters.connections or 0) / tally.right,
        handshake_round_trips=handshake_trips / tally.right,
        memory_bytes=float(memory),
        concurrency=trial.concurrency,
        cpus=max(1, len(counters.subject_cpus)),
        ok_share=summary.ok_share,
        rate_per_s=summary.right_per_s,
        queries=None if counters.dns_queries is None else counters.dns_queries / tally.right,
    )


def covers_several_sizes(trials: Sequence[AnswerFigures]) -> bool:
    """Return whether the mean sizes of answers differ enough to fit the cost over the size."""
    sizes = [trial.received_bytes for trial in trials]
    return max(sizes) >= _SEVERAL_SIZES * min(sizes)


def plan_machines(trials: Sequence[AnswerFigures], load: Load, machine: Machine) -> MachinePlan:
    """Plan a load for one client.

    Each quantity is computed for each trial separately; its estimate is the median, with the interval of the median.
    Cores are the rate times the CPU time of an answer (the utilisation law), requests in flight the rate times the time
    of an answer (Little's law). Memory is that of as many processes as these cores and these requests need at the
    measured concurrency: nothing is extrapolated to processes with a higher load.

    Parameters
    ----------
    trials : at least one
        Trials of one client. If their answers differ in size by a factor of two, CPU time and time of an answer are
        moved along their least-squares line over the size to ``load.answer_bytes``.

    Raises
    ------
    UsageError
        If the trials cover several sizes and the load names none.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
    Denning and Buzen, The operational analysis of queueing network models, Computing Surveys 10 (1978): U = X S.
    """
    rate = load.rate_per_s
    sizes = np.array([trial.received_bytes for trial in trials])
    cpu_ms = np.array([trial.cpu_ms for trial in trials])
    time_ms = np.array([trial.time_ms for trial in trials])
    if covers_several_sizes(trials):
        if load.answer_bytes is None:
            raise UsageError(
                f"--bytes: this run has answers of {min(sizes):,.0f} to {max(sizes):,.0f} bytes; name the size to plan"
                " for, such as --bytes 100KB"
            )
        cpu_ms, time_ms = (_project(values, sizes, load.answer_bytes) for values in (cpu_ms, time_ms))
    if load.answer_bytes is not None:
        sizes = np.full(len(trials), load.answer_bytes)
    round_trips = np.array([trial.round_trips(size) for trial, size in zip(trials, sizes, strict=True)])
    answer_ms = time_ms + round_trips * load.round_trip_ms
    cores = rate * cpu_ms / 1e3
    in_flight = rate * answer_ms / 1e3
    # Rounded, so that 3.0000000000000004 processes are three.
    by_cpu, by_flight = cores / [trial.cpus for trial in trials], in_flight / [trial.concurrency for trial in trials]
    processes = np.ceil(np.round(np.maximum(by_cpu, by_flight), 9))
    memory_bytes = processes * [trial.memory_bytes for trial in trials]
    bits_per_s = rate * 8 * sizes
    connections_per_s = rate * np.array([trial.connections for trial in trials])
    sockets = in_flight + connections_per_s * _TIME_WAIT_S
    of_machine = {
        Resource.CPU: cores / machine.cores,
        Resource.MEMORY: memory_bytes / machine.memory_bytes,
        Resource.BANDWIDTH: bits_per_s / machine.bandwidth_bits_per_s,
        Resource.SOCKETS: in_flight / OPEN_FILES
        if machine.addresses is None
        else np.maximum(in_flight / OPEN_FILES, sockets / (PORTS * machine.addresses)),
    }
    shares = {resource: Estimate.of(values) for resource, values in of_machine.items()}
    ends = {
        name: max(1, ceil(round(max(getattr(share, end) for share in shares.values()), 9)))
        for name, end in (("machines", "value"), ("machines_low", "low"), ("machines_high", "high"))
    }
    return MachinePlan(
        cores=Estimate.of(cores),
        in_flight=Estimate.of(in_flight),
        processes=Estimate.of(processes),
        memory_bytes=Estimate.of(memory_bytes),
        bits_per_s=Estimate.of(bits_per_s),
        sockets=Estimate.of(sockets),
        connections_per_s=Estimate.of(connections_per_s),
        answer_ms=Estimate.of(answer_ms),
        answer_bytes=Estimate.of(sizes),
        round_trips=Estimate.of(round_trips),
        shares=shares,
        **ends,
        trials=len(trials),
    )


def check_of(plan: MachinePlan, load: Load, cpus: int) -> Check:
    """Return a point at a tenth of the load of one machine, or less if a tenth takes more than ``cpus`` CPUs."""
    of_one = 1 / plan.machines
    fitting = (share for share in _CHECK_SHARES if plan.cores.high * of_one * share <= _CHECK_BUSY * cpus)
    share = next(fitting, _CHECK_SHARES[-1])
    in_flight = plan.in_flight.value * of_one * share
    delay_ms = plan.answer_ms.value - plan.round_trips.value * load.round_trip_ms
    packets = _SEGMENT_BYTES + 52  # the headers of IP and TCP
    return Check(
        share=share,
        rate_per_s=load.rate_per_s * of_one * share,
        size_bytes=max(0, round((plan.answer_bytes.value - _HEAD_BYTES) * _SEGMENT_BYTES / packets)),
        delay_ms=max(0, round(delay_ms)),
        round_trip_ms=load.round_trip_ms,
        concurrency=max(1, ceil(in_flight * _CHECK_SPARE)),
    )


def _answer_ns(trial: Trial) -> float | None:
    """Return the time of an answer for a client that keeps up: the measured time if it did.

    If something other than the web's delays limited the client, most of the measured time is waiting for a CPU, and
    depends only on the concurrency. The time of an answer is then the time that the web plans plus its CPU time.
    """
    summary = trial.summary
    if summary is None or summary.mean_ns is None:
        return None
    limit, planned_ns = limited_by(trial), summary.planned_mean_ns or 0.0
    kept_up = limit is Limit.CONCURRENCY or (limit is None and planned_ns > 0)
    if kept_up or trial.link != "direct" or summary.cpu_per_right_ns is None:
        return summary.mean_ns
    return min(summary.mean_ns, planned_ns + summary.cpu_per_right_ns)


def _project(values: FloatArray, sizes: FloatArray, to: float) -> FloatArray:
    """Move each value along the least-squares line over the size; a decreasing line counts as flat."""
    spread = sizes - sizes.mean()
    slope = max(0.0, float(spread @ values) / float(spread @ spread))
    least = float(values.min()) * 1e-3
    moved: FloatArray = np.maximum(values + slope * (to - sizes), least)
    return moved
