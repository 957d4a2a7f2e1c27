"""Limits of the rate at a point: predictions, measurements, and their description in one sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import ceil
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.model import Link, Trial, Validity, format_rate, format_size, format_time

__all__ = [
    "LimitKind",
    "Situation",
    "capacity_sentences",
    "largest_size_bytes",
    "limit_of",
    "link_of",
    "link_was_as_asked",
    "restart_window",
    "round_trips",
    "rounded_rate",
    "segments",
    "wire_bytes",
    "with_limit",
    "within_link",
]

HEAD_BYTES: Final = 190
"""Approximate bytes of an answer's head; replaced by the measured value of a trial."""
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


_LEAST_TIMEOUT_S: Final = 0.2
"""Linux waits a round trip and this long at least before it calls a packet lost (TCP_RTO_MIN)."""
_SEND_BUFFER_BYTES: Final = 4 * 1024**2
_RECEIVE_BUFFER_BYTES: Final = 6 * 1024**2
"""Default maxima of tcp_wmem and tcp_rmem (tcp(7)), for trials that did not record them."""
_WINDOW_SHARE: Final = 0.5
"""Share of a receive buffer that is window; the rest is overhead of the kernel (tcp(7))."""
_BUSY_ENOUGH: Final = 0.9
"""Least busy share for an estimate of the maximum: below it, runtimes spin while they wait and batch less."""


class LimitKind(StrEnum):
    """Kinds of limits; the values are part of the records."""

    BANDWIDTH = "bandwidth"
    WINDOW = "window"
    CPU = "cpu"
    CONCURRENCY = "concurrency"
    ORIGIN = "origin"
    LINK = "link"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One limit and the answers a second that it allows."""

    kind: LimitKind
    per_s: float


@dataclass(frozen=True)
class Situation:
    """A point and the measurements of one trial there."""

    point: CapacityPoint
    link: Link
    head_bytes: float = HEAD_BYTES
    send_buffer_bytes: int = _SEND_BUFFER_BYTES
    receive_buffer_bytes: int = _RECEIVE_BUFFER_BYTES
    subject_cpus: int = 0
    subject_busy: float | None = None
    """Share of the CPU time that the subject used; None: not measured."""
    all_busy: float | None = None
    """Share of the CPU time in which the CPUs were busy with any program."""
    per_s: float | None = None
    """Right answers a second that were measured."""
    opened: float | None = None
    """Share of the requests that opened a connection."""
    busy_per_s: float | None = None
    """Requests a second over the whole trial, during which CPU use was recorded."""

    @classmethod
    def of(cls, trial: Trial, point: CapacityPoint) -> "Situation":
        """Read the inputs of the limits from a trial."""
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
        """Largest window of a warm connection."""
        return min(self.send_buffer_bytes, _WINDOW_SHARE * self.receive_buffer_bytes)

    @cached_property
    def round_trips(self) -> int:
        """Round trips of an answer on a warm connection, its request included."""
        count = segments(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)
        trip_s = self.link.round_trip_ns / 1e9
        idle_s = trip_s + self.point.delay_ns / 1e9
        begins_with = restart_window(count, idle_s=idle_s, timeout_s=trip_s + _LEAST_TIMEOUT_S)
        return round_trips(count, begins_with=begins_with, at_most=int(self.window_bytes / self.link.mtu_bytes))

    @property
    def first_round_trips(self) -> int:
        """Round trips of the first answer of a connection, the handshake included."""
        count = segments(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)
        at_most = int(self.window_bytes / self.link.mtu_bytes)
        return 1 + round_trips(count, begins_with=INITIAL_WINDOW, at_most=at_most)

    @property
    def first_answer_s(self) -> float:
        """Least time of the first answer of a connection."""
        return self._least_s(self.first_round_trips)

    @cached_property
    def utilisation(self) -> float | None:
        """Share of the link's rate used by right answers; None: no rate, or nothing was measured."""
        if self.rate_bits_per_s is None or self.per_s is None:
            return None
        return 8 * self.wire_bytes * self.per_s / self.rate_bits_per_s

    @cached_property
    def limits(self) -> tuple[Foreseen, ...]:
        """All known limits, the narrowest first; of equals, the one further from the subject."""
        every = (
            (LimitKind.BANDWIDTH, self.bandwidth_per_s),
            (LimitKind.CONCURRENCY, self._waiting(round_trips=1)),
            (LimitKind.WINDOW, self._waiting(self.round_trips) if self.round_trips > 1 else None),
            (LimitKind.CPU, self._full()),
        )
        known = [Foreseen(kind, per_s) for kind, per_s in every if per_s is not None]
        return tuple(sorted(known, key=lambda limit: limit.per_s))

    def needed_rate_bits_per_s(self, per_s: float) -> float:
        """Return the link rate that this many answers a second need."""
        return 8 * self.wire_bytes * per_s

    @property
    def bandwidth_per_s(self) -> float | None:
        """Answers a second that the link can carry: its rate over the bits of an answer; None: it has no rate."""
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
        """Whether the CPUs were exhausted, mostly by the subject."""
        own, everybody = self.subject_busy or 0.0, self.all_busy or 0.0
        return own >= _BUSY_ENOUGH or (everybody >= _BUSY_ENOUGH and own >= everybody / 2)

    def _full(self) -> float | None:
        """Return the limit that the subject's CPUs would reach if they were always busy.

        The engine has no such limit: it spins to be on time, and a rule of validity detects an engine that is too slow.

        References
        ----------
        Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978): the
        utilisation law, U = X S.
        """
        busy = self.subject_busy
        return self.busy_per_s / busy if self.busy_per_s and busy and self.cpu_full else None


def _busy(trial: Trial) -> tuple[int, float | None, float | None]:
    """Return the number of the subject's CPUs, and the shares of their time used by it, its packets, and in total."""
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
    """Read the recorded link; for a real network use only the point, and assume nothing else."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return Link.symmetric(round_trip_ns=point.round_trip_ns, rate_bits_per_s=point.rate_bits_per_s)


def _head_bytes(trial: Trial, point: CapacityPoint) -> float:
    """Derive the length of the answers' heads from the bytes that the origin sent."""
    counters = trial.counters
    if not counters.requests or counters.origin_sent_bytes is None:
        return HEAD_BYTES
    head = counters.origin_sent_bytes / counters.requests - point.size_bytes
    # Truncated answers would make it negative.
    return head if HEAD_BYTES / 2 <= head <= 10 * HEAD_BYTES else HEAD_BYTES


_AGREES: Final = 0.85
"""Least ratio of measured to predicted rate at which a limit explains it; slow start and queues take the rest."""
_REFUTES: Final = 1.05
_MOST_UNCERTAIN: Final = 0.2
_FULL: Final = 0.93
"""Share of use from which a resource counts as exhausted."""
_AS_ASKED: Final = "held"
_KEPT: Final = 0.99
_COLD: Final = 1.25
"""Times that are at most this multiple of a connection's first answer may be those of first answers."""
_MANY_OPENED: Final = 0.1
_MANY_OTHERS: Final = 0.1
_MANY_DROPPED: Final = 0.001
_INSTRUMENTS: Final = {Validity.ORIGIN_LIMITED: LimitKind.ORIGIN, Validity.LINK_LIMITED: LimitKind.LINK}


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a point."""

    kind: LimitKind
    per_s: float | None
    """Answers a second that it allows; None without a prediction."""
    text: str
    """One sentence with the evidence."""


def within_link(trial: Trial) -> Trial:
    """Take no more answers than the link has room for.

    Where many share a full link, some of them wait with half an answer while others get ahead: the count over a few
    rounds grows faster than the link carries; and of a tool in an open loop requests are counted, which a queue takes
    in. What no such round explains stays, and refutes the model.
    """
    point, summary = trial.get(CapacityPoint), trial.get(CapacitySummary)
    if point is None or summary is None or summary.per_s is None:
        return trial
    most = Situation.of(trial, point).bandwidth_per_s
    if most is None or not most < summary.per_s <= (_REFUTES + _uncertain(trial)) * most:
        return trial
    return trial.having(replace(summary, per_s=most))


def with_limit(trial: Trial) -> Trial:
    """Add the limit to a trial's figures; a trial without a point or figures is unchanged."""
    limit = limit_of(trial)
    if limit is None or trial.get(CapacitySummary) is None:
        return trial
    summary = replace(trial[CapacitySummary], limit=limit.kind.value, limit_per_s=limit.per_s, limit_text=limit.text)
    return trial.having(summary)


def limit_of(trial: Trial) -> Limit | None:
    """Return the limit of a trial's point; None if nothing was measured, or if the point holds without a limit."""
    point, summary = trial.get(CapacityPoint), trial.get(CapacitySummary)
    if point is None or summary is None or summary.per_s is None:
        return None
    situation = Situation.of(trial, point)
    measured = summary.per_s
    most = _REFUTES + _uncertain(trial)
    target = point.target_per_s
    kept = target is not None and measured >= _KEPT * target
    instrument = _INSTRUMENTS.get(trial.validity) if trial.validity else None
    if instrument is not None and not _nevertheless(trial, situation, most, kept=kept):
        said = trial.validity_reason or "the instrument was exhausted before the subject"
        return Limit(instrument, None, f"{said}: no conclusion about the subject")
    limits = [limit for limit in situation.limits if not (kept and limit.kind is LimitKind.CPU)]
    if not limits:
        said = f"measured {_rate(measured)}; no limit is known"
        return None if kept else Limit(LimitKind.UNKNOWN, None, f"unknown: {said}; {_busy_text(situation)}")
    narrowest = limits[0]
    # The CPU limit is computed over the whole trial: the steady stretch cannot refute it.
    if measured > most * narrowest.per_s and narrowest.kind is not LimitKind.CPU:
        return Limit(LimitKind.UNKNOWN, narrowest.per_s, _refuted(situation, narrowest, measured))
    if kept and target is not None and narrowest.per_s > target:
        missed = trial[CapacitySummary].why_not if trial[CapacitySummary].held is False else None
        return Limit(narrowest.kind, narrowest.per_s, _room_left(situation, narrowest, target, but=missed))
    if measured >= _AGREES * narrowest.per_s:
        return Limit(narrowest.kind, narrowest.per_s, _reached(trial, situation, narrowest, target))
    return _by_evidence(trial, situation, narrowest)


def link_was_as_asked(trial: Trial) -> bool:
    """Return whether the link of a trial passed its checks when it was measured, whatever its delays afterwards."""
    link = trial.counters.link
    return trial.validity is not Validity.LINK_LIMITED or (link is not None and link.verdict == _AS_ASKED)


def _uncertain(trial: Trial) -> float:
    """Return the counting error of a rate: half a round, as answers begin before they end."""
    answers = trial[CapacitySummary].answers if trial.get(CapacitySummary) else 0
    return min(trial.concurrency / (2 * answers), _MOST_UNCERTAIN) if answers else 0.0


def _nevertheless(trial: Trial, situation: Situation, most: float, *, kept: bool) -> bool:
    """Return whether a conclusion is possible although an instrument had no headroom.

    It is if links and queues explain the rate, or if the rate was held; never if the link failed its checks.
    """
    if not link_was_as_asked(trial):
        return False
    lawful = [limit.per_s for limit in situation.limits if limit.kind is not LimitKind.CPU]
    return kept or bool(lawful and _AGREES <= (situation.per_s or 0.0) / lawful[0] <= most)


def _by_evidence(trial: Trial, situation: Situation, narrowest: Foreseen) -> Limit:
    """Find the exhausted resource when fewer answers came than any limit allows."""
    summary = trial.get(CapacitySummary)
    # The CPU limit is itself derived from the measurement.
    narrowest = next((limit for limit in situation.limits if limit.kind is not LimitKind.CPU), narrowest)
    measured = situation.per_s or 0.0
    foreseen = f"the model predicts {_rate(narrowest.per_s)} ({_law(situation, narrowest.kind)})"
    if situation.cpu_full:
        text = f"cpu: {_busy_text(situation)} at {_rate(measured)}; {foreseen}"
        return Limit(LimitKind.CPU, _per_s(situation, LimitKind.CPU), text)
    sent = _sent_share(trial, situation)
    if sent is not None and sent >= _FULL:
        text = (
            f"bandwidth: the link was {_percent(sent)} full, but {_percent(situation.utilisation)} of it were right "
            f"answers{_dropped(trial)}: the rest was resent, or late; measured {_rate(measured)}, {foreseen}"
        )
        return Limit(LimitKind.BANDWIDTH, _per_s(situation, LimitKind.BANDWIDTH), text)
    in_flight = None if summary is None or summary.service_mean_ns is None else measured * summary.service_mean_ns / 1e9
    if in_flight is not None and summary is not None and in_flight >= _FULL * situation.point.concurrency:
        return _all_in_flight(situation, summary.service_mean_ns or 0.0, foreseen)
    flight = "" if in_flight is None else f", {in_flight:.0f} of {situation.point.concurrency} in flight"
    text = f"unknown: measured {_rate(measured)}, {foreseen}; {_busy_text(situation)}{flight}"
    return Limit(LimitKind.UNKNOWN, narrowest.per_s, text)


def _all_in_flight(situation: Situation, service_ns: float, foreseen: str) -> Limit:
    """Distinguish new connections, whose windows are small, from a subject that is slow itself."""
    measured = situation.per_s or 0.0
    took = f"all {situation.point.concurrency} slots were in use, but answers took {format_time(service_ns)}"
    found = f"measured {_rate(measured)}, {foreseen}"
    trips = situation.first_round_trips
    if trips > situation.round_trips + 1 and service_ns <= _COLD * 1e9 * situation.first_answer_s:
        text = f"window: {took}: the first answer of a connection takes {trips} round trips, later ones less; {found}"
        return Limit(LimitKind.WINDOW, measured, text)
    opened = situation.opened or 0.0
    why = "longer than delay, round trips and link explain"
    if situation.link.round_trip_ns and opened >= _MANY_OPENED:
        why = f"as {_percent(opened)} of the requests opened a connection, which takes a round trip more"
    text = f"concurrency: {took}, {why}; {found}"
    return Limit(LimitKind.CONCURRENCY, measured, text)


def _refuted(situation: Situation, narrowest: Foreseen, measured: float) -> str:
    return (
        f"unknown: measured {_rate(measured)}, more than the {_rate(narrowest.per_s)} that {narrowest.kind} allows "
        f"({_law(situation, narrowest.kind)}): the model is wrong here"
    )


def _room_left(situation: Situation, narrowest: Foreseen, target: float, *, but: str | None) -> str:
    kept = f"{_rate(target)} are held" if but is None else f"{_rate(target)} come, but {but}"
    law = _law(situation, narrowest.kind)
    return f"{kept}; the narrowest limit is {narrowest.kind} at {_rate(narrowest.per_s)}: {law}"


def _reached(trial: Trial, situation: Situation, narrowest: Foreseen, target: float | None) -> str:
    wanted = "" if target is None else f" of {target:,.0f}"
    measured = f"measured: {situation.per_s or 0:,.0f}{wanted} a second{_evidence(situation, narrowest.kind)}"
    measured += _dropped(trial) if narrowest.kind is LimitKind.BANDWIDTH else ""
    return f"{narrowest.kind}: {_law(situation, narrowest.kind)}, {_rate(narrowest.per_s)}; {measured}"


def _evidence(situation: Situation, kind: LimitKind) -> str:
    if kind is LimitKind.BANDWIDTH and situation.utilisation is not None:
        return f", the link {_percent(situation.utilisation)} full" if situation.utilisation <= 1 else ", the link full"
    if kind is LimitKind.CPU:
        return f", {_busy_text(situation)}"
    return ""


def _law(situation: Situation, kind: LimitKind) -> str:
    """Describe the limit's calculation."""
    point, trip = situation.point, format_time(situation.link.round_trip_ns)
    if kind is LimitKind.BANDWIDTH and situation.rate_bits_per_s is not None:
        wire = format_size(situation.wire_bytes)
        return f"answers of {format_size(point.size_bytes)} ({wire} of packets) over {_bits(situation.rate_bits_per_s)}"
    if kind is LimitKind.CONCURRENCY:
        waits = [f"a delay of {format_time(point.delay_ns)}"] if point.delay_ns else []
        waits += [f"a round trip of {trip}"] if situation.link.round_trip_ns else []
        waits += [] if waits else ["their own time on the link"]
        return f"{point.concurrency} in flight over {' and '.join(waits)}"
    if kind is LimitKind.WINDOW:
        return (
            f"{point.concurrency} in flight, answers of {format_size(point.size_bytes)} in "
            f"{situation.round_trips} round trips of {trip} each"
        )
    return f"the rate at {_percent(situation.subject_busy)} of its CPU time, extrapolated to 100 %"


def _busy_text(situation: Situation) -> str:
    if situation.subject_busy is None:
        return "CPU use of the subject is unknown"
    plural = "CPU" if situation.subject_cpus == 1 else f"{situation.subject_cpus} CPUs"
    others = (situation.all_busy or 0.0) - situation.subject_busy
    more = f", {_percent(others)} by other programs" if others >= _MANY_OTHERS else ""
    busy = situation.subject_busy if not more else situation.all_busy
    return f"the subject's {plural} {_percent(busy)} busy{more}"


def _sent_share(trial: Trial, situation: Situation) -> float | None:
    """Share of the link's rate sent towards the subject over the whole trial, including wrong answers."""
    counters = trial.counters
    carried = counters.link.down.bytes if counters.link else None
    sent_bytes = counters.received_bytes if carried is None else carried
    if situation.rate_bits_per_s is None or sent_bytes is None or not counters.wall_ns:
        return None
    return min(8 * sent_bytes / (situation.rate_bits_per_s * counters.wall_ns / 1e9), 1.0)


def _dropped(trial: Trial) -> str:
    """Describe the share of packets that the link's queue dropped; empty if negligible."""
    down = trial.counters.link.down if trial.counters.link else None
    if down is None or not down.packets or not down.dropped or down.dropped < _MANY_DROPPED * down.packets:
        return ""
    return f", {100 * down.dropped / down.packets:.1f} % of the packets dropped by its queue"


def _per_s(situation: Situation, kind: LimitKind) -> float | None:
    return next((limit.per_s for limit in situation.limits if limit.kind is kind), None)


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f} a second"


def _percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{100 * share:.0f} %"


def _bits(bits_per_s: float) -> str:
    return format_rate(round(bits_per_s))


_LARGEST_BYTES: Final = 2**40
_DIGITS: Final = 3
_QUITE_FULL: Final = 0.75


def capacity_sentences(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Describe what the rate needs, with evidence: bandwidth, requests in flight, round trips, CPU.

    Each limit is shown at the point where it is clearest; limits that no trial reached are omitted. Empty without a
    target rate.
    """
    found = [
        _Measured(trial, trial[CapacityPoint])
        for trial in trials
        if trial.get(CapacityPoint) is not None and _figures(trial)
    ]
    aimed = [one for one in found if one.target]
    sentences = [*_bandwidth(aimed), *_concurrency(aimed), *_window(aimed), *_cpu(aimed), *_disagreements(found)]
    return tuple(sentences)


def largest_size_bytes(rate_bits_per_s: float, per_s: float, *, head_bytes: float, mtu_bytes: int) -> int | None:
    """Return the largest answer that a link can carry at a rate; None: not even empty answers fit."""
    room = rate_bits_per_s / 8 / per_s
    low, high = -1, _LARGEST_BYTES
    while high - low > 1:
        middle = (low + high) // 2
        fits = wire_bytes(middle, head_bytes=head_bytes, mtu_bytes=mtu_bytes) <= room
        low, high = (middle, high) if fits else (low, middle)
    return low if low >= 0 else None


def rounded_rate(bits_per_s: float) -> str:
    """Format a computed rate with its significant digits: ``3.4 Gbit/s``."""
    return format_rate(round(float(f"{bits_per_s:.{_DIGITS}g}")))


class _Measured:
    """A trial with its point and predicted limits."""

    def __init__(self, trial: Trial, point: CapacityPoint) -> None:
        self.trial = trial
        self.point = point
        self.summary = trial.get(CapacitySummary)
        self.situation = Situation.of(trial, point)

    @property
    def target(self) -> float:
        return self.point.target_per_s or 0.0

    @property
    def per_s(self) -> float:
        return (self.summary.per_s if self.summary else None) or 0.0

    @property
    def limit(self) -> str | None:
        return self.summary.limit if self.summary else None

    @property
    def missed(self) -> bool:
        return self.summary is not None and self.summary.held is False

    @property
    def evidence(self) -> str:
        return f"measured: {self.per_s:,.0f} of {self.target:,.0f} a second"


def _bandwidth(found: Sequence[_Measured]) -> Iterator[str]:
    """Describe the link rate that a size needs, and the size that a link rate allows.

    The point with the largest shortfall is shown; of equals, the one with the slowest link. A search skips points that
    its link cannot carry: there, the point with the fullest link is shown.
    """
    limited = [one for one in found if one.limit == LimitKind.BANDWIDTH]
    missed = [one for one in limited if one.missed]
    full = [one for one in limited if (one.situation.utilisation or 0.0) >= _QUITE_FULL]
    if missed:
        worst = min(missed, key=lambda one: (one.per_s / one.target, one.situation.rate_bits_per_s or 0))
    elif full:
        worst = max(full, key=lambda one: one.situation.utilisation or 0.0)
    else:
        return
    situation, rate = worst.situation, worst.situation.rate_bits_per_s
    if rate is None:
        return
    fits = largest_size_bytes(rate, worst.target, head_bytes=situation.head_bytes, mtu_bytes=situation.link.mtu_bytes)
    size = "not even empty answers" if fits is None else f"answers of {format_size(fits)} at most"
    used = situation.utilisation
    share = "" if used is None else f", the link {100 * used:.0f} % full" if used <= 1 else ", the link full"
    yield (
        f"bandwidth: {worst.target:,.0f} answers of {format_size(worst.point.size_bytes)} a second need "
        f"{rounded_rate(situation.needed_rate_bits_per_s(worst.target))}, or {size} over {format_rate(rate)} "
        f"({worst.evidence} over {format_rate(rate)}{share}; {worst.trial.subject})"
    )


def _concurrency(found: Sequence[_Measured]) -> Iterator[str]:
    """Describe the required number of requests in flight."""
    limited = [one for one in found if one.limit == LimitKind.CONCURRENCY and one.missed]
    if not limited:
        return
    worst = min(limited, key=lambda one: one.per_s / one.target)
    waits_ns = worst.point.delay_ns + worst.situation.link.round_trip_ns
    needed = worst.target * waits_ns / 1e9
    if needed <= worst.point.concurrency:
        took = worst.trial[CapacitySummary].service_mean_ns if worst.trial.get(CapacitySummary) else None
        needed = worst.target * (took or 0) / 1e9
        why = f"answers that take {format_time(took or 0)}, most of it in {worst.trial.subject} itself,"
    else:
        why = f"answers that wait {format_time(waits_ns)} for delay and distance"
    yield (
        f"concurrency: {worst.target:,.0f} a second of {why} need {needed:,.0f} in flight (Little's law); "
        f"{worst.evidence} with {worst.point.concurrency} ({worst.trial.subject})"
    )


def _window(found: Sequence[_Measured]) -> Iterator[str]:
    """Describe the rate of one connection over a distance."""
    limited = [one for one in found if one.limit == LimitKind.WINDOW and one.missed]
    if not limited:
        return
    worst = min(limited, key=lambda one: one.per_s / one.target)
    situation = worst.situation
    trip_s = situation.link.round_trip_ns / 1e9
    least_s = worst.point.delay_ns / 1e9 + situation.round_trips * trip_s
    yield (
        f"window: over {format_time(situation.link.round_trip_ns)} an answer of {format_size(worst.point.size_bytes)} "
        f"takes {_trips(situation)}, as TCP sends a window in each: {worst.target:,.0f} a second need "
        f"{worst.target * least_s:,.0f} in flight; {worst.evidence} with {worst.point.concurrency} "
        f"({worst.trial.subject})"
    )


def _trips(situation: Situation) -> str:
    later = "1 round trip" if situation.round_trips == 1 else f"{situation.round_trips} round trips"
    return f"{later} ({situation.first_round_trips} over a new connection)"


def _cpu(found: Sequence[_Measured]) -> Iterator[str]:
    """Describe the CPU limit of each subject that exhausted its CPUs."""
    for subject in dict.fromkeys(one.trial.subject for one in found):
        limited = [one for one in found if one.trial.subject == subject and one.limit == LimitKind.CPU and one.missed]
        if not limited:
            continue
        worst = min(limited, key=lambda one: one.per_s / one.target)
        busy = worst.situation.subject_busy or 0.0
        cpus = worst.situation.subject_cpus
        share = f"{100 * worst.target / worst.per_s * busy:,.0f} %" if worst.per_s else "more than all"
        yield (
            f"cpu: {worst.target:,.0f} answers of {format_size(worst.point.size_bytes)} a second would take {subject} "
            f"{share} of {'its CPU' if cpus == 1 else f'its {cpus} CPUs'} ({worst.evidence}, {100 * busy:.0f} % busy)"
        )


def _disagreements(found: Sequence[_Measured]) -> Iterator[str]:
    """Describe the trials that the model does not explain, with the first explanation."""
    unknown = [one for one in found if one.limit == LimitKind.UNKNOWN]
    texts = [one.summary.limit_text for one in unknown if one.summary and one.summary.limit_text]
    if texts:
        first = unknown[0]
        yield (
            f"the model does not explain {len(unknown)} of {len(found)} trials; the first is {first.trial.subject} at "
            f"{first.trial.condition or 'its point'}: {texts[0]}"
        )


def _figures(trial: Trial) -> bool:
    summary = trial.get(CapacitySummary)
    return summary is not None and summary.per_s is not None
