"""What trials of one subject at several concurrencies say: which is the best, and where contention begins."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from httpdyno.model import Outcome, Trial, Validity
from httpdyno.stats import Conclusion, NotEnoughPoints, Observation, OptimumSearch, Point, ScalabilityLaw, Standing
from httpdyno.stats import fit_scalability as fit

__all__ = [
    "HIGHEST",
    "MOST_TRIALS",
    "QUICK_TRIALS",
    "chosen_words",
    "concluded",
    "contention_begins",
    "disturbed_words",
    "law_of",
    "law_words",
    "lawful",
    "observed",
    "search_from",
    "searches_of",
    "uncertain_words",
]

MOST_TRIALS: Final = 12
QUICK_TRIALS: Final = 6
"""With ``--quick``: enough for the order of magnitude."""
HIGHEST: Final = 1024
"""Requests in flight: as many as a client opens connections for without asking the system for more descriptors."""
_DISTURBED: Final = 0.25
"""What a trial counts that the machine has disturbed: it says something, but four of them no more than a quiet one."""
_POOR: Final = 0.20
"""A law that misses the values by more than this says little about them."""
_MANY_FAULTS: Final = 0.1
_UNCERTAIN: Final = 3.0
"""A figure that may be so many times as large says nothing of what was found beside what was not."""
_NOT_ITS_OWN: Final = frozenset({Validity.DISTURBED, Validity.UNSTEADY, Validity.ORIGIN_LIMITED})
"""What a trial is in which other programs, or the engine, had a share in its figures."""


def search_from(start: int, highest: int = HIGHEST, budget: int = MOST_TRIALS) -> OptimumSearch:
    """Return the search for the best concurrency, about the one that is known to work.

    ``start`` is the subject's own concurrency; one that is beyond ``highest`` moves that bound.
    """
    return OptimumSearch(start, high=max(highest, start), budget=budget)


def observed(trial: Trial) -> Observation:
    """Read from a trial what the search looks at: right answers a second, and how many answers were errors or late.

    What a known failure explains counts, too: it comes up at every concurrency alike, unless there is more to it.
    """
    tally, summary = trial.tally, trial.summary
    value = summary.right_per_s if summary is not None else None
    return Observation(
        load=trial.concurrency,
        value=max(value or 0.0, 0.0),
        answers=tally.right + tally.wrong_in_all if tally else 0,
        faults=tally.wrong_in_all if tally else 0,
        failed=trial.outcome is not Outcome.OK,
        weight=_DISTURBED if trial.validity in {Validity.DISTURBED, Validity.UNSTEADY} else 1.0,
    )


def concluded(trials: Sequence[Trial]) -> Conclusion:
    """Return what the trials say, however many of them there are."""
    # What is concluded depends on the trials only: where the search began decides which of them were made.
    return search_from(1).conclude([observed(trial) for trial in trials])


def searches_of(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each subject, whose best brings most first."""
    found = {
        name: [trial for trial in trials if trial.subject == name] for name in dict.fromkeys(t.subject for t in trials)
    }
    best = {name: concluded(own).best for name, own in found.items()}
    return dict(sorted(found.items(), key=lambda of: (-(one.value if (one := best[of[0]]) else 0.0), of[0])))


def lawful(point: Point) -> bool:
    """Return whether the law of scalability can speak of a concurrency.

    Not where a trial failed, nor where so many answers are errors or late that timeouts decide, and not contention.
    """
    return point.standing is not Standing.FAILED and point.faults <= _MANY_FAULTS * point.answers


def law_of(trials: Sequence[Trial], conclusion: Conclusion) -> ScalabilityLaw | NotEnoughPoints:
    """Fit the law of scalability to right answers a second, of all concurrencies that it can speak of."""
    used = {point.load for point in conclusion.points if lawful(point)}
    values = [(trial.concurrency, observed(trial).value) for trial in trials if trial.concurrency in used]
    return fit([load for load, _ in values], [value for _, value in values])


def contention_begins(law: ScalabilityLaw | NotEnoughPoints, conclusion: Conclusion) -> float | None:
    """Return the concurrency from which each further request brings less than half of what the first one does.

    None where there is no law, it misses the trials by too much, or the place lies beyond what was tried.
    """
    if isinstance(law, NotEnoughPoints) or law.residual > _POOR or law.half_gain is None:
        return None
    highest = max(point.load for point in conclusion.points if lawful(point))
    return law.half_gain if law.half_gain <= highest else None


def law_words(law: ScalabilityLaw | NotEnoughPoints, conclusion: Conclusion) -> str:
    """Describe in words where contention begins, and what the law rests on.

    Nothing is said of what lies beyond what was tried.
    """
    if isinstance(law, NotEnoughPoints):
        return f"where contention begins is not known: {law}"
    if law.residual > _POOR:
        return f"where contention begins is not known: the law of scalability misses the trials by {_percent(law)}"
    highest = max(point.load for point in conclusion.points if lawful(point))
    fit = f"(sigma {law.contention:.2g}, kappa {law.coherency:.2g}; the law misses the trials by {_percent(law)})"
    begins = contention_begins(law, conclusion)
    if begins is None:
        return (
            f"no contention up to {highest}: each further request in flight brings over half of the first one's {fit}"
        )
    less = f"each further request in flight brings less than half of the {law.rate:.3g} a second of the first one"
    falls = f"; beyond about {law.peak:.0f} it takes away" if law.peak is not None and law.peak <= highest else ""
    return f"contention begins at about {begins:.0f}: from there {less}{falls} {fit}"


def disturbed_words(trials: Sequence[Trial]) -> str | None:
    """State that in half of the trials or more something else than the subject decided; None when in fewer."""
    found = Counter(trial.validity.value for trial in trials if trial.validity in _NOT_ITS_OWN)
    if not found or 2 * found.total() < len(trials):
        return None
    counted = ", ".join(f"{count} {validity}" for validity, count in found.most_common())
    said = f"in {found.total()} of {len(trials)} trials the machine decided, not the subject ({counted})"
    return f"{said}: search again when the machine is quiet"


def uncertain_words(conclusion: Conclusion) -> str | None:
    """State that what was found is too uncertain to be relied on; None when it is not, or nothing was found."""
    best = conclusion.best
    if best is None or best.interval is None or best.interval.high <= _UNCERTAIN * best.interval.estimate:
        return None
    interval = best.interval
    return (
        f"what was found is too uncertain to be kept: {interval.estimate:.1f} right answers a second may be"
        f" {interval.low:.1f} or {interval.high:.1f}"
    )


def chosen_words(subject: str, own: int, conclusion: Conclusion) -> str:
    """Describe in one line what was found for a subject, beside its own concurrency.

    ``subject`` is its id, ``own`` what its ``subject.toml`` has.
    """
    best = conclusion.best
    if best is None:
        return f"{subject}: no concurrency was found at which it works"
    if best.load == own:
        return f"{subject}: its own concurrency, {own}, is the best"
    there = next((point for point in conclusion.points if point.load == own), None)
    if there is None or there.value == 0:
        return f"{subject}: {best.load} in flight is the best; its own is {own}"
    difference = f"{best.value / there.value:.2f} times what its own concurrency brings, {own}"
    return f"{subject}: {best.load} in flight is the best: {difference} ({there.standing.value})"


def _percent(law: ScalabilityLaw) -> str:
    return f"{100 * law.residual:.0f} %"
