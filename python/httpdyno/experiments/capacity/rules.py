"""The rules of validity of a point: a full link is an answer, and a schedule sets the pace of an open loop."""

from dataclasses import replace
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.judge.validity import RULES, Evidence, Reading, rules_for
from httpdyno.judge.validity.readings import ON_SCHEDULE, drift
from httpdyno.model import Loop, Trial

__all__ = ["CAPACITY_RULES"]


def _drift(trial: Trial) -> Reading:
    point = trial.get(CapacityPoint)
    return ON_SCHEDULE if point is not None and point.loop is Loop.OPEN else drift(trial)


CAPACITY_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.MACHINE, Evidence.PACE),
    own=[replace(rule, read=_drift) for rule in RULES if rule.read is drift],
)
