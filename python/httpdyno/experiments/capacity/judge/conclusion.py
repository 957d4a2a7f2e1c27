"""Whether a subject held a point: its rate, and every clause of the objective."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.limits import with_limit, within_link
from httpdyno.experiments.capacity.judge.objective import Objective, parse_objective
from httpdyno.judge.rankable import rankable_trials
from httpdyno.judge.validity import Rule, with_validity
from httpdyno.model import Loop, Outcome, Trial, TrialPlan, Validity

__all__ = ["KEPT_SHARE", "concluded", "counts"]

KEPT_SHARE: Final = 0.99
"""A rate is kept where this share of it was answered rightly: with less, what waits grows for as long as it lasts."""
_JITTER_NS: Final = 30_000_000
_FEW: Final = 2
"""A short stretch cannot tell 1 %: what comes within 30 ms, or two answers, is at its ends by chance."""
_OF_MACHINE: Final = frozenset({Validity.ORIGIN_LIMITED, Validity.LINK_LIMITED, Validity.DISTURBED, Validity.UNSTEADY})


def concluded(trial: Trial, plan: TrialPlan, figures: Mapping[str, float | None], rules: Sequence[Rule]) -> Trial:
    """End the judging of a trial whose ``capacity`` has figures: was the point held, what is the limit there.

    ``figures`` are what an objective may ask of (``Objective.judge``).
    """
    trial = within_link(with_validity(trial, rules))
    point, summary = plan.condition.get(CapacityPoint), trial.get(CapacitySummary)
    if point is None or summary is None:
        return trial
    distant = _at_its_distance(point, trial)
    held, why_not = _held(trial, summary, distant, figures, parse_objective(point.objective or ""))
    return with_limit(trial.having(replace(summary, held=held, why_not=why_not)))


def counts(trial: Trial) -> bool:
    """Return whether what a trial says of its point can be believed.

    A busy origin or a restless machine can make a subject look worse than it is, never better: that it held counts
    whatever the machine was like; that it did not counts only where nothing but the subject decided it.
    """
    summary = trial.get(CapacitySummary)
    held = summary is not None and summary.held
    return bool(rankable_trials([trial]) or (held and trial.outcome is Outcome.OK and trial.validity in _OF_MACHINE))


def _at_its_distance(point: CapacityPoint, trial: Trial) -> CapacityPoint:
    """Return the point with the distance that an objective speaks of: to another machine, the one that was measured."""
    against = trial.counters.against
    if against is None or against.rtt_min_ns is None:
        return point
    return replace(point, round_trip_ns=against.rtt_min_ns)


def _held(
    trial: Trial,
    summary: CapacitySummary,
    point: CapacityPoint,
    figures: Mapping[str, float | None],
    objective: Objective,
) -> tuple[bool | None, str | None]:
    if trial.outcome is Outcome.INTERRUPTED:
        return None, None
    if trial.outcome is not Outcome.OK:
        return False, trial.reason
    if summary.per_s is None:
        return False, "nothing was answered"
    target = point.target_per_s
    if target is not None and summary.per_s < _kept_share(target, summary.measured_ns, point.loop) * target:
        return False, f"{summary.per_s:,.0f} right answers a second, not {target:,.0f}"
    return objective.judge(point, figures)


def _kept_share(target_per_s: float, measured_ns: int, loop: Loop) -> float:
    share = min(KEPT_SHARE, 1 - _JITTER_NS / measured_ns)
    # What a closed loop makes is no count of what came in time.
    return share if loop is Loop.CLOSED else min(share, 1 - _FEW / (target_per_s * measured_ns / 1e9))
