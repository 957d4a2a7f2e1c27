"""What limits a point: the narrowest limit that the model foresees, held against what was measured."""

from dataclasses import dataclass, replace
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.foreseen import Foreseen, LimitKind, Situation
from httpdyno.model import Trial, Validity, format_rate, format_size, format_time

__all__ = ["Limit", "limit_of", "link_was_as_asked", "with_limit", "within_link"]

_AGREES: Final = 0.85
"""Measured over foreseen, from which on the one explains the other: the rest is the start of windows and queues."""
_REFUTES: Final = 1.05
_MOST_UNCERTAIN: Final = 0.2
_FULL: Final = 0.93
"""What is in use for such a share of its time or room is what there was to have."""
_AS_ASKED: Final = "held"
_KEPT: Final = 0.99
_COLD: Final = 1.25
"""Answers that take no longer than this, of what the first one of a connection takes, may have been such ones."""
_MANY_OPENED: Final = 0.1
_MANY_OTHERS: Final = 0.1
_MANY_DROPPED: Final = 0.001
_INSTRUMENTS: Final = {Validity.ORIGIN_LIMITED: LimitKind.ORIGIN, Validity.LINK_LIMITED: LimitKind.LINK}


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits a point."""

    kind: LimitKind
    per_s: float | None
    """Answers a second that it allows; None where nothing is foreseen."""
    text: str
    """In one sentence, with the evidence."""


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
    """Add to the capacity of a trial what limits it; a trial without a point, or without figures, stays as it is."""
    limit = limit_of(trial)
    if limit is None or trial.get(CapacitySummary) is None:
        return trial
    summary = replace(trial[CapacitySummary], limit=limit.kind.value, limit_per_s=limit.per_s, limit_text=limit.text)
    return trial.having(summary)


def limit_of(trial: Trial) -> Limit | None:
    """Return what limits the point of a trial; None when nothing was measured, or nothing did although it holds."""
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
        said = trial.validity_reason or "the instrument came to its end before the subject did"
        return Limit(instrument, None, f"{said}: nothing is said of the subject")
    limits = [limit for limit in situation.limits if not (kept and limit.kind is LimitKind.CPU)]
    if not limits:
        said = f"measured {_rate(measured)}; nothing is known that would limit it"
        return None if kept else Limit(LimitKind.UNKNOWN, None, f"unknown: {said}; {_busy(situation)}")
    narrowest = limits[0]
    # What a CPU allows is taken from all of the trial: its steady stretch cannot refute that.
    if measured > most * narrowest.per_s and narrowest.kind is not LimitKind.CPU:
        return Limit(LimitKind.UNKNOWN, narrowest.per_s, _refuted(situation, narrowest, measured))
    if kept and target is not None and narrowest.per_s > target:
        missed = trial[CapacitySummary].why_not if trial[CapacitySummary].held is False else None
        return Limit(narrowest.kind, narrowest.per_s, _room_left(situation, narrowest, target, but=missed))
    if measured >= _AGREES * narrowest.per_s:
        return Limit(narrowest.kind, narrowest.per_s, _reached(trial, situation, narrowest, target))
    return _by_evidence(trial, situation, narrowest)


def link_was_as_asked(trial: Trial) -> bool:
    """Return whether the link of a trial was what was asked when it was measured, however late it was afterwards."""
    link = trial.counters.link
    return trial.validity is not Validity.LINK_LIMITED or (link is not None and link.verdict == _AS_ASKED)


def _uncertain(trial: Trial) -> float:
    """Return how much of a rate may be counted wrongly: half a round, as answers begin before they end."""
    answers = trial[CapacitySummary].answers if trial.get(CapacitySummary) else 0
    return min(trial.concurrency / (2 * answers), _MOST_UNCERTAIN) if answers else 0.0


def _nevertheless(trial: Trial, situation: Situation, most: float, *, kept: bool) -> bool:
    """Return whether something can be said although an instrument had no headroom: links and queues explain what came.

    So does that the rate was kept; of a link that was not what was asked nothing can be said at all.
    """
    if not link_was_as_asked(trial):
        return False
    lawful = [limit.per_s for limit in situation.limits if limit.kind is not LimitKind.CPU]
    return kept or bool(lawful and _AGREES <= (situation.per_s or 0.0) / lawful[0] <= most)


def _by_evidence(trial: Trial, situation: Situation, narrowest: Foreseen) -> Limit:
    """Look at what was in use, where fewer answers came than any limit allows."""
    summary = trial.get(CapacitySummary)
    # That of a CPU is itself taken from what was measured.
    narrowest = next((limit for limit in situation.limits if limit.kind is not LimitKind.CPU), narrowest)
    measured = situation.per_s or 0.0
    foreseen = f"the model foresees {_rate(narrowest.per_s)} ({_law(situation, narrowest.kind)})"
    if situation.cpu_full:
        text = f"cpu: {_busy(situation)} at {_rate(measured)}; {foreseen}"
        return Limit(LimitKind.CPU, _per_s(situation, LimitKind.CPU), text)
    sent = _sent_share(trial, situation)
    if sent is not None and sent >= _FULL:
        text = (
            f"bandwidth: the link was {_percent(sent)} full, but {_percent(situation.utilisation)} of it were right "
            f"answers{_dropped(trial)}: the rest was sent again, or too late; measured {_rate(measured)}, {foreseen}"
        )
        return Limit(LimitKind.BANDWIDTH, _per_s(situation, LimitKind.BANDWIDTH), text)
    in_flight = None if summary is None or summary.service_mean_ns is None else measured * summary.service_mean_ns / 1e9
    if in_flight is not None and summary is not None and in_flight >= _FULL * situation.point.concurrency:
        return _all_in_flight(situation, summary.service_mean_ns or 0.0, foreseen)
    flight = "" if in_flight is None else f", {in_flight:.0f} of {situation.point.concurrency} in flight"
    text = f"unknown: measured {_rate(measured)}, {foreseen}; {_busy(situation)}{flight}"
    return Limit(LimitKind.UNKNOWN, narrowest.per_s, text)


def _all_in_flight(situation: Situation, service_ns: float, foreseen: str) -> Limit:
    """Distinguish new connections, whose windows are small, from a subject that is slow itself."""
    measured = situation.per_s or 0.0
    took = f"all {situation.point.concurrency} were in flight, but answers took {format_time(service_ns)}"
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
        return f", {_busy(situation)}"
    return ""


def _law(situation: Situation, kind: LimitKind) -> str:
    """Describe in words why so many answers are all that there can be."""
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
    return f"what {_percent(situation.subject_busy)} of its CPU time gave, taken to 100 %"


def _busy(situation: Situation) -> str:
    if situation.subject_busy is None:
        return "how busy the subject's CPUs were is not known"
    plural = "CPU" if situation.subject_cpus == 1 else f"{situation.subject_cpus} CPUs"
    others = (situation.all_busy or 0.0) - situation.subject_busy
    more = f", {_percent(others)} by other programs" if others >= _MANY_OTHERS else ""
    busy = situation.subject_busy if not more else situation.all_busy
    return f"the subject's {plural} {_percent(busy)} busy{more}"


def _sent_share(trial: Trial, situation: Situation) -> float | None:
    """Share of the rate of the link that was sent towards the subject over the whole trial, right answers or not."""
    counters = trial.counters
    carried = counters.link.down.bytes if counters.link else None
    sent_bytes = counters.received_bytes if carried is None else carried
    if situation.rate_bits_per_s is None or sent_bytes is None or not counters.wall_ns:
        return None
    return min(8 * sent_bytes / (situation.rate_bits_per_s * counters.wall_ns / 1e9), 1.0)


def _dropped(trial: Trial) -> str:
    """Describe which share of its packets the queue of the link had no room for; empty where that is next to none."""
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
