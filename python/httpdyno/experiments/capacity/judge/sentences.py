"""What a run says of limits, in sentences: what a rate takes, and what was measured that shows it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.foreseen import LimitKind, Situation
from httpdyno.experiments.capacity.judge.transport import wire_bytes
from httpdyno.model import Trial, format_rate, format_size, format_time

__all__ = ["capacity_sentences", "largest_size_bytes", "rounded_rate"]

_LARGEST_BYTES: Final = 2**40
_DIGITS: Final = 3
_QUITE_FULL: Final = 0.75


def capacity_sentences(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Describe what the rate takes: bandwidth, requests in flight, round trips, CPU; with the evidence.

    Of each limit only the point where it shows most; nothing of limits that no trial came to, and nothing at all where
    no rate was asked for.
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
    """Return the largest content of answers of which a link carries so many a second; None: not even empty ones."""
    room = rate_bits_per_s / 8 / per_s
    low, high = -1, _LARGEST_BYTES
    while high - low > 1:
        middle = (low + high) // 2
        fits = wire_bytes(middle, head_bytes=head_bytes, mtu_bytes=mtu_bytes) <= room
        low, high = (middle, high) if fits else (low, middle)
    return low if low >= 0 else None


def rounded_rate(bits_per_s: float) -> str:
    """Write a rate that was computed, with as many digits as matter: ``3.4 Gbit/s``."""
    return format_rate(round(float(f"{bits_per_s:.{_DIGITS}g}")))


class _Measured:
    """A trial with its point, and what the laws say of it."""

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
    """Describe what rate a size needs, and what size a rate carries.

    Where most is missing it shows best; of equals, over the slowest link, as people think of it first. A search tries
    no point that its link does not carry: there it shows where the link is the fullest.
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
    """Describe how many requests have to be in flight."""
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
    """Describe what one connection carries over a distance."""
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
    """Describe for each subject that came to the end of its CPU what that gives."""
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
    """Describe where the model explains nothing, and what it said there first."""
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
