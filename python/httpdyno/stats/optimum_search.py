"""Search for the load with the highest throughput: the load of the next trial, and the conclusion from all trials."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from httpdyno.model import Interval
from httpdyno.stats.summary import FloatArray, two_sided_quantile


@dataclass(frozen=True, slots=True)
class ConcaveCurve:
    """A piecewise linear curve, with no piece steeper than the one before it."""

    x: FloatArray
    """Places of its corners, shape (m,), ascending."""
    y: FloatArray
    """Heights of its corners, shape (m,)."""
    residual: float
    """Weighted sum of squared differences from the values."""
    pieces: int
    """Number of pieces with different slopes: 0 for a single corner."""

    def at(self, x: float) -> float:
        """Return the height at a place, by linear interpolation; beyond the corners that of the nearest one."""
        return float(np.interp(x, self.x, self.y))


def fit_concave(x: FloatArray, y: FloatArray, weights: FloatArray) -> ConcaveCurve:
    """Fit a concave curve by least squares: a first slope of at most 1, and a bend down at each inner value of ``x``.

    Twice the requests in flight give at most twice the answers: the slope of the logarithms is at most 1.

    Parameters
    ----------
    x, y : shape (n,), n >= 1
        In any order; ``x`` may repeat.
    weights : shape (n,)
        Weight of each value, above 0.

    References
    ----------
    Hildreth, Point estimates of ordinates of concave functions, Journal of the American Statistical Association 49
    (1954).
    """
    from scipy.optimize import lsq_linear

    scale = np.sqrt(weights)
    corners = np.unique(x)
    design = _design(x, corners)
    lowest, highest = np.zeros(design.shape[1]), np.full(design.shape[1], np.inf)
    lowest[:2], highest[1:2] = -np.inf, 1.0
    solved = lsq_linear(design * scale[:, None], y * scale, bounds=(lowest, highest), method="bvls")
    bends = int(np.sum(solved.x[2:] > 1e-9))  # rounding makes zeros tiny numbers
    return ConcaveCurve(
        corners,
        _design(corners, corners) @ solved.x,
        float(np.sum((scale * (design @ solved.x - y)) ** 2)),
        bends + 1 if len(corners) > 1 else 0,
    )


def _design(x: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the design matrix: a height, a slope, and the decrease behind each inner corner."""
    columns = [np.ones(len(x))]
    if len(corners) > 1:
        columns.append(x - corners[0])
    columns += [-np.maximum(x - corner, 0.0) for corner in corners[1:-1]]
    return np.column_stack(columns)


_TIE: Final = 0.03
"""A load that falls short of the best by no more than this is as good."""
_TIE_AT_MOST: Final = 0.10
"""Largest loss of a tie, for any spread of the values."""
_SUPPOSED_SPREAD: Final = 0.03
"""Prior of the spread, before there are repeats."""
_SUPPOSED_FREEDOM: Final = 2
"""Degrees of freedom of that prior."""
_LEVEL: Final = 0.95
_RAISED_P: Final = 0.001
_RAISED_SHARE: Final = 0.001


@dataclass(frozen=True, slots=True)
class Observation:
    """Observation of one trial."""

    load: int
    value: float
    """Figure to maximise, 0 or more."""
    answers: int = 0
    faults: int = 0
    """Answers that were errors or late."""
    failed: bool = False
    """Whether the trial as a whole failed: such a load is not an option."""
    weight: float = 1.0
    """Above 0, and smaller for a disturbed trial."""

    @property
    def broken(self) -> bool:
        """Whether the load does not work at all: the trial failed, or its value is 0."""
        return self.failed or self.value == 0


def faults_raised(faults: int, answers: int, baseline_faults: int, baseline_answers: int) -> bool:
    """Return whether a load has a larger share of faults than lower loads have, beyond chance.

    Fisher's exact test, one-sided, at 0.1 %, and a difference of at least one answer in 1,000, so that a large sample
    does not make a tiny difference significant. Without answers at lower loads the result is False.

    References
    ----------
    Fisher, Statistical Methods for Research Workers (5th edition 1934), section 21.02.
    """
    if not faults or not answers or not baseline_answers:
        return False
    if faults / answers - baseline_faults / baseline_answers < _RAISED_SHARE:
        return False
    from scipy.stats import hypergeom

    everything, wrong = answers + baseline_answers, faults + baseline_faults
    return float(hypergeom.sf(faults - 1, everything, wrong, answers)) < _RAISED_P


class _Observed:
    """Observations by load. The curve, the best load and the chosen load exist only with a working load.

    A concave curve on logarithmic scales smooths the values of working loads: throughput over concurrency rises, bends
    and may fall, but does not rise again.
    """

    def __init__(self, seen: Iterable[Observation]) -> None:
        self.by_load: dict[int, list[Observation]] = {}
        for observation in sorted(seen, key=lambda one: one.load):
            self.by_load.setdefault(observation.load, []).append(observation)
        self.loads = list(self.by_load)
        self.working: list[int] = []
        """Loads that work and do not have more faults than lower loads."""
        bounds: list[int] = []
        faults = answers = 0
        for load, here in self.by_load.items():
            more, of = sum(one.faults for one in here), sum(one.answers for one in here)
            if any(one.broken for one in here) or faults_raised(more, of, faults, answers):
                if all(one.broken or faults_raised(one.faults, one.answers, faults, answers) for one in here):
                    bounds.append(load)
                continue
            self.working.append(load)
            faults, answers = faults + more, answers + of
        # A load that fails below working ones was disturbed: it does not limit the others.
        above = [load for load in bounds if self.working and load > self.working[-1]]
        self.ceiling = min(above, default=None)
        if self.working:
            self._fit()
            self.best = max(self.working, key=lambda load: (round(self.heights[load], 9), -load))
            self.chosen = next(load for load in self.working if self.as_good(load))

    def _fit(self) -> None:
        """Fit the curve: its logarithmic heights at working loads, and the spread of values around it, with a prior."""
        kept = [one for load in self.working for one in self.by_load[load]]
        x, y, weights = np.array([(math.log(one.load), math.log(one.value), one.weight) for one in kept]).T
        curve = fit_concave(x, y, weights)
        freedom = max(len(kept) - curve.pieces - 1, 0)
        squares = curve.residual + _SUPPOSED_FREEDOM * _SUPPOSED_SPREAD**2
        self.heights = {load: curve.at(math.log(load)) for load in self.working}
        self.spread = math.sqrt(squares / (freedom + _SUPPOSED_FREEDOM))

    def trials(self, load: int) -> int:
        return len(self.by_load[load])

    def as_good(self, load: int) -> bool:
        """Whether a working load is below the best by at most one standard error, within limits."""
        error = self.spread * math.sqrt(1 / self.trials(load) + 1 / self.trials(self.best))
        tie = min(max(_TIE, error), _TIE_AT_MOST)
        return load == self.best or self.heights[load] >= self.heights[self.best] + math.log1p(-tie)

    def slope(self, below: int, above: int) -> float:
        """Return the slope of the curve between two working loads: 1 where twice the load has twice the value."""
        return (self.heights[above] - self.heights[below]) / math.log(above / below)

    def interval(self, load: int) -> Interval | None:
        """Return Student's interval of the geometric mean of a load's values; None without any repeats.

        Its spread is estimated from the repeats of all loads, as the same share at every load.
        """
        logs = {
            load: np.log([one.value for one in here])
            for load, here in self.by_load.items()
            if not any(one.broken for one in here)
        }
        freedom = sum(len(values) - 1 for values in logs.values())
        if load not in logs or freedom == 0:
            return None
        variance = sum(float(np.sum((values - values.mean()) ** 2)) for values in logs.values()) / freedom
        middle = float(logs[load].mean())
        half = two_sided_quantile(_LEVEL, freedom) * math.sqrt(variance / len(logs[load]))
        return Interval(math.exp(middle), math.exp(middle - half), math.exp(min(middle + half, 700.0)), _LEVEL)

    def neighbours(self, load: int) -> tuple[int | None, int | None]:
        """Return the tried loads next to a load, working or not; None at the ends."""
        padded = [None, *self.loads, None]
        place = padded.index(load)
        return padded[place - 1], padded[place + 1]

    def point(self, load: int) -> "Point":
        here = self.by_load[load]
        broken = any(one.broken for one in here)
        value = 0.0 if broken else math.exp(float(np.mean(np.log([one.value for one in here]))))
        if broken:
            standing = Standing.FAILED
        elif load not in self.working:
            standing = Standing.RAISES_FAULTS
        elif load == self.chosen:
            standing = Standing.CHOSEN
        else:
            standing = Standing.TIE if self.as_good(load) else Standing.WORSE
        answers, faults = sum(one.answers for one in here), sum(one.faults for one in here)
        return Point(load, len(here), value, self.interval(load), answers, faults, standing)


_LADDER: Final = 4
"""Factor from one load to the next while the search climbs."""
_BELOW_START: Final = _LADDER**2
"""Ratio of the load that is known to work to the first one."""
_GAP: Final = 1.5
"""Largest ratio of two loads without a trial between them."""
_LITTLE_GAIN: Final = 0.05
"""Largest gain of the last step of the ladder: on a concave curve the next step gains less."""
_REPEATS: Final = 3
"""Trials of the chosen load; its neighbours get one less."""


class Reason(StrEnum):
    """Reason for trying a load."""

    FIRST = "a first trial, far below the usual load"
    HIGHER = "more may be better"
    LOWER = "less may do"
    BETWEEN = "the best may lie between"
    AGAIN = "again, to see how much it varies"
    CHANCE = "again, to see whether the failure was chance"


class Standing(StrEnum):
    """Standing of one load among the others."""

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
    """Summary of one load."""

    load: int
    trials: int
    value: float
    """Geometric mean of its values; 0 if one of them is 0."""
    interval: Interval | None
    """Interval of that mean, from the spread of all repeats; None without repeats, or if the load is broken."""
    answers: int
    faults: int
    standing: Standing


def summarise_loads(seen: Iterable[Observation]) -> tuple[Point, ...]:
    """Summarise what was observed, at any time of a search: a point for each load, in their order.

    The smallest load that is as good as the best one is ``CHOSEN``; none if no load works.
    """
    known = _Observed(seen)
    return tuple(map(known.point, known.loads))


@dataclass(frozen=True, slots=True)
class OptimumSearch:
    """Search for the smallest load that is as good as the best one, without more faults than lower loads.

    It climbs from far below ``start`` by factors of four until a step gains little or raises faults; halves the gaps
    around the best, on a logarithmic scale; and repeats loads near it, to see how much they vary. A load is as good
    as the best when it falls short by no more than 3 %, or than one standard error of their difference.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), section 3.4.3: the simplest choice
    within one standard error. Kiefer, Sequential minimax search for a maximum, Proceedings of the American Mathematical
    Society 4 (1953): unimodal functions.
    """

    start: int
    """A load that is known to work."""
    high: int = 1024
    budget: int = 12
    """Trials at most."""

    def next(self, seen: Sequence[Observation]) -> Step | None:
        """Return the next trial; None if the result is certain enough, or the budget is used up."""
        if len(seen) >= self.budget:
            return None
        if not seen:
            return Step(max(1, round(self.start / _BELOW_START)), Reason.FIRST)
        known = _Observed(seen)
        if not known.working:
            return self._look_around(known)
        left = self.budget - len(seen)
        return self._climb(known) or (self._narrow(known) if left > _REPEATS else None) or self._repeat(known)

    def _look_around(self, known: _Observed) -> Step | None:
        """Return the next load while none works: below, then above, up to the load that is known to work."""
        lowest, highest = known.loads[0], known.loads[-1]
        if lowest > 1:
            return Step(self._below(lowest), Reason.LOWER)
        return Step(min(self._above(highest), self.start), Reason.HIGHER) if highest < self.start else None

    def _climb(self, known: _Observed) -> Step | None:
        lowest, top = known.working[0], known.working[-1]
        if len(known.loads) > 1 and known.chosen == lowest == known.loads[0] and lowest > 1:
            return Step(self._below(lowest), Reason.LOWER)
        if len(known.working) > 1 and known.slope(known.working[-2], top) * math.log(_LADDER) <= _LITTLE_GAIN:
            return None
        highest = known.loads[-1]
        if known.ceiling is not None:
            # A single failure by chance would hide all higher loads.
            once = known.ceiling == highest and known.trials(highest) == 1
            return Step(highest, Reason.CHANCE) if once else None
        return Step(self._above(highest), Reason.HIGHER) if highest < self.high else None

    def _narrow(self, known: _Observed) -> Step | None:
        below, above = known.neighbours(known.chosen)
        sides = [(below, known.chosen)] if below else []
        # With its slope at the chosen load, the curve must rise clearly half-way to the next load.
        if above and (
            below not in known.working or known.slope(below, known.chosen) * math.log(above / known.chosen) / 2 > _TIE
        ):
            sides.insert(0, (known.chosen, above))
        wide = [(low, high) for low, high in sides if high > low * _GAP and high - low > 1]
        if not wide:
            return None
        low, high = max(wide, key=lambda side: side[1] / side[0])
        return Step(round(math.sqrt(low * high)), Reason.BETWEEN)

    def _repeat(self, known: _Observed) -> Step | None:
        wanted = {known.chosen: _REPEATS}
        for load in (known.best, *known.neighbours(known.chosen)):
            if load in known.working:
                wanted.setdefault(load, _REPEATS - 1)
        lacking = {load: count - known.trials(load) for load, count in wanted.items()}
        most = max(lacking, key=lambda load: lacking[load])
        if lacking[most] > 0:
            return Step(most, Reason.AGAIN)
        doubt = 2 * known.spread / math.sqrt(known.trials(known.chosen))
        return Step(min(wanted, key=known.trials), Reason.AGAIN) if doubt > _TIE else None

    def _below(self, load: int) -> int:
        return max(1, min(load - 1, round(load / _LADDER)))

    def _above(self, load: int) -> int:
        """Return the next rung: rungs are the start times powers of four."""
        rung = self.start / _BELOW_START
        while rung <= load * _GAP:
            rung *= _LADDER
        return min(max(round(rung), load + 1), self.high)
