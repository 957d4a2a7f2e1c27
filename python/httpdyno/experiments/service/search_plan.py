"""The plan of a search for the number of connections at which each server breaks: one trial a round for each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.experiments.restoring import reading_settings
from httpdyno.experiments.service.axes import Axes, Variant
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.model import Condition, Outcome, Subject, Trial, Validity
from httpdyno.stats import Check
from httpdyno.stats.boundary import DoublingSearch

__all__ = ["Bounds", "checks_of", "search_plan", "to_be_tried"]

_TRIES: Final = 2
"""Of a point whose trial says nothing of the server: what spoilt it may be gone."""
_WHATEVER_IS_ASKED: Final = frozenset({Outcome.UNAVAILABLE, Outcome.NEVER_LISTENED, Outcome.CRASHED})
"""How a server ends that no other number of connections would help."""
_NOT_ITS_OWN: Final = frozenset({Outcome.REFUSED, Outcome.INTERRUPTED})
_DISTURBED: Final = frozenset(
    {Validity.GENERATOR_LIMITED, Validity.DISTURBED, Validity.UNSTEADY, Validity.LINK_LIMITED}
)
_FACTOR, _QUICK_FACTOR = 2.0, 4.0
_RESOLUTION, _QUICK_RESOLUTION = 1.1, 2.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which numbers of connections is searched, and how finely."""

    low: int
    high: int
    quick: bool = False

    @classmethod
    def restored(cls, settings: Mapping[str, Setting]) -> Self | None:
        """Read them from the settings of a run, as its manifest has them; None where nothing was searched."""
        if not settings.get("search"):
            return None
        with reading_settings():
            low = min(int(count) for count in str(settings["connections"]).split(","))
            return cls(low, int(str(settings["most_connections"])), quick=bool(settings["quick"]))

    @property
    def search(self) -> DoublingSearch:
        """The search of one server."""
        factor, resolution = (_QUICK_FACTOR, _QUICK_RESOLUTION) if self.quick else (_FACTOR, _RESOLUTION)
        return DoublingSearch(self.low, self.high, factor, resolution)


def search_plan(
    subjects: Sequence[Subject],
    axes: Axes,
    condition: Callable[[Subject, ServicePoint], Condition],
    bounds: Bounds,
    *,
    seed: int = 1,
) -> SearchPlan:
    """Plan the search for where servers break.

    A subject that is not available has one trial, which says why. Loops, threads and CPUs of ``axes`` are searched one
    after the other, between ``bounds`` of connections.
    """
    variants = axes.variants()
    search = bounds.search
    # Each trial that says nothing may be made again.
    most = _TRIES * search.most * len(variants) * len(subjects)

    def choose(subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if _is_given_up(seen):
            return None
        return next(iter(_steps(subject, seen)), None)

    def _steps(subject: Subject, seen: Sequence[Trial]) -> Iterator[NextTrial]:
        for variant in variants:
            of_variant = [trial for trial in seen if _asked(trial, subject, variant)]
            if (step := to_be_tried(search, of_variant)) is not None:
                connections, why = step
                yield NextTrial(condition(subject, axes.point(connections, variant)), why)

    def _asked(trial: Trial, subject: Subject, variant: Variant) -> bool:
        point = trial.get(ServicePoint)
        if point is None or point.loop is not variant.loop:
            return False
        # A server may have threads of its own, whatever the variant says.
        return condition(subject, axes.point(point.connections, variant)).get(ServicePoint) == point

    begins_with = condition(subjects[0], axes.point(bounds.low, variants[0]))
    return SearchPlan(tuple(subjects), begins_with, max(most, 1), choose, seed)


def checks_of(trials: Sequence[Trial], *, tries: int = _TRIES) -> list[Check]:
    """Read from trials of one server what the search looks at: those that say something of it.

    A trial that the machine or the generator spoilt says that a point holds, when it does in spite of that; that it
    does not hold, it says only when it was tried so many times.
    """
    counted: list[Check] = []
    spoilt: dict[int, int] = {}
    for trial in trials:
        point = trial.get(ServicePoint)
        if point is None or trial.outcome is Outcome.INTERRUPTED:
            continue
        summary = trial.get(ServiceSummary)
        held = trial.outcome is Outcome.OK and summary is not None and bool(summary.held)
        if not held and _spoilt(trial):
            spoilt[point.connections] = spoilt.get(point.connections, 0) + 1
            if spoilt[point.connections] < tries:
                continue
        counted.append(Check(float(point.connections), held))
    return counted


def _is_given_up(trials: Sequence[Trial]) -> bool:
    return any(trial.outcome in _WHATEVER_IS_ASKED for trial in trials)


def _spoilt(trial: Trial) -> bool:
    return trial.outcome in _NOT_ITS_OWN or (trial.outcome is Outcome.OK and trial.validity in _DISTURBED)


def to_be_tried(search: DoublingSearch, trials: Sequence[Trial]) -> tuple[int, str] | None:
    """Return the number of connections that a server is tried with next, and why; None at the end of its search.

    ``trials`` are those of one server in one variant, in their order; ``search`` is that of all servers.
    """
    if _is_given_up(trials):
        return None
    checks = checks_of(trials)
    last = trials[-1] if trials else None
    point = last.get(ServicePoint) if last else None
    if last and point and _spoilt(last) and not any(round(check.load) == point.connections for check in checks):
        return point.connections, "again, as something else disturbed the trial"
    connections = search.next(checks)
    if connections is None:
        return None
    failed = search.conclude(checks).failed
    if not checks:
        return connections, "to begin with"
    return connections, "more may hold" if failed is None else "it breaks below"
