"""How sure it is that a trial would say the same again: by how far what it found lies from what was asked."""

import math
from collections.abc import Iterator
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.conclusion import KEPT_SHARE
from httpdyno.experiments.capacity.judge.foreseen import LimitKind, Situation, link_of
from httpdyno.experiments.capacity.judge.limits import link_was_as_asked
from httpdyno.experiments.capacity.judge.objective import Objective
from httpdyno.model import Link, Outcome, Trial, Validity

__all__ = ["beyond_law", "error_chance_of", "failed_by_law"]

_NOTHING_KNOWN: Final = 0.5
_DISTURBED: Final = 0.3
_RATE_SPREAD: Final = 0.02
_TIME_SPREAD: Final = 0.1
_ERRORS_SPREAD: Final = 0.5
"""How much a figure varies from trial to trial: standard deviations of logarithms; a share of few errors most."""
_DISTURBED_SPREAD: Final = 2.5
"""How many times as much figures vary where the machine had other work."""
_LEAST_ERRORS: Final = 1e-5
_LITTLE: Final = 0.05
_OBSTACLES: Final = {
    Validity.ORIGIN_LIMITED: _NOTHING_KNOWN,
    Validity.GENERATOR_LIMITED: _NOTHING_KNOWN,
    Validity.LINK_LIMITED: _NOTHING_KNOWN,
    Validity.DISTURBED: _DISTURBED,
    Validity.UNSTEADY: _DISTURBED,
}
"""What can make a subject fail that would have held."""
_CAME_TO_LAW: Final = 0.97
"""Who was given this share of what laws allow was held up by them, and by nothing else."""
_SURELY_LESS: Final = 0.95
"""A point at which no more than this share of the rate can come, by the laws of links and queues, holds for nobody."""


def error_chance_of(trial: Trial, objective: Objective) -> float:
    """Return the chance that the same trial, made again, would answer otherwise.

    It is 0 for one that is far from every bound, and 1/2 for one that says nothing: nobody knows whether it held, or it
    failed when an instrument came to its end.
    """
    summary, point = trial.get(CapacitySummary), trial.get(CapacityPoint)
    if trial.outcome is Outcome.INTERRUPTED or not link_was_as_asked(trial):
        return _NOTHING_KNOWN
    if trial.outcome is not Outcome.OK:
        return _DISTURBED
    if summary is None or point is None or summary.held is None:
        return _NOTHING_KNOWN
    by_law = failed_by_law(trial)
    wider = _DISTURBED_SPREAD if trial.validity in _OBSTACLES and not by_law else 1.0
    distances = [distance / wider for distance in _distances(summary, point, objective)]
    if summary.held:
        # Who holds although he was disturbed, holds.
        least = _LITTLE if trial.validity in _OBSTACLES else 0.0
        return max([least, *(_beyond(distance) for distance in distances if distance >= 0)])
    least = _OBSTACLES.get(trial.validity, 0.0) if trial.validity else 0.0
    return max(
        min(least, _LITTLE) if by_law else least,
        min((_beyond(-distance) for distance in distances if distance <= 0), default=0.0),
    )


def beyond_law(point: CapacityPoint, link: Link) -> bool:
    """Return whether nobody can hold a rate at a point: its link and its requests in flight do not allow it."""
    return point.target_per_s is not None and _lawful_per_s(point, link) < _SURELY_LESS * point.target_per_s


def failed_by_law(trial: Trial) -> bool:
    """Return whether a trial failed where nobody could have held, whatever the machine was like.

    That is where laws allow far less than the rate; or less, and what they allow is what came.
    """
    summary, point = trial.get(CapacitySummary), trial.get(CapacityPoint)
    if summary is None or point is None or summary.held is not False or point.target_per_s is None:
        return False
    lawful_per_s = _lawful_per_s(point, link_of(trial, point))
    came = (summary.per_s or 0.0) >= _CAME_TO_LAW * lawful_per_s
    return lawful_per_s < (KEPT_SHARE if came else _SURELY_LESS) * point.target_per_s


def _lawful_per_s(point: CapacityPoint, link: Link) -> float:
    # How windows grow depends on the kernel: what rests on them is tried.
    lawful = (limit.per_s for limit in Situation(point, link).limits if limit.kind is not LimitKind.WINDOW)
    return min(lawful, default=math.inf)


def _distances(summary: CapacitySummary, point: CapacityPoint, objective: Objective) -> Iterator[float]:
    """Return how far each figure is within its bound, in standard deviations; below 0: beyond it."""
    kept = summary.per_s is not None and point.target_per_s is not None and summary.per_s > 0
    if kept and summary.per_s is not None and point.target_per_s is not None:
        distance = math.log(summary.per_s / (KEPT_SHARE * point.target_per_s)) / _RATE_SPREAD
        # A rate that is kept cannot be kept by more: only one that is not says how far it is.
        if distance < 0:
            yield distance
    times = {
        "p50": summary.response_p50_ns,
        "p99": summary.response_p99_ns,
        "mean": summary.service_mean_ns,
        "max": summary.response_max_ns,
    }
    for clause in objective.clauses:
        bound = clause.bound(point)
        if clause.figure == "errors" and summary.errors_share is not None:
            yield math.log(bound / max(summary.errors_share, _LEAST_ERRORS)) / _ERRORS_SPREAD
        elif (found := times.get(clause.figure)) and bound > 0:
            yield math.log(bound / found) / _TIME_SPREAD


def _beyond(deviations: float) -> float:
    """Chance that a normal figure lies that many standard deviations or more to one side."""
    return 0.5 * math.erfc(deviations / math.sqrt(2))
