"""How many requests in flight use the CPUs of a client up: from a first trial, corrected by a second."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import find_metric
from httpdyno.judge.limit import SATURATED_SHARE, Limit, limited_by, own_cpu_share
from httpdyno.judge.rankable import disturbed
from httpdyno.judge.validity.stretch import Stretch
from httpdyno.model import Outcome, Trial

__all__ = ["HIGHEST", "TRIALS", "Saturation", "saturation_after"]

HIGHEST: Final = 1024
"""Requests in flight: as many as a client opens connections for without asking the system for more descriptors."""
TRIALS: Final = 2
_MOST_TIMES: Final = 2
"""A correction by more than this rests on a trial that was held up by something else."""
_PER_CORE, _IN_FLIGHT = (find_metric(CRAWL_METRICS, name) for name in ("right_per_core_s", "in_flight_per_core"))


@dataclass(frozen=True, slots=True)
class Saturation:
    """A concurrency, and why it is that one."""

    concurrency: int
    why: str


def saturation_after(seen: Sequence[Trial], *, highest: int = HIGHEST) -> Saturation:
    """Return the concurrency that uses the CPUs of a client up, as far as its trials say.

    The first one, at the concurrency that is usual for the client, says what an answer costs it and so, by Little's
    law, how many requests in flight its CPUs can take. The second one, at so many, says what share of them that used.
    """
    first, *others = seen
    if others:
        return _corrected(first, others[-1], highest)
    cpus, per_core, in_flight = _cpus(first), _PER_CORE.figure(first), _IN_FLIGHT.figure(first)
    if first.outcome is not Outcome.OK or per_core is None or in_flight is None:
        return Saturation(first.concurrency, f"its own: what an answer costs it is not known ({_reason(first)})")
    rate = f"{cpus * per_core:,.0f} right answers a second have CPU time, by what one costs at {first.concurrency:,}"
    return Saturation(min(max(ceil(cpus * in_flight), 1), highest), rate)


def _corrected(first: Trial, second: Trial, highest: int) -> Saturation:
    concurrency, stretch = second.concurrency, Stretch.of(second)
    share = own_cpu_share(second, stretch) if stretch else None
    if second.outcome is not Outcome.OK or not share:
        return Saturation(first.concurrency, f"its own; with {concurrency:,}: {_reason(second)}")
    used = f"with {concurrency:,} it used {100 * share:.0f} % of its CPU time"
    if share >= SATURATED_SHARE or concurrency >= highest:
        return Saturation(concurrency, used)
    if disturbed(second):
        return Saturation(concurrency, f"{used}, but other programs disturbed that")
    if limited_by(second) is Limit.ORIGIN:
        return Saturation(concurrency, f"{used}, and the origin can give no more")
    return Saturation(min(ceil(concurrency * min(1 / share, _MOST_TIMES)), highest), used)


def _reason(trial: Trial) -> str:
    return trial.outcome.value if trial.outcome is not Outcome.OK else "no CPU time was counted"


def _cpus(trial: Trial) -> int:
    return len(trial.counters.subject_cpus) or 1
