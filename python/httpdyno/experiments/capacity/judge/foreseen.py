"""How many answers a second each possible limit of a point allows, by the laws of networks and queues."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.transport import (
    HEAD_BYTES,
    INITIAL_WINDOW,
    restart_window,
    round_trips,
    segments,
    wire_bytes,
)
from httpdyno.model import Link, Trial

__all__ = ["Foreseen", "LimitKind", "Situation", "link_of"]

_LEAST_TIMEOUT_S: Final = 0.2
"""Linux waits a round trip and this long at least before it calls a packet lost (TCP_RTO_MIN)."""
_SEND_BUFFER_BYTES: Final = 4 * 1024**2
_RECEIVE_BUFFER_BYTES: Final = 6 * 1024**2
"""What tcp_wmem and tcp_rmem allow at most where nobody has changed them (tcp(7)); used when they were not recorded."""
_WINDOW_SHARE: Final = 0.5
"""Of a receive buffer, that part is window: the rest is for what the kernel keeps beside the data (tcp(7))."""
_BUSY_ENOUGH: Final = 0.9
"""Below, CPU time tells nothing of the most: runtimes spin while they wait, and do more at once under load."""


class LimitKind(StrEnum):
    """What can limit a point; the values stand in the records."""

    BANDWIDTH = "bandwidth"
    WINDOW = "window"
    CPU = "cpu"
    CONCURRENCY = "concurrency"
    ORIGIN = "origin"
    LINK = "link"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One limit, and how many answers a second it allows."""

    kind: LimitKind
    per_s: float


@dataclass(frozen=True)
class Situation:
    """A point, and what a trial has measured of those that met there."""

    point: CapacityPoint
    link: Link
    head_bytes: float = HEAD_BYTES
    send_buffer_bytes: int = _SEND_BUFFER_BYTES
    receive_buffer_bytes: int = _RECEIVE_BUFFER_BYTES
    subject_cpus: int = 0
    subject_busy: float | None = None
    """Share of the time of its CPUs that it used; None: not measured."""
    all_busy: float | None = None
    """Share of it in which they were busy, whoever used them."""
    per_s: float | None = None
    """Right answers a second that were measured."""
    opened: float | None = None
    """Share of the requests that were the first of a connection."""
    busy_per_s: float | None = None
    """Requests a second over the time in which the CPUs were watched: the whole trial."""

    @classmethod
    def of(cls, trial: Trial, point: CapacityPoint) -> "Situation":
        """Read from a trial what the limits follow from."""
        counters, summary = trial.counters, trial.get(CapacitySummary)
        cpus, busy, all_busy = _busy(trial)
        watched_s = max((cpu.window_ns for cpu in counters.cpus or ()), default=0) / 1e9
        requests = counters.requests
        return cls(
            point,
            link_of(trial, point),
            head_bytes=_head_bytes(trial, point),
            send_buffer_bytes=counters.tcp_wmem_max_bytes or _SEND_BUFFER_BYTES,
            receive_buffer_bytes=counters.tcp_rmem_max_bytes or _RECEIVE_BUFFER_BYTES,
            subject_cpus=cpus,
            subject_busy=busy,
            all_busy=all_busy,
            per_s=summary.per_s if summary else None,
            opened=1 - counters.reused / requests if requests and counters.reused is not None else None,
            busy_per_s=requests / watched_s if requests and watched_s else None,
        )

    @cached_property
    def wire_bytes(self) -> float:
        """Bytes of IP packets that carry an answer."""
        return wire_bytes(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)

    @property
    def rate_bits_per_s(self) -> int | None:
        """Of the link, towards the subject."""
        return self.link.down.rate_bits_per_s

    @cached_property
    def window_bytes(self) -> float:
        """What a connection may have in flight at most, once it is warm."""
        return min(self.send_buffer_bytes, _WINDOW_SHARE * self.receive_buffer_bytes)

    @cached_property
    def round_trips(self) -> int:
        """How many an answer takes over a connection that has carried others, its request included."""
        count = segments(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)
        trip_s = self.link.round_trip_ns / 1e9
        idle_s = trip_s + self.point.delay_ns / 1e9
        begins_with = restart_window(count, idle_s=idle_s, timeout_s=trip_s + _LEAST_TIMEOUT_S)
        return round_trips(count, begins_with=begins_with, at_most=int(self.window_bytes / self.link.mtu_bytes))

    @property
    def first_round_trips(self) -> int:
        """How many the first answer of a connection takes, the one that opens it included."""
        count = segments(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)
        at_most = int(self.window_bytes / self.link.mtu_bytes)
        return 1 + round_trips(count, begins_with=INITIAL_WINDOW, at_most=at_most)

    @property
    def first_answer_s(self) -> float:
        """How long the first answer of a connection takes at least."""
        return self._least_s(self.first_round_trips)

    @cached_property
    def utilisation(self) -> float | None:
        """Share of the rate of the link that right answers take; None: no rate, or nothing was measured."""
        if self.rate_bits_per_s is None or self.per_s is None:
            return None
        return 8 * self.wire_bytes * self.per_s / self.rate_bits_per_s

    @cached_property
    def limits(self) -> tuple[Foreseen, ...]:
        """All limits that are known, the narrowest first; of equals, the one that lies further from the subject."""
        every = (
            (LimitKind.BANDWIDTH, self.bandwidth_per_s),
            (LimitKind.CONCURRENCY, self._waiting(round_trips=1)),
            (LimitKind.WINDOW, self._waiting(self.round_trips) if self.round_trips > 1 else None),
            (LimitKind.CPU, self._full()),
        )
        known = [Foreseen(kind, per_s) for kind, per_s in every if per_s is not None]
        return tuple(sorted(known, key=lambda limit: limit.per_s))

    def needed_rate_bits_per_s(self, per_s: float) -> float:
        """Return the rate of the link that so many answers a second take."""
        return 8 * self.wire_bytes * per_s

    @property
    def bandwidth_per_s(self) -> float | None:
        """Answers a second that the link has room for: its rate over the bits of an answer; None: it has no rate."""
        return None if self.rate_bits_per_s is None else self.rate_bits_per_s / (8 * self.wire_bytes)

    def _waiting(self, round_trips: int) -> float | None:
        """Concurrency over the least time of an answer: delay, round trips, and its own time on the link.

        References
        ----------
        Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
        """
        least_s = self._least_s(round_trips)
        return self.point.concurrency / least_s if least_s > 0 else None

    def _least_s(self, round_trips: int) -> float:
        on_link_s = 0.0 if self.rate_bits_per_s is None else 8 * self.wire_bytes / self.rate_bits_per_s
        return (self.point.delay_ns + round_trips * self.link.round_trip_ns) / 1e9 + on_link_s

    @property
    def cpu_full(self) -> bool:
        """Whether its CPUs had nothing left for the subject, and it was the subject that used most of them."""
        own, everybody = self.subject_busy or 0.0, self.all_busy or 0.0
        return own >= _BUSY_ENOUGH or (everybody >= _BUSY_ENOUGH and own >= everybody / 2)

    def _full(self) -> float | None:
        """Return what the subject's CPUs would do if they were busy all the time.

        There is no such limit of the engine: it spins where it must be on time, and a rule of validity says when it was
        too slow.

        References
        ----------
        Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978): the
        utilisation law, U = X S.
        """
        busy = self.subject_busy
        return self.busy_per_s / busy if self.busy_per_s and busy and self.cpu_full else None


def _busy(trial: Trial) -> tuple[int, float | None, float | None]:
    """Return the number of the subject's CPUs, and the shares of their time that it, its packets and all took."""
    counters = trial.counters
    cpus = [cpu for cpu in counters.subject_cpus if cpu.window_ns > 0]
    if not cpus:
        return 0, None, None
    own_ns = busy_ns = sum(cpu.busy_ns for cpu in cpus)
    if counters.cpu_ns is not None:
        interrupts_ns = sum(cpu.interrupt_ns or 0 for cpu in cpus)
        own_ns = min(busy_ns, counters.cpu_ns + interrupts_ns)
    window_ns = sum(cpu.window_ns for cpu in cpus)
    return len(cpus), own_ns / window_ns, busy_ns / window_ns


def link_of(trial: Trial, point: CapacityPoint) -> Link:
    """Read the link that was recorded; of a real network only what the point says: what nobody knows adds nothing."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return Link.symmetric(round_trip_ns=point.round_trip_ns, rate_bits_per_s=point.rate_bits_per_s)


def _head_bytes(trial: Trial, point: CapacityPoint) -> float:
    """Read from what the origin sent how long the heads of its answers were."""
    counters = trial.counters
    if not counters.requests or counters.origin_sent_bytes is None:
        return HEAD_BYTES
    head = counters.origin_sent_bytes / counters.requests - point.size_bytes
    # Answers that were cut short would make it negative.
    return head if HEAD_BYTES / 2 <= head <= 10 * HEAD_BYTES else HEAD_BYTES
