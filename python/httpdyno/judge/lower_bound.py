"""What a subject reached at least, where the origin set its pace and not the subject itself."""

from collections.abc import Iterable, Sequence
from typing import Final

from httpdyno.judge.group import grouped
from httpdyno.judge.rankable import placing_trials
from httpdyno.model import Aspect, Direction, Metric, Outcome, Trial, Validity
from httpdyno.stats import median

__all__ = ["lower_bounds"]

_HELD_UP: Final = frozenset({Validity.VALID, Validity.ORIGIN_LIMITED})


def lower_bounds(trials: Iterable[Trial], metric: Metric) -> dict[tuple[str, str], float]:
    """Return by condition and subject what those reached at least that only the origin keeps from a rank.

    Only a rate is such a bound: a figure of pace that is better when it is higher.
    """
    if metric.better is not Direction.HIGHER or metric.aspect is not Aspect.PACE:
        return {}
    bounds = {group: _bound(of, metric) for group, of in grouped(trials).items()}
    return {group: bound for group, bound in bounds.items() if bound is not None}


def _bound(trials: Sequence[Trial], metric: Metric) -> float | None:
    if placing_trials(trials, metric.aspect) or any(
        trial.outcome is not Outcome.OK or trial.validity not in _HELD_UP for trial in trials
    ):
        return None
    return median(map(metric.figure, trials))
