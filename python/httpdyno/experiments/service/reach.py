"""How many connections each server holds, and at how many it breaks: from a search as from a grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.search_plan import Bounds, checks_of, to_be_tried
from httpdyno.model import Outcome, Trial, Validity
from httpdyno.stats.boundary import Check, DoublingSearch

__all__ = ["Reach", "is_held", "reach_of", "reaches", "telling_trials"]

_OF_ITS_OWN = DoublingSearch(1, 1)


@dataclass(frozen=True, slots=True)
class Reach:
    """Up to how many connections one server holds in one variant."""

    subject: str
    variant: Variant
    held: int | None
    """The most that it held, with nothing below that it did not; None: not even the fewest that were tried."""
    failed: int | None
    """The fewest that it did not hold; None: it held all that were tried."""
    how: str
    """What was not kept there, in one line; empty when it held all."""
    doubtful: bool
    """Whether what failed may have been the machine or the generator."""
    trials: int
    unfinished: bool = False
    """Whether its search was stopped before it was known where it breaks."""


def reaches(trials: Sequence[Trial], bounds: Bounds | None = None) -> tuple[Reach, ...]:
    """Return how many connections each server holds, those of one variant together.

    ``bounds`` are those of a search, so that it is said of whom it was not finished; a grid has none.
    """
    groups: dict[tuple[str, Variant], list[Trial]] = {}
    for trial in trials:
        point = trial.get(ServicePoint)
        if point is not None and point.waits_ms:
            groups.setdefault((trial.subject, Variant.of(point)), []).append(trial)
    return tuple(_reach(*group, of, bounds) for group, of in groups.items())


def reach_of(trial: Trial, found: Sequence[Reach]) -> Reach | None:
    """Find what is known of the server of a trial, in its variant."""
    point = trial.get(ServicePoint)
    if point is None:
        return None
    key = (trial.subject, Variant.of(point))
    return next((one for one in found if (one.subject, one.variant) == key), None)


def telling_trials(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return those of one point that say whether its server holds it; all where none does.

    One that something else disturbed says so only where it held in spite of that.
    """
    return [trial for trial in trials if checks_of([trial], tries=2)] or trials


def is_held(trials: Sequence[Trial]) -> bool | None:
    """Return whether a server holds a point: whether all of its trials that say something held; None: not known."""
    checks = checks_of(telling_trials(_measured(trials)), tries=1)
    return all(check.held for check in checks) if checks else None


def _reach(subject: str, variant: Variant, trials: Sequence[Trial], bounds: Bounds | None) -> Reach:
    measured = _measured(trials)
    points: dict[int, list[Trial]] = {}
    for trial in measured:
        points.setdefault(trial[ServicePoint].connections, []).append(trial)
    known = {load: held for load, of in points.items() if (held := is_held(of)) is not None}
    broken = _OF_ITS_OWN.conclude([Check(float(load), held) for load, held in known.items()])
    there = points.get(broken.failed, []) if broken.failed is not None else []
    worst = [trial for trial in there if not ((summary := trial.get(ServiceSummary)) and summary.held)]
    how = _how(worst[-1]) if worst else ""
    doubtful = bool(worst) and all(trial.validity not in {Validity.VALID, None} for trial in worst)
    unfinished = bounds is not None and to_be_tried(bounds.search, trials) is not None
    return Reach(subject, variant, broken.held, broken.failed, how, doubtful, len(measured), unfinished)


def _measured(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.outcome is not Outcome.UNAVAILABLE and _judged(trial)]


def _judged(trial: Trial) -> bool:
    """Return whether it is known if a trial held: not of a generator that prints no percentiles."""
    summary = trial.get(ServiceSummary)
    return trial.outcome is not Outcome.OK or (summary is not None and summary.held is not None)


def _how(trial: Trial) -> str:
    if trial.outcome is not Outcome.OK:
        return f"{trial.outcome}: {trial.reason}"
    summary = trial.get(ServiceSummary)
    return (summary.why_not if summary else None) or "not held"
