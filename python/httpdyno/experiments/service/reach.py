"""How many connections each server holds, and at how many it breaks: from a search as from a grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.search_plan import Bounds, checks_of, to_be_tried
from httpdyno.model import Outcome, Trial, Validity
from httpdyno.stats.boundary import Check
from httpdyno.stats.doubling import DoublingSearch

__all__ = ["Reach", "reach_of", "reaches"]

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


def _reach(subject: str, variant: Variant, trials: Sequence[Trial], bounds: Bounds | None) -> Reach:
    measured = [trial for trial in trials if trial.outcome is not Outcome.UNAVAILABLE and _judged(trial)]
    checks = checks_of(measured, tries=1)
    broken = _OF_ITS_OWN.conclude(
        checks if bounds else _of_repeats(checks, checks_of(measured, tries=len(measured) + 1))
    )
    there = [trial for trial in measured if (point := trial.get(ServicePoint)) and point.connections == broken.failed]
    worst = [trial for trial in there if not ((summary := trial.get(ServiceSummary)) and summary.held)]
    how = _how(worst[-1]) if worst else ""
    doubtful = bool(worst) and all(trial.validity not in {Validity.VALID, None} for trial in worst)
    unfinished = bounds is not None and to_be_tried(bounds.search, trials) is not None
    return Reach(subject, variant, broken.held, broken.failed, how, doubtful, len(measured), unfinished)


def _of_repeats(every: Sequence[Check], sound: Sequence[Check]) -> list[Check]:
    """Put the repeats of each load into one: it holds where all held that nothing else disturbed, or else all."""
    counted = {check.load: [one.held for one in sound if one.load == check.load] for check in every}
    return [Check(load, all(held or [one.held for one in every if one.load == load])) for load, held in counted.items()]


def _judged(trial: Trial) -> bool:
    """Return whether it is known if a trial held: not of a generator that prints no percentiles."""
    summary = trial.get(ServiceSummary)
    return trial.outcome is not Outcome.OK or (summary is not None and summary.held is not None)


def _how(trial: Trial) -> str:
    if trial.outcome is not Outcome.OK:
        return f"{trial.outcome}: {trial.reason}"
    summary = trial.get(ServiceSummary)
    return (summary.why_not if summary else None) or "not held"
