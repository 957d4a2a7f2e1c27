"""The search for the load that brings most: which load to try next, and what may be said at the end.

Nothing here runs a trial. A search is a value; ``next`` looks at all observations and names the load of the trial to
come, or says that it has seen enough.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.model import Interval
from httpdyno.stats.observed import Observation, Observed, faults_raised

__all__ = [
    "Conclusion",
    "Observation",
    "OptimumSearch",
    "Point",
    "Reason",
    "Standing",
    "Step",
    "faults_raised",
]

_LADDER: Final = 4
"""Factor from one load to the next while the search climbs."""
_BELOW_START: Final = _LADDER**2
"""How far below the load that is known to work the search begins."""
_GAP: Final = 1.5
"""Loads whose ratio is no larger are close enough: there is no third one between them worth a trial."""
_LITTLE_GAIN: Final = 0.05
"""A step of the ladder that brings no more than this is the last: on a concave curve the next one brings less."""
_REPEATS: Final = 3
"""Trials of the load that is chosen; its neighbours get one less."""


class Reason(StrEnum):
    """Why a load is tried."""

    FIRST = "far below what is usual, to begin with"
    HIGHER = "more may be better"
    LOWER = "less may do"
    BETWEEN = "the best may lie between"
    AGAIN = "again, to see how much it varies"
    CHANCE = "again, to see whether it was chance that it failed"


class Standing(StrEnum):
    """What a load is worth beside the others."""

    CHOSEN = "chosen"
    TIE = "no better"
    """As good as the best, and higher than the chosen one."""
    WORSE = "worse"
    RAISES_FAULTS = "raises faults"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """The next trial of a search."""

    load: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Point:
    """All that is known of one load."""

    load: int
    trials: int
    value: float
    """The geometric mean of its values; 0 when one of them is."""
    interval: Interval | None
    """Of that mean, by the spread of all repeats together; None where nothing was repeated, or the load is broken."""
    answers: int
    faults: int
    standing: Standing


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a search has found."""

    points: tuple[Point, ...]
    """In the order of their loads."""
    chosen: int | None
    """None when there is no load that works."""

    @property
    def best(self) -> Point | None:
        """The point that was chosen."""
        return next((point for point in self.points if point.load == self.chosen), None)


@dataclass(frozen=True, slots=True)
class OptimumSearch:
    """Finds the smallest load that brings as much as the best one, without more faults than lower loads have.

    It climbs from far below ``start`` by factors of four until a step brings little or raises faults; halves the gaps
    around the best, on a logarithmic scale; and repeats what is near it, to see how much that varies. A load is as good
    as the best when it falls short by no more than ``tie``, or than one standard error of their difference.

    Raises
    ------
    InvalidValue
        If the loads are not 1 <= low <= start <= high, or the budget is below 1.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), section 3.4.3: the simplest choice
    within one standard error. Kiefer, Sequential minimax search for a maximum, Proceedings of the American Mathematical
    Society 4 (1953): unimodal functions.
    """

    start: int
    """A load that is known to work."""
    low: int = 1
    high: int = 1024
    budget: int = 12
    """Trials at most."""
    tie: float = 0.03

    def __post_init__(self) -> None:
        """Refuse a range in which nothing can be searched."""
        if not 1 <= self.low <= self.start <= self.high or self.budget < 1:
            raise InvalidValue(
                f"search: from {self.low} over {self.start} to {self.high} in {self.budget} trials cannot be searched"
            )

    def next(self, seen: Sequence[Observation]) -> Step | None:
        """Name the next trial; None when enough was seen, or the budget is used up."""
        if len(seen) >= self.budget:
            return None
        if not seen:
            return Step(max(self.low, round(self.start / _BELOW_START)), Reason.FIRST)
        known = Observed.of(seen, least_tie=self.tie)
        if not known.working:
            return self._look_around(known)
        left = self.budget - len(seen)
        return self._climb(known) or (self._narrow(known) if left > _REPEATS else None) or self._repeat(known)

    def conclude(self, seen: Sequence[Observation]) -> Conclusion:
        """Return what the observations say, whether or not the search has come to its end."""
        known = Observed.of(seen, least_tie=self.tie)
        return Conclusion(tuple(_point(known, load) for load in known.loads), known.chosen if known.working else None)

    def _look_around(self, known: Observed) -> Step | None:
        """Nothing works yet: look below, then above, no further than the load that is known to work."""
        lowest, highest = known.loads[0], known.loads[-1]
        if lowest > self.low:
            return Step(self._below(lowest), Reason.LOWER)
        return Step(min(self._above(highest), self.start), Reason.HIGHER) if highest < self.start else None

    def _climb(self, known: Observed) -> Step | None:
        lowest, top = known.working[0], known.working[-1]
        if len(known.loads) > 1 and known.chosen == lowest == known.loads[0] and lowest > self.low:
            return Step(self._below(lowest), Reason.LOWER)
        if len(known.working) > 1 and known.slope(known.working[-2], top) * math.log(_LADDER) <= _LITTLE_GAIN:
            return None
        highest = known.loads[-1]
        if known.ceiling is not None:
            # One trial that failed by chance would hide everything above it.
            once = known.ceiling == highest and known.trials(highest) == 1
            return Step(highest, Reason.CHANCE) if once else None
        return Step(self._above(highest), Reason.HIGHER) if highest < self.high else None

    def _narrow(self, known: Observed) -> Step | None:
        below, above = known.neighbours(known.chosen)
        sides = [(below, known.chosen)] if below else []
        if above and (not below or below not in known.working or self._may_rise(known, below, above)):
            sides.insert(0, (known.chosen, above))
        wide = [(low, high) for low, high in sides if high > low * _GAP and high - low > 1]
        if not wide:
            return None
        low, high = max(wide, key=lambda side: side[1] / side[0])
        return Step(round(math.sqrt(low * high)), Reason.BETWEEN)

    def _may_rise(self, known: Observed, below: int, above: int) -> bool:
        """Whether the curve, as steep as it comes to the chosen load, would be clearly higher half-way to the next."""
        rise = known.slope(below, known.chosen) * math.log(above / known.chosen) / 2
        return rise > self.tie

    def _repeat(self, known: Observed) -> Step | None:
        wanted = {known.chosen: _REPEATS}
        for load in (known.best, *known.neighbours(known.chosen)):
            if load in known.working:
                wanted.setdefault(load, _REPEATS - 1)
        lacking = {load: count - known.trials(load) for load, count in wanted.items()}
        most = max(lacking, key=lambda load: lacking[load])
        if lacking[most] > 0:
            return Step(most, Reason.AGAIN)
        doubt = 2 * known.spread / math.sqrt(known.trials(known.chosen))
        return Step(min(wanted, key=known.trials), Reason.AGAIN) if doubt > self.tie else None

    def _below(self, load: int) -> int:
        return max(self.low, min(load - 1, round(load / _LADDER)))

    def _above(self, load: int) -> int:
        """Return the next rung: rungs are the start times powers of four, so that the start itself is one of them."""
        rung = self.start / _BELOW_START
        while rung <= load * _GAP:
            rung *= _LADDER
        return min(max(round(rung), load + 1), self.high)


def _point(known: Observed, load: int) -> Point:
    here = known.by_load[load]
    broken = any(one.broken for one in here)
    value = 0.0 if broken else math.exp(float(np.mean(np.log([one.value for one in here]))))
    return Point(
        load,
        len(here),
        value,
        known.interval(load),
        sum(one.answers for one in here),
        sum(one.faults for one in here),
        _standing(known, load, broken=broken),
    )


def _standing(known: Observed, load: int, *, broken: bool) -> Standing:
    if broken:
        return Standing.FAILED
    if load not in known.working:
        return Standing.RAISES_FAULTS
    if load == known.chosen:
        return Standing.CHOSEN
    return Standing.TIE if known.as_good(load) else Standing.WORSE
