"""Trials of the capacity question without a measurement: subjects that are as fast as their limits allow."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from doubles.trials import trial
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.model import Link, Loop, Trial

__all__ = ["MS", "SECOND", "Simulated", "capacity_trial", "capacity_trials", "point"]

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
_KEPT: Final = 0.99
_WIRE: Final = 1.04
"""Bytes on the link for each byte of content."""
_SLOW_NS: Final = 500 * MS


def point(size_kib: float = 0, rtt_ms: float = 0, gbit: float | None = None, **changes: Any) -> CapacityPoint:
    """Make a point of an open loop at 2,000 requests a second, 600 in flight."""
    made = CapacityPoint(
        size_bytes=round(size_kib * 1024),
        delay_ns=0,
        round_trip_ns=round(rtt_ms * MS),
        rate_bits_per_s=None if gbit is None else round(gbit * 1e9),
        queue_ns=None,
        concurrency=600,
        loop=Loop.OPEN,
        target_per_s=2000.0,
    )
    return replace(made, **changes)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A subject in three figures."""

    subject: str = "go-net-http"
    method: str = "net/http"
    most_per_s: float = 20_000.0
    """However small its answers are."""
    bytes_per_s: float = 1.5e9
    """However many."""

    def per_s(self, at: CapacityPoint) -> float:
        """Return the answers a second that it can get: the smallest of its limits."""
        wait_s = (at.round_trip_ns + at.delay_ns) / SECOND + 1 / self.most_per_s
        limits = [self.most_per_s, at.concurrency / wait_s]
        if at.size_bytes:
            limits.append(self.bytes_per_s / at.size_bytes)
            if at.rate_bits_per_s:
                limits.append(at.rate_bits_per_s / 8 / (_WIRE * at.size_bytes))
        return min(limits)

    def limit(self, at: CapacityPoint) -> str:
        """Name that limit."""
        if at.rate_bits_per_s and at.size_bytes and at.rate_bits_per_s / 8 / (_WIRE * at.size_bytes) <= self.per_s(at):
            return "bandwidth"
        return (
            "cpu"
            if self.most_per_s <= self.per_s(at) or self.bytes_per_s / max(at.size_bytes, 1) <= self.per_s(at)
            else "concurrency"
        )


def capacity_trial(
    at: CapacityPoint, subject: Simulated | None = None, *, number: int = 0, block: int = 0, **changes: Any
) -> Trial:
    """Make a trial of a subject at a point."""
    who = subject or Simulated()
    can = who.per_s(at)
    asked = at.target_per_s
    got = can if asked is None or at.loop is Loop.CLOSED else min(can, asked)
    piles_up = asked is not None and can < asked
    wait_ns = at.round_trip_ns + at.delay_ns + 2 * MS
    p99_ns = 4.0 * _SLOW_NS + wait_ns if piles_up else 1.2 * wait_ns
    held = None if asked is None else got >= _KEPT * asked and p99_ns < wait_ns + _SLOW_NS
    summary = CapacitySummary(
        answers=round(3 * got),
        errors=0,
        measured_ns=3 * SECOND,
        per_s=got,
        service_mean_ns=float(wait_ns),
        response_p50_ns=float(wait_ns),
        response_p99_ns=p99_ns,
        response_max_ns=2 * p99_ns,
        errors_share=0.0,
        held=held,
        why_not=None if held else f"{got:,.0f} of {asked or 0:,.0f} a second",
        limit=who.limit(at),
        limit_per_s=can,
        limit_text=f"{who.limit(at)} allows {can:,.0f} a second",
    )
    fields: dict[str, Any] = {
        "trial": number,
        "experiment": "capacity",
        "language": "Go",
        "method": who.method,
        "concurrency": at.concurrency,
        "link": str(
            Link.symmetric(round_trip_ns=at.round_trip_ns, rate_bits_per_s=at.rate_bits_per_s, queue_ns=at.queue_ns)
        ),
        "capacity_point": at,
        "capacity": summary,
        "summary": None,
    }
    return trial(who.subject, block, **(fields | changes))


def capacity_trials(points: Iterable[CapacityPoint], subjects: Iterable[Simulated] = (Simulated(),)) -> Iterator[Trial]:
    """Make a trial of each subject at each point."""
    chosen = tuple(subjects)
    number = 0
    for at in points:
        for subject in chosen:
            yield capacity_trial(at, subject, number=number)
            number += 1
