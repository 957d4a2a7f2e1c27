"""The order of trials: seeded random blocks, in each of which every subject runs once under one condition."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, Subject, TrialPlan

__all__ = ["renumbered", "schedule", "shuffled", "usual_repeat"]

_REPEAT: Final = 5
_REPEAT_OF_MANY: Final = 7
_MANY: Final = 5
"""More pairs to tell apart take more trials: Holm's correction grows with their number."""


def usual_repeat(subjects: int, *, quick: bool = False) -> int:
    """Return how often each subject runs unless another number is asked for: more often of many, once if quick."""
    if quick:
        return 1
    return _REPEAT_OF_MANY if subjects > _MANY else _REPEAT


def schedule(
    subjects: Sequence[Subject], conditions: Iterable[Condition], *, repeat: int, seed: int
) -> tuple[TrialPlan, ...]:
    """Interleave the trials of all subjects.

    Drift of the machine (heat, neighbours) then falls on all subjects alike, and what is compared within a block was
    measured within minutes.

    Trials are numbered from 0 in the order in which they run. ``seed`` decides the order within each block, the same on
    every machine.
    """
    if repeat < 1:
        raise InvalidValue(f"repeat must be 1 or more, not {repeat}")
    grid = list(conditions)
    plans: list[TrialPlan] = []
    for block, condition in enumerate(grid * repeat):
        for position, subject in enumerate(shuffled(subjects, block, seed)):
            plans.append(TrialPlan(len(plans), block, position, subject, condition))
    return tuple(plans)


def renumbered(plans: Iterable[TrialPlan]) -> tuple[TrialPlan, ...]:
    """Return the trials that are left of a schedule new numbers, and new positions in their blocks, without gaps."""
    positions: dict[int, int] = {}
    found: list[TrialPlan] = []
    for number, plan in enumerate(plans):
        position = positions.get(plan.block, 0)
        positions[plan.block] = position + 1
        found.append(replace(plan, number=number, position=position))
    return tuple(found)


def shuffled(subjects: Iterable[Subject], block: int, seed: int) -> list[Subject]:
    """Return the order in which subjects run within a block: the same on every machine, whatever order they come in."""
    # Sorted by a hash instead of drawn from `random`, whose sequence is not promised from one Python to the next.
    return sorted(subjects, key=lambda subject: hashlib.sha256(f"{seed}/{block}/{subject.id}".encode()).digest())
