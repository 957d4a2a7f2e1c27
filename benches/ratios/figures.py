"""What a case measures, what must hold of it, and the arithmetic from rounds to ratios; pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Column", "Finding", "Round", "Spread", "Target", "find", "spread", "values_of"]

Round = Mapping[str, Mapping[str, float]]
"""What one round measured: the figures of each competitor, by their names. Who failed in it is absent."""

_FEWEST: Final = 5
"""Rounds that a median must rest on before it is held against a target."""


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a case: what it is called in results, and in a table."""

    name: str
    title: str
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure, or a ratio, over all rounds."""

    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Target:
    """Bounds of a competitor's figure, or of its ratio to another competitor's.

    A target without bounds is printed, not judged.
    """

    of: str
    figure: str
    to: str | None = None
    """The competitor whose figure is the divisor; None: the bounds are those of the figure itself."""
    at_least: float | None = None
    at_most: float | None = None
    every_round: bool = False
    """The bound holds for each round, and not for their median: for counts that must be zero."""
    inverse: bool = False
    """The other competitor's figure is divided by ours: for costs, so that more than 1 is better everywhere."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a target."""

    target: Target
    spread: Spread | None
    """None: one of the two was never measured."""
    met: bool | None
    """None: there is no bound, or too little was measured to say."""


def spread(values: Sequence[float]) -> Spread | None:
    """Give median and extremes; None of no values."""
    return Spread(statistics.median(values), min(values), max(values), len(values)) if values else None


def values_of(target: Target, rounds: Sequence[Round]) -> list[float]:
    """Give the target's value in each round that has it.

    A ratio is taken within a round, so that what disturbed the round disturbs both of its sides. A round whose divisor
    is zero has none.
    """
    values = []
    for measured in rounds:
        ours = measured.get(target.of, {}).get(target.figure)
        if target.to is None:
            values += [] if ours is None else [ours]
            continue
        theirs = measured.get(target.to, {}).get(target.figure)
        if ours is None or theirs is None:
            continue
        above, below = (theirs, ours) if target.inverse else (ours, theirs)
        values += [above / below] if below else []
    return values


def find(target: Target, rounds: Sequence[Round], *, fewest: int = _FEWEST) -> Finding:
    """Hold the rounds against a target.

    Parameters
    ----------
    target : Target
        What must hold.
    rounds : sequence of Round
        As they were measured; n = 0 is allowed.
    fewest : int
        With fewer values than that nothing is said of the bound.
    """
    values = values_of(target, rounds)
    found = spread(values)
    bounded = target.at_least is not None or target.at_most is not None
    if found is None or not bounded or len(values) < fewest:
        return Finding(target, found, None)
    judged = values if target.every_round else [found.median]
    met = all(
        (target.at_least is None or value >= target.at_least) and (target.at_most is None or value <= target.at_most)
        for value in judged
    )
    return Finding(target, found, met)
