"""Limits of the rate at a point: predictions, measurements, and their description in one sentence."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from math import ceil, inf
from typing import Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.model import Counters, Link, Trial, Validity, counted, format_rate, format_size, format_time

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
    packets = segments(size_bytes, head_bytes=head_bytes, mtu_bytes=mtu_bytes)
    return size_bytes + head_bytes + packets * _IP_AND_TCP_BYTES


def round_trips(count: int, *, begins_with: int = INITIAL_WINDOW, at_most: int | None = None) -> int:
    """Return how many round trips an answer takes, including its request.

    In each round trip the sender may have one window in flight, which doubles from one round trip to the next.

    ``count`` and the windows are in segments; ``at_most`` is the largest window that buffers allow.

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
    """Return the window, in segments, of a connection that is reused after answers of ``count`` segments.

    The window has grown to the size that those answers needed. It is halved for each retransmission timeout without
    traffic, down to the initial window.

    References
    ----------
    RFC 2861, section 3.1, as Linux does it (``net.ipv4.tcp_slow_start_after_idle``, tcp(7)).
    """
    halved = min(int(idle_s / timeout_s), 60)
    return max(min(INITIAL_WINDOW, count), count >> halved)


_LEAST_TIMEOUT_S: Final = 0.2
"""Linux waits for a round trip plus at least this time before it considers a packet lost (TCP_RTO_MIN)."""
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
class Limit:
    """A limit of a point."""

    kind: LimitKind
    per_s: float | None
    """Answers a second that it allows; None without a prediction."""
    text: str
    """One sentence with the evidence."""


@dataclass(frozen=True)
class Situation:
    """A point, its link, and the measurements of one trial there, if there are any."""

    point: CapacityPoint
    link: Link
    subject: str = ""
    condition: str | None = None
    summary: CapacitySummary = field(default_factory=partial(CapacitySummary, 0, 0, 0))
    counters: Counters = field(default_factory=Counters)

    @classmethod
    def of(cls, trial: Trial) -> Self | None:
        """Return the situation of a trial; None if it has no point or no rate."""
        point, summary = trial.get(CapacityPoint), trial.get(CapacitySummary)
        if point is None or summary is None or summary.per_s is None:
            return None
        return cls(point, link_of(trial, point), trial.subject, trial.condition, summary, trial.counters)

    @property
    def per_s(self) -> float:
        """Right answers a second that were measured."""
        return self.summary.per_s or 0.0

    @property
    def target(self) -> float:
        """Right answers a second to hold; 0 without a target."""
        return self.point.target_per_s or 0.0

    @property
    def kept(self) -> bool:
        """Whether the target rate was reached."""
        return self.target > 0 and self.per_s >= KEPT_SHARE * self.target

    @property
    def rate_bits_per_s(self) -> float:
        """Rate of the link towards the subject; infinite without a limit."""
        return self.link.down.rate_bits_per_s or inf

    @cached_property
    def head_bytes(self) -> float:
        """Length of the answers' heads, from the bytes that the origin sent."""
        counters = self.counters
        if not counters.requests or counters.origin_sent_bytes is None:
            return HEAD_BYTES
        head = counters.origin_sent_bytes / counters.requests - self.point.size_bytes
        # Truncated answers would make it negative.
        return head if HEAD_BYTES / 2 <= head <= 10 * HEAD_BYTES else HEAD_BYTES

    @cached_property
    def wire_bytes(self) -> float:
        """Bytes of IP packets that carry an answer."""
        return wire_bytes(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=self.link.mtu_bytes)

    @property
    def utilisation(self) -> float:
        """Share of the link's rate used by right answers; 0 for a link without a limit."""
        return self.bits_per_s(self.per_s) / self.rate_bits_per_s

    def bits_per_s(self, per_s: float) -> float:
        """Return the link rate that this many answers a second need."""
        return 8 * self.wire_bytes * per_s

    def _round_trips(self, *, idle_s: float | None) -> int:
        """Return the round trips of an answer after so long an idle time; None: the first of its connection."""
        counters, mtu_bytes = self.counters, self.link.mtu_bytes
        count = segments(self.point.size_bytes, head_bytes=self.head_bytes, mtu_bytes=mtu_bytes)
        receive_bytes = _WINDOW_SHARE * (counters.tcp_rmem_max_bytes or _RECEIVE_BUFFER_BYTES)
        at_most = int(min(counters.tcp_wmem_max_bytes or _SEND_BUFFER_BYTES, receive_bytes) / mtu_bytes)
        timeout_s = self.link.round_trip_ns / 1e9 + _LEAST_TIMEOUT_S
        window = INITIAL_WINDOW if idle_s is None else restart_window(count, idle_s=idle_s, timeout_s=timeout_s)
        return round_trips(count, begins_with=window, at_most=at_most)

    @cached_property
    def round_trips(self) -> int:
        """Round trips of an answer on a warm connection, its request included."""
        return self._round_trips(idle_s=(self.link.round_trip_ns + self.point.delay_ns) / 1e9)

    @property
    def first_round_trips(self) -> int:
        """Round trips of the first answer of a connection, the handshake included."""
        return 1 + self._round_trips(idle_s=None)

    def least_s(self, round_trips: int) -> float:
        """Return the least time of an answer: delay, round trips, and its own time on the link."""
        waits_ns = self.point.delay_ns + round_trips * self.link.round_trip_ns
        return waits_ns / 1e9 + self.bits_per_s(1) / self.rate_bits_per_s

    @property
    def bandwidth_per_s(self) -> float:
        """Answers a second that the link can carry: its rate over the bits of an answer; infinite without a limit."""
        return self.rate_bits_per_s / self.bits_per_s(1)

    def _waiting_per_s(self, round_trips: int) -> float:
        """Return the concurrency over the least time of an answer; infinite if it takes no time.

        References
        ----------
        Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
        """
        least_s = self.least_s(round_trips)
        return self.point.concurrency / least_s if least_s > 0 else inf

    @cached_property
    def busy(self) -> tuple[int, float | None, float]:
        """Number of the subject's CPUs, and the shares of their time used by it with its packets, and in total.

        The first share is None if it was not measured.
        """
        counters = self.counters
        cpus = [cpu for cpu in counters.subject_cpus if cpu.window_ns > 0]
        if not cpus:
            return 0, None, 0.0
        own_ns = busy_ns = sum(cpu.busy_ns for cpu in cpus)
        if counters.cpu_ns is not None:
            own_ns = min(busy_ns, counters.cpu_ns + sum(cpu.interrupt_ns or 0 for cpu in cpus))
        window_ns = sum(cpu.window_ns for cpu in cpus)
        return len(cpus), own_ns / window_ns, busy_ns / window_ns

    @property
    def cpu_full(self) -> bool:
        """Whether the CPUs were exhausted, mostly by the subject."""
        _, own, total = self.busy
        own = own or 0.0
        return own >= _BUSY_ENOUGH or (total >= _BUSY_ENOUGH and own >= total / 2)

    @property
    def _cpu_per_s(self) -> float:
        """The limit that the subject's CPUs would reach if they were always busy; infinite if it is not known.

        The rate is that of the whole trial, during which CPU use was recorded. The engine has no such limit: it spins
        to be on time, and a rule of validity detects an engine that is too slow.

        References
        ----------
        Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978): the
        utilisation law, U = X S.
        """
        _, own, _ = self.busy
        watched_s = max((cpu.window_ns for cpu in self.counters.cpus or ()), default=0) / 1e9
        if not own or not self.cpu_full or not self.counters.requests or not watched_s:
            return inf
        return self.counters.requests / watched_s / own

    @cached_property
    def limits(self) -> Mapping[LimitKind, float]:
        """Answers a second that each known limit allows, the lowest first; of equals, the more distant first."""
        every = {
            LimitKind.BANDWIDTH: self.bandwidth_per_s,
            LimitKind.CONCURRENCY: self._waiting_per_s(1),
            LimitKind.WINDOW: self._waiting_per_s(self.round_trips) if self.round_trips > 1 else inf,
            LimitKind.CPU: self._cpu_per_s,
        }
        return {kind: per_s for kind, per_s in sorted(every.items(), key=lambda one: one[1]) if per_s < inf}

    @property
    def lawful_per_s(self) -> float:
        """Answers a second that link and concurrency allow; infinite without such a limit.

        The growth of windows depends on the kernel: limits that use it are measured.
        """
        return min(self.bandwidth_per_s, self._waiting_per_s(1))


def link_of(trial: Trial, point: CapacityPoint) -> Link:
    """Read the recorded link; for a real network use only the point, and assume nothing else."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return Link.symmetric(round_trip_ns=point.round_trip_ns, rate_bits_per_s=point.rate_bits_per_s)


def is_impossible(point: CapacityPoint, link: Link) -> bool:
    """Return whether a point is impossible: its link or concurrency does not allow the rate."""
    return point.target_per_s is not None and Situation(point, link).lawful_per_s < _SURELY_LESS * point.target_per_s


def failed_by_law(trial: Trial) -> bool:
    """Return whether a trial failed at a point that was impossible on any machine.

    The laws allow far less than the rate; or they allow less, and the measured rate reached their limit.
    """
    summary, point = trial.get(CapacitySummary), trial.get(CapacityPoint)
    if summary is None or point is None or summary.held is not False or point.target_per_s is None:
        return False
    lawful_per_s = Situation(point, link_of(trial, point)).lawful_per_s
    reached = (summary.per_s or 0.0) >= _REACHES_LAW * lawful_per_s
    return lawful_per_s < (KEPT_SHARE if reached else _SURELY_LESS) * point.target_per_s


KEPT_SHARE: Final = 0.99
"""Least share of right answers for a rate to be held: with less, the backlog grows without end."""
_REACHES_LAW: Final = 0.97
"""Share of the law's limit from which the law alone explains a failure."""
_SURELY_LESS: Final = 0.95
"""A point is impossible if the laws of links and queues allow at most this share of its rate."""
_AGREES: Final = 0.85
"""Least ratio of measured to predicted rate at which a limit explains it; slow start and queues take the rest."""
_REFUTES: Final = 1.05
_MOST_UNCERTAIN: Final = 0.2
_FULL: Final = 0.93
"""Share of use from which a resource counts as exhausted."""
_AS_REQUESTED: Final = "held"
_COLD: Final = 1.25
"""Times that are at most this multiple of a connection's first answer may be those of first answers."""
_MANY_OPENED: Final = 0.1
_MANY_BY_OTHERS: Final = 0.1
_MANY_DROPPED: Final = 0.001
_INSTRUMENTS: Final = {Validity.ORIGIN_LIMITED: LimitKind.ORIGIN, Validity.LINK_LIMITED: LimitKind.LINK}


def cap_to_link(trial: Trial) -> Trial:
    """Reduce the counted answers to what the link can carry.

    If many requests share a full link, some wait with half an answer while others overtake them: the count over a few
    rounds then grows faster than the link carries. For a tool in an open loop, the count is of requests, which a queue
    accepts. An excess without such an explanation stays, and refutes the model.
    """
    situation = Situation.of(trial)
    if situation is None:
        return trial
    most_per_s = situation.bandwidth_per_s
    if not most_per_s < situation.per_s <= _refuting_ratio(situation) * most_per_s:
        return trial
    return trial.having(replace(situation.summary, per_s=most_per_s))


def add_limit(trial: Trial) -> Trial:
    """Add the limit to a trial's figures; a trial without a point or figures is unchanged."""
    limit = limit_of(trial)
    if limit is None:
        return trial
    summary = replace(trial[CapacitySummary], limit=limit.kind.value, limit_per_s=limit.per_s, limit_text=limit.text)
    return trial.having(summary)


def limit_of(trial: Trial) -> Limit | None:
    """Return the limit of a trial's point; None if nothing was measured, or if the point holds without a limit."""
    situation = Situation.of(trial)
    if situation is None:
        return None
    measured, kept, most = situation.per_s, situation.kept, _refuting_ratio(situation)
    instrument = _INSTRUMENTS.get(trial.validity) if trial.validity else None
    lawful = next((per_s for kind, per_s in situation.limits.items() if kind is not LimitKind.CPU), None)
    # Links and queues may explain the rate although an instrument had no headroom.
    explained = kept or bool(lawful and _AGREES <= measured / lawful <= most)
    if instrument is not None and not (explained and link_was_as_requested(trial)):
        reason = trial.validity_reason or "the instrument was exhausted before the subject"
        return Limit(instrument, None, f"{reason}: no conclusion about the subject")
    limits = [one for one in situation.limits.items() if not (kept and one[0] is LimitKind.CPU)]
    if not limits:
        text = f"unknown: measured {_rate(measured)}; no limit is known; {_busy_text(situation)}"
        return None if kept else Limit(LimitKind.UNKNOWN, None, text)
    kind, allowed = limits[0]
    law = _law_text(situation, kind)
    # The CPU limit is computed over the whole trial: the steady stretch cannot refute it.
    if measured > most * allowed and kind is not LimitKind.CPU:
        text = f"unknown: measured {_rate(measured)}, more than the {_rate(allowed)} that {kind} allows ({law})"
        return Limit(LimitKind.UNKNOWN, allowed, f"{text}: the model is wrong here")
    if kept and allowed > situation.target:
        missed = situation.summary.why_not if situation.summary.held is False else None
        rate = f"{_rate(situation.target)} {'are held' if missed is None else f'come, but {missed}'}"
        return Limit(kind, allowed, f"{rate}; the narrowest limit is {kind} at {_rate(allowed)}: {law}")
    if measured >= _AGREES * allowed:
        wanted = f" of {situation.target:,.0f}" if situation.target else ""
        evidence = {
            LimitKind.BANDWIDTH: f"{_use_of_link(situation)}{_dropped(situation)}",
            LimitKind.CPU: f", {_busy_text(situation)}",
        }
        text = f"{kind}: {law}, {_rate(allowed)}; measured: {measured:,.0f}{wanted} a second{evidence.get(kind, '')}"
        return Limit(kind, allowed, text)
    return _limit_by_evidence(situation)


def link_was_as_requested(trial: Trial) -> bool:
    """Return whether the link of a trial passed its checks when it was measured, whatever its delays afterwards."""
    link = trial.counters.link
    return trial.validity is not Validity.LINK_LIMITED or (link is not None and link.verdict == _AS_REQUESTED)


def _refuting_ratio(situation: Situation) -> float:
    """Return the ratio of measured to predicted rate that refutes a prediction.

    It includes the counting error of a rate: half a round, as answers begin before they end.
    """
    answers, concurrency = situation.summary.answers, situation.point.concurrency
    return _REFUTES + (min(concurrency / (2 * answers), _MOST_UNCERTAIN) if answers else 0.0)


def _limit_by_evidence(situation: Situation) -> Limit:
    """Find the exhausted resource when fewer answers came than any limit allows."""
    limits = situation.limits
    # The CPU limit is itself derived from the measurement.
    kind = next((kind for kind in limits if kind is not LimitKind.CPU), LimitKind.CPU)
    measured, mean_ns, slots = situation.per_s, situation.summary.service_mean_ns, situation.point.concurrency
    foreseen = f"the model predicts {_rate(limits[kind])} ({_law_text(situation, kind)})"
    if situation.cpu_full:
        text = f"cpu: {_busy_text(situation)} at {_rate(measured)}; {foreseen}"
        return Limit(LimitKind.CPU, limits.get(LimitKind.CPU), text)
    sent = _sent_share(situation)
    if sent is not None and sent >= _FULL:
        text = (
            f"bandwidth: the link was {_percent(sent)} full, but {_percent(situation.utilisation)} of it were right "
            f"answers{_dropped(situation)}: the rest was resent, or late; measured {_rate(measured)}, {foreseen}"
        )
        return Limit(LimitKind.BANDWIDTH, limits.get(LimitKind.BANDWIDTH), text)
    found = f"measured {_rate(measured)}, {foreseen}"
    in_flight = None if mean_ns is None else measured * mean_ns / 1e9
    if mean_ns is None or in_flight is None or in_flight < _FULL * slots:
        flight = "" if in_flight is None else f", {in_flight:.0f} of {slots} in flight"
        return Limit(LimitKind.UNKNOWN, limits[kind], f"unknown: {found}; {_busy_text(situation)}{flight}")
    took = f"all {slots} slots were in use, but answers took {format_time(mean_ns)}"
    # New connections have small windows: they explain times that a slow subject could explain, too.
    trips = situation.first_round_trips
    if trips > situation.round_trips + 1 and mean_ns <= _COLD * 1e9 * situation.least_s(trips):
        text = f"window: {took}: the first answer of a connection takes {trips} round trips, later ones less; {found}"
        return Limit(LimitKind.WINDOW, measured, text)
    requests, reused = situation.counters.requests, situation.counters.reused
    opened = 1 - reused / requests if requests and reused is not None else 0.0
    why = "longer than delay, round trips and link explain"
    if situation.link.round_trip_ns and opened >= _MANY_OPENED:
        why = f"as {_percent(opened)} of the requests opened a connection, which takes a round trip more"
    return Limit(LimitKind.CONCURRENCY, measured, f"concurrency: {took}, {why}; {found}")


def _law_text(situation: Situation, kind: LimitKind) -> str:
    point, trip = situation.point, format_time(situation.link.round_trip_ns)
    size = format_size(point.size_bytes)
    if kind is LimitKind.BANDWIDTH:
        wire = format_size(situation.wire_bytes)
        return f"answers of {size} ({wire} of packets) over {format_rate(situation.link.down.rate_bits_per_s or 0)}"
    if kind is LimitKind.CONCURRENCY:
        waits = [f"a delay of {format_time(point.delay_ns)}"] if point.delay_ns else []
        waits += [f"a round trip of {trip}"] if situation.link.round_trip_ns else []
        return f"{point.concurrency} in flight over {' and '.join(waits) or 'their own time on the link'}"
    if kind is LimitKind.WINDOW:
        return f"{point.concurrency} in flight, answers of {size} in {situation.round_trips} round trips of {trip} each"
    return f"the rate at {_percent(situation.busy[1])} of its CPU time, extrapolated to 100 %"


def _busy_text(situation: Situation) -> str:
    cpus, own, total = situation.busy
    if own is None:
        return "CPU use of the subject is unknown"
    plural, others = "CPU" if cpus == 1 else f"{cpus} CPUs", total - own
    if others < _MANY_BY_OTHERS:
        return f"the subject's {plural} {_percent(own)} busy"
    return f"the subject's {plural} {_percent(total)} busy, {_percent(others)} by other programs"


def _use_of_link(situation: Situation) -> str:
    used = situation.utilisation
    return f", the link {_percent(used)} full" if used <= 1 else ", the link full"


def _sent_share(situation: Situation) -> float | None:
    """Return the share of the link's rate sent towards the subject over the whole trial, including wrong answers."""
    counters = situation.counters
    carried = counters.link.down.bytes if counters.link else None
    sent_bytes = counters.received_bytes if carried is None else carried
    if sent_bytes is None or not counters.wall_ns:
        return None
    return min(8 * sent_bytes / (situation.rate_bits_per_s * counters.wall_ns / 1e9), 1.0)


def _dropped(situation: Situation) -> str:
    """Describe the share of packets that the link's queue dropped; empty if negligible."""
    link = situation.counters.link
    down = link.down if link else None
    if down is None or not down.packets or not down.dropped or down.dropped < _MANY_DROPPED * down.packets:
        return ""
    return f", {100 * down.dropped / down.packets:.1f} % of the packets dropped by its queue"


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f} a second"


def _percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{100 * share:.0f} %"


_LARGEST_BYTES: Final = 2**40
_QUITE_FULL: Final = 0.75


def capacity_sentences(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Describe what the rate needs, with evidence: bandwidth, requests in flight, round trips, CPU.

    Each limit is shown at the point where it is clearest; limits that no trial reached are omitted. Empty without a
    target rate.
    """
    found = [one for trial in trials if (one := Situation.of(trial)) is not None]
    aimed = [one for one in found if one.target]
    groups = [(kind, aimed) for kind in (LimitKind.BANDWIDTH, LimitKind.CONCURRENCY, LimitKind.WINDOW)]
    for subject in dict.fromkeys(one.subject for one in aimed):
        groups.append((LimitKind.CPU, [one for one in aimed if one.subject == subject]))
    clearest = [(kind, _clearest_point(of, kind)) for kind, of in groups]
    sentences = [f"{kind}: {_NEEDS[kind](one)}" for kind, one in clearest if one is not None]
    unknown = [one for one in found if one.summary.limit == LimitKind.UNKNOWN]
    if unknown:
        first = unknown[0]
        sentences.append(
            f"the model does not explain {len(unknown)} of {len(found)} trials; the first is {first.subject} at "
            f"{first.condition or 'its point'}: {first.summary.limit_text}"
        )
    return tuple(sentences)


def _clearest_point(found: Sequence[Situation], kind: LimitKind) -> Situation | None:
    """Return the point with the largest shortfall due to a limit; of equals, the one with the slowest link.

    A search skips points that their link cannot carry: then it is the point with the fullest link.
    """
    limited = [one for one in found if one.summary.limit == kind]
    missed = [one for one in limited if one.summary.held is False]
    if missed:
        return min(missed, key=lambda one: (one.per_s / one.target, one.link.down.rate_bits_per_s or 0))
    full = [one for one in limited if kind is LimitKind.BANDWIDTH and one.utilisation >= _QUITE_FULL]
    return max(full, key=lambda one: one.utilisation, default=None)


def _evidence(one: Situation) -> str:
    return f"measured: {one.per_s:,.0f} of {one.target:,.0f} a second"


def _bandwidth(one: Situation) -> str:
    rate = one.link.down.rate_bits_per_s or 0
    fits = largest_size_bytes(rate, one.target, head_bytes=one.head_bytes, mtu_bytes=one.link.mtu_bytes)
    size = "not even empty answers" if fits is None else f"answers of {format_size(fits)} at most"
    return (
        f"{one.target:,.0f} answers of {format_size(one.point.size_bytes)} a second need "
        f"{format_rate(round(float(f'{one.bits_per_s(one.target):.3g}')))}, or {size} over {format_rate(rate)} "
        f"({_evidence(one)} over {format_rate(rate)}{_use_of_link(one)}; {one.subject})"
    )


def _concurrency(one: Situation) -> str:
    waits_ns: float = one.point.delay_ns + one.link.round_trip_ns
    why = f"answers that wait {format_time(waits_ns)} for delay and distance"
    if one.target * waits_ns / 1e9 <= one.point.concurrency:
        waits_ns = one.summary.service_mean_ns or 0.0
        why = f"answers that take {format_time(waits_ns)}, most of it in {one.subject} itself,"
    return (
        f"{one.target:,.0f} a second of {why} need {one.target * waits_ns / 1e9:,.0f} in flight (Little's law); "
        f"{_evidence(one)} with {one.point.concurrency} ({one.subject})"
    )


def _window(one: Situation) -> str:
    least_s = (one.point.delay_ns + one.round_trips * one.link.round_trip_ns) / 1e9
    return (
        f"over {format_time(one.link.round_trip_ns)} an answer of {format_size(one.point.size_bytes)} takes "
        f"{counted(one.round_trips, 'round trip')} ({one.first_round_trips} over a new connection), as TCP sends a "
        f"window in each: {one.target:,.0f} a second need {one.target * least_s:,.0f} in flight; {_evidence(one)} with "
        f"{one.point.concurrency} ({one.subject})"
    )


def _cpu(one: Situation) -> str:
    cpus, busy, _ = one.busy
    busy = busy or 0.0
    share = f"{100 * one.target / one.per_s * busy:,.0f} %" if one.per_s else "more than all"
    return (
        f"{one.target:,.0f} answers of {format_size(one.point.size_bytes)} a second would take {one.subject} {share} "
        f"of {'its CPU' if cpus == 1 else f'its {cpus} CPUs'} ({_evidence(one)}, {100 * busy:.0f} % busy)"
    )


_NEEDS: Final = {
    LimitKind.BANDWIDTH: _bandwidth,
    LimitKind.CONCURRENCY: _concurrency,
    LimitKind.WINDOW: _window,
    LimitKind.CPU: _cpu,
}
"""Description of the needs of a rate at a point, by the limit of the point."""


def largest_size_bytes(rate_bits_per_s: float, per_s: float, *, head_bytes: float, mtu_bytes: int) -> int | None:
    """Return the largest answer that a link can carry at a rate; None: not even empty answers fit."""
    needed_bytes = partial(wire_bytes, head_bytes=head_bytes, mtu_bytes=mtu_bytes)
    fitting = bisect_right(range(_LARGEST_BYTES), rate_bits_per_s / 8 / per_s, key=needed_bytes)
    return fitting - 1 if fitting else None
