"""Limits of a trial: concurrency, CPU time, origin, link or web; and the ceiling of the web."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

from httpdyno.judge.validity import Rule, broken
from httpdyno.judge.validity.stretch import LEAST_TURNS, SHORTEST_NS, Stretch
from httpdyno.model import CeilingLimit, Counters, Outcome, Trial, Validity

SATURATED_SHARE: Final = 0.85
"""Share of its CPUs that a client must use until the last URL starts to count as saturated."""


def is_saturated(starts_ns: pl.Series, counters: Counters, *, concurrency: int) -> bool:
    """Return whether the client used up its CPU time before its list was exhausted.

    CPU time is known only for the whole trial. It is divided evenly among the URLs, so that the share of the last
    ``concurrency`` URLs, which end after the last start, is left out. A list that is not longer than that never
    saturates. ``starts_ns`` are Unix times and may contain nulls. Without CPU time the client does not count as
    saturated.
    """
    started_at_ns, cpu_ns = counters.started_at_ns, counters.cpu_ns
    last_start = starts_ns.drop_nulls()
    if started_at_ns is None or cpu_ns is None or last_start.is_empty():
        return False
    lasted_ns = int(last_start.to_numpy().max()) - started_at_ns
    cpus = len(counters.subject_cpus) or 1
    spent_ns = cpu_ns * max(1 - concurrency / len(last_start), 0)
    return lasted_ns > 0 and spent_ns > 0 and spent_ns >= SATURATED_SHARE * lasted_ns * cpus


_AS_PLANNED: Final = 0.85
"""A client that reaches this share of the rate that the web's delays allow is limited by those delays only."""


class Limit(StrEnum):
    """Limit of a client."""

    CONCURRENCY = "concurrency"
    """Concurrency: each request waits as long as the web plans; more requests in flight would raise the rate."""
    CPU = "CPU"
    """Its own CPU time."""
    ORIGIN = "origin"
    LINK = "link"
    WEB = "web"
    """The web: the client reached the fetcher's rate on the same web."""


def limited_by(trial: Trial) -> Limit | None:
    """Return the limit of the client in a trial; None if no counted resource limited it, or it is unknown."""
    if trial.validity is Validity.ORIGIN_LIMITED:
        return Limit.ORIGIN
    if trial.validity is Validity.LINK_LIMITED:
        return Limit.LINK
    stretch, summary = Stretch.of(trial), trial.summary
    if summary is None or summary.right_per_s is None or stretch is None:
        return None
    if (own_cpu_share(trial, stretch) or 0.0) >= SATURATED_SHARE:
        return Limit.CPU
    planned_ns = summary.planned_mean_ns if trial.link == "direct" else None
    if planned_ns and summary.right_per_s * planned_ns * 1e-9 >= _AS_PLANNED * trial.concurrency:
        return Limit.CONCURRENCY
    if trial.ceiling_per_s and summary.right_per_s >= _AS_PLANNED * trial.ceiling_per_s:
        return Limit.WEB
    return None


def own_cpu_share(trial: Trial, stretch: Stretch) -> float | None:
    """Return the CPU time of a client over a stretch, as a share of its CPUs; None without counts."""
    cpu_ns, cpus = trial.counters.cpu_ns, len(trial.counters.subject_cpus)
    return None if cpu_ns is None or not cpus else cpu_ns * stretch.work / (stretch.length_ns * cpus)


_WORDS: Final = {
    CeilingLimit.WEB: "at least: the delays of the web limited the rate at that many requests in flight",
    CeilingLimit.FETCHER: "at least: the fetcher had no CPU time left",
    CeilingLimit.ORIGIN: "at most: the origin had no CPU time left",
    CeilingLimit.LINK: "at most: the link limited the fetcher",
    CeilingLimit.INSTRUMENT: "at most: neither a CPU nor the delays of the web limited the fetcher",
    CeilingLimit.MACHINE: "at least: other programs disturbed the fetcher",
}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Rate that the fetcher reached on a web, and what limited it."""

    right_per_s: float
    limit: CeilingLimit
    """The limit of the fetcher."""


def ceiling_of(trial: Trial, rules: Sequence[Rule], *, planned_per_s: float | None) -> Ceiling | None:
    """Return the ceiling that a trial of the fetcher found; None if the trial failed, was wrong or was too short.

    The limit is the first of these that is true: the origin's CPU time was used up; other programs used the CPUs; the
    link was full; the fetcher's CPU time was used up; it was as fast as the delays of the web allow; the link has a
    distance, a rate or losses, which the plan of the web does not include. If none is true, the limit is the
    instrument, in a way that no counter shows.

    ``planned_per_s`` is the rate that the delays of the web allow at the concurrency of the trial; None if the web
    plans no time.
    """
    rate = trial.summary.right_per_s if trial.summary else None
    stretch = Stretch.of(trial)
    if trial.outcome is not Outcome.OK or not rate or stretch is None or stretch.length_ns < SHORTEST_NS:
        return None
    found = {one.rule.name: one.rule.verdict for one in broken(trial, rules)}
    if Validity.INCORRECT in found.values() or Validity.UNVERIFIED in found.values():
        return None
    return Ceiling(rate, _limit(trial, stretch, found, rate / planned_per_s if planned_per_s else 0.0))


def ceiling_over(trials: Iterable[Trial]) -> tuple[float | None, CeilingLimit | None]:
    """Return the ceiling that all trials share, and its limit; None if they have several or none."""
    ceilings = {(trial.ceiling_per_s, trial.ceiling_limit) for trial in trials if trial.ceiling_per_s}
    return ceilings.pop() if len(ceilings) == 1 else (None, None)


def ceiling_words(right_per_s: float, limit: CeilingLimit | None) -> str:
    """Describe a ceiling."""
    more = f" ({_WORDS[limit]})" if limit else ""
    return f"the web's ceiling: {right_per_s:,.0f} right answers a second{more}"


def ceiling_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe the ceiling of a table's web, and the share of it that the fastest trial reached."""
    ceiling, limit = ceiling_over(trials)
    if ceiling is None:
        return ()
    # Includes invalid trials: those that the instrument limited are the nearest to the ceiling.
    rates = [trial.summary.right_per_s or 0.0 for trial in trials if trial.summary and trial.outcome is Outcome.OK]
    fastest = f"; the fastest trial reached {100 * max(rates) / ceiling:.0f} % of it" if rates else ""
    return (f"{ceiling_words(ceiling, limit)}{fastest}",)


def _limit(trial: Trial, stretch: Stretch, broken: dict[str, Validity], of_plan: float) -> CeilingLimit:
    if "origin_cpu" in broken:
        return CeilingLimit.ORIGIN
    # Of the origin's rules, only the use of its CPU by others applies. A drift is the fetcher's own.
    if any(
        verdict in {Validity.ORIGIN_LIMITED, Validity.DISTURBED, Validity.UNSTEADY}
        for name, verdict in broken.items()
        if name != "drift"
    ):
        return CeilingLimit.MACHINE
    if Validity.LINK_LIMITED in broken.values():
        return CeilingLimit.LINK
    # Without counts there is no other conclusion.
    own = own_cpu_share(trial, stretch)
    if own is None or own >= SATURATED_SHARE:
        return CeilingLimit.FETCHER
    # The end of a short list is most of its time: there a single stall, not the instrument, decides the rate.
    short = trial.urls_given < LEAST_TURNS * trial.concurrency
    if short or of_plan >= _AS_PLANNED:
        return CeilingLimit.WEB
    return CeilingLimit.INSTRUMENT if trial.link == "direct" else CeilingLimit.LINK
