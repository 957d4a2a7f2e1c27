"""The ceiling of a web: what the fetcher ``native`` gets out of it, what held it up, and how trials stand beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.judge.limit import AS_PLANNED, own_cpu_share
from httpdyno.judge.saturation import SATURATED_SHARE
from httpdyno.judge.validity import findings
from httpdyno.judge.validity.stretch import LEAST_TURNS, SHORTEST_NS, Stretch
from httpdyno.model import CeilingLimit, Outcome, Trial, Validity

__all__ = ["Ceiling", "ceiling_notes", "ceiling_of", "ceiling_over", "ceiling_words"]

_WORDS: Final = {
    CeilingLimit.WEB: "at least: the delays of the web allowed no more at that many requests in flight",
    CeilingLimit.FETCHER: "at least: the fetcher had no more CPU time",
    CeilingLimit.ORIGIN: "at most: the origin had no more CPU time",
    CeilingLimit.LINK: "at most: the link held the fetcher up",
    CeilingLimit.INSTRUMENT: "at most: neither a CPU nor the delays of the web held the fetcher up",
    CeilingLimit.MACHINE: "at least: other programs disturbed the fetcher",
}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the fetcher got out of a web."""

    right_per_s: float
    limit: CeilingLimit
    """What kept it from getting more."""


def ceiling_of(trial: Trial, *, planned_per_s: float | None) -> Ceiling | None:
    """Return the ceiling that a trial of the fetcher has found; None if it failed, was wrong, or was too short to tell.

    What held it up is the first of these that is true: the origin's CPU time was used up; other programs took part;
    the link was full; its own CPU time was used up; it was as fast as the delays of the web allow; the link has a
    distance, a rate or losses, which the plan of the web knows nothing of. When none of them is, the instrument holds
    clients up in a way that no counter shows.

    ``planned_per_s`` are the URLs a second that the delays of the web allow at the concurrency of the trial; None where
    nobody has planned any.
    """
    rate = trial.summary.right_per_s if trial.summary else None
    stretch = Stretch.of(trial)
    if trial.outcome is not Outcome.OK or not rate or stretch is None or stretch.length_ns < SHORTEST_NS:
        return None
    broken = {finding.rule.name: finding.rule.verdict for finding in findings(trial) if finding.passed is False}
    if Validity.INCORRECT in broken.values() or Validity.UNVERIFIED in broken.values():
        return None
    return Ceiling(rate, _limit(trial, stretch, broken, rate / planned_per_s if planned_per_s else 0.0))


def ceiling_over(trials: Iterable[Trial]) -> tuple[float | None, CeilingLimit | None]:
    """Return the ceiling that trials stand under, and what set it; of those with several, or none, nothing."""
    ceilings = {(trial.ceiling_per_s, trial.ceiling_limit) for trial in trials if trial.ceiling_per_s}
    return ceilings.pop() if len(ceilings) == 1 else (None, None)


def ceiling_words(right_per_s: float, limit: CeilingLimit | None) -> str:
    """Describe in words how high a ceiling is."""
    more = f" ({_WORDS[limit]})" if limit else ""
    return f"the web's ceiling: {right_per_s:,.0f} right answers a second{more}"


def ceiling_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe under a table how high the ceiling of its web is, and how near the fastest subject came."""
    ceiling, limit = ceiling_over(trials)
    if ceiling is None:
        return ()
    # Also of trials that cannot be believed: those that the instrument held up are the nearest to it.
    rates = [trial.summary.right_per_s or 0.0 for trial in trials if trial.summary and trial.outcome is Outcome.OK]
    fastest = f"; the fastest trial reached {100 * max(rates) / ceiling:.0f} % of it" if rates else ""
    return (f"{ceiling_words(ceiling, limit)}{fastest}",)


def _limit(trial: Trial, stretch: Stretch, broken: dict[str, Validity], of_plan: float) -> CeilingLimit:
    if "origin_cpu" in broken:
        return CeilingLimit.ORIGIN
    # What is left of the origin's rules is that others had its CPU. A drift is the fetcher's own.
    if any(
        verdict in {Validity.ORIGIN_LIMITED, Validity.DISTURBED, Validity.UNSTEADY}
        for name, verdict in broken.items()
        if name != "drift"
    ):
        return CeilingLimit.MACHINE
    if Validity.LINK_LIMITED in broken.values():
        return CeilingLimit.LINK
    # Where nobody counted it, nothing else is concluded.
    own = own_cpu_share(trial, stretch)
    if own is None or own >= SATURATED_SHARE:
        return CeilingLimit.FETCHER
    # The end of a short list is most of its time: one stall, not the instrument, sets the rate there.
    short = trial.urls_given < LEAST_TURNS * trial.concurrency
    if short or of_plan >= AS_PLANNED:
        return CeilingLimit.WEB
    return CeilingLimit.INSTRUMENT if trial.link == "direct" else CeilingLimit.LINK
