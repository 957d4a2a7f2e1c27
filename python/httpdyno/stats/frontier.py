"""The search for a frontier: the highest load that holds in each of several columns, each harder than the last."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from httpdyno.errors import InvalidValue
from httpdyno.stats.boundary import Check, holding_chances, likelihood
from httpdyno.stats.summary import FloatArray

_PLACES: Final = 4
"""Places between two loads at which the boundary may lie: one next to a load tells of trials that go either way."""
_END: Final = 0.1
"""The chance that everything holds in a column of which nothing is known yet, and that nothing does."""
_STAYS: Final = (0.1, 0.5, 0.9, 0.99)
"""How often the boundary is the same in the next column; unknown, so all are equally likely beforehand."""
_WIDTHS: Final = (0.003, 0.03)
"""How wide the stretch may be in which trials go one way or the other: standard deviations of the logarithm."""
_WIDTH_CHANCES: Final = (0.95, 0.05)
_LAPSE: Final = 0.005
"""The chance that a trial which left no doubt goes the wrong way: those that were disturbed say so and are in doubt."""


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """Whether a criterion held in one trial of a column."""

    column: int
    """From 0, the easiest."""
    check: Check


@dataclass(frozen=True)
class Staircase:
    """A hidden Markov chain over the columns, from the easiest to the hardest; its state is the place of the boundary.

    From one column to the next the boundary stays where it is, or falls to any lower place; that it rises has a small
    chance, so that trials can say it. How often it stays and how sharp the boundary is are the same for all columns and
    learned with it.

    References
    ----------
    Rabiner, A tutorial on hidden Markov models, Proceedings of the IEEE 77 (1989), section III: forward and backward.
    """

    loads: tuple[float, ...]
    """That can be tried, ascending, each above 0."""
    columns: int
    rise: float
    """The chance that the boundary is higher in the next, harder column."""

    @cached_property
    def places(self) -> FloatArray:
        """Where the boundary may lie, as logarithms: as many places below and above all loads as between two."""
        loads = np.log(np.asarray(self.loads))
        first, last = (loads[1] - loads[0], loads[-1] - loads[-2]) if len(loads) > 1 else (math.log(2), math.log(2))
        edges = np.concatenate(([loads[0] - first], loads, [loads[-1] + last]))
        shares = (np.arange(_PLACES) + 0.5) / _PLACES
        inside = edges[:-1, np.newaxis] + np.diff(edges)[:, np.newaxis] * shares
        return np.asarray(inside.reshape(-1), dtype=np.float64)

    @cached_property
    def holding(self) -> FloatArray:
        """Chance that a trial holds, of shape (widths, loads, places)."""
        each = [holding_chances(self.places, load, widths=_WIDTHS) for load in self.loads]
        return np.asarray(_LAPSE + (1 - 2 * _LAPSE) * np.stack(each, axis=1), dtype=np.float64)

    def chances(self, seen: Sequence[ColumnCheck]) -> FloatArray:
        """Return the chance of each width and place, in each column.

        Returns
        -------
        FloatArray
            Shape (columns, widths, places); each column sums to 1.
        """
        likely = np.stack(
            [
                likelihood(
                    self.places, [one.check for one in seen if one.column == column], widths=_WIDTHS, lapse=_LAPSE
                )
                for column in range(self.columns)
            ]
        )
        forward = self._forward(likely)
        backward = np.ones_like(forward[0])
        chances = [_normal(forward[-1])]
        for column in reversed(range(self.columns - 1)):
            backward = self._back(likely[column + 1] * backward)
            backward /= backward.max()
            chances.append(_normal(forward[column] * backward))
        return np.asarray(np.stack(chances[::-1]).sum(axis=1), dtype=np.float64)

    def cells(self, chances: FloatArray) -> FloatArray:
        """Return the chance that the lowest n loads hold and no others, for each n; shape (columns, loads + 1)."""
        each = chances.sum(axis=1).reshape(self.columns, len(self.loads) + 1, _PLACES)
        return np.asarray(each.sum(axis=2), dtype=np.float64)

    @property
    def _beforehand(self) -> FloatArray:
        count = len(self.places)
        chances = np.full(count, (1 - 2 * _END) / count)
        chances[:_PLACES] += _END / _PLACES
        chances[-_PLACES:] += _END / _PLACES
        return chances

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Transition weights from each place: to the same one, to each lower and to each higher one."""
        stays = np.asarray(_STAYS)[:, np.newaxis, np.newaxis]
        above = np.arange(len(self.places))[::-1]
        return (
            (1 - self.rise) * stays,
            (1 - self.rise) * (1 - stays),
            1 / (np.arange(len(self.places)) + 1.0),
            np.divide(self.rise, above, out=np.zeros(len(above)), where=above > 0),
        )

    def _forward(self, likely: FloatArray) -> list[FloatArray]:
        stay, fall, lower, higher = self._weights
        widths = np.asarray(_WIDTH_CHANCES)[:, np.newaxis]
        here = _normal(np.broadcast_to(self._beforehand * widths * likely[0], (len(_STAYS), *likely[0].shape)))
        chances = [here]
        for column in range(1, self.columns):
            falling, rising = here * lower, here * higher
            from_above = np.cumsum(falling[..., ::-1], axis=-1)[..., ::-1]
            from_below = np.cumsum(rising, axis=-1) - rising
            here = _normal((stay * here + fall * from_above + from_below) * likely[column])
            chances.append(here)
        return chances

    def _back(self, ahead: FloatArray) -> FloatArray:
        stay, fall, lower, higher = self._weights
        up_to = np.cumsum(ahead, axis=-1)
        return np.asarray(stay * ahead + fall * lower * up_to + higher * (up_to[..., -1:] - up_to))


def _normal(chances: FloatArray) -> FloatArray:
    return np.asarray(chances / chances.sum(), dtype=np.float64)


_SURE: Final = 0.9
"""Hysteresis: a load holds from this chance on, and fails from this chance on; what lies between is tried again."""
_REPEATS: Final = 5
"""Trials of one point at most: where it goes either way even then, that is what there is to say."""
_NOTHING: Final = 1e-3
"""A trial that is expected to tell less, in nats, is not made."""
_CONFIRMED: Final = 2
"""How many more trials must say so than not, before an answer that contradicts others is believed."""
_NO_VOTE: Final = 0.4
"""A trial in so much doubt says nothing against others."""
_PATIENCE: Final = 3
"""Trials in so much doubt that a point gets before the walk goes on without it."""
_CERTAIN: Final = 3
"""What needs no trial counts like so many that agree."""
_RISE: Final = 0.0005
_RISE_UNTRUSTED: Final = 0.2
"""The chance that the boundary is higher in a harder column, where the order of columns is in doubt or was refuted."""


@dataclass(frozen=True, slots=True)
class FrontierStep:
    """The next trial of a search."""

    column: int
    load: float


@dataclass(frozen=True, slots=True)
class ColumnBoundary:
    """Boundary of a criterion in one column."""

    held: float | None
    """The highest load that holds, more likely than any other; None: none does."""
    holds_up_to: float | None
    """The highest load that surely holds; None: of none that is sure."""
    fails_from: float | None
    """The lowest load that surely fails; None: of none that is sure."""
    level: float
    """The chance that the boundary lies between those two."""
    trials: int
    """Made in this column: others may have been of more use."""
    doubtful: bool
    """Whether a load lies between those that certainly hold and those that certainly fail."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A load that failed although one as high held in a harder column; repeats of both agreed."""

    failed: FrontierStep
    held: FrontierStep


@dataclass(frozen=True, slots=True)
class FrontierSearch:
    """Search for the highest load that holds in each column, with trials that are random near the boundary.

    What held in a harder column holds in an easier one, and what failed in an easier one fails in a harder one. A walk
    along the staircase, from the lowest load in the hardest column, makes a trial on either side of each of its steps.
    Then all answers together are weighed: those in doubt, and those that contradict each other, leave columns of which
    the boundary is not sure, and the trial that tells most of it (the largest mutual information of its answer and the
    boundary) is made until it is.

    Raises
    ------
    InvalidValue
        If there is no load, loads do not ascend or are not above 0, or there is no column or budget.

    References
    ----------
    Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM Journal on Control and Optimization 51
    (2013). Lindley, On a measure of the information provided by an experiment, Annals of Mathematical Statistics 27
    (1956). Gries, The Science of Programming (1981), exercise on saddleback search: n + m - 1 questions for n x m.
    """

    loads: tuple[float, ...]
    """That can be tried."""
    columns: int
    """Column 0 is the easiest, the last one the hardest."""
    budget: int
    """Trials at most."""
    trusted: bool = True
    """Whether the order of the columns is beyond doubt; if not, a column is not judged by its neighbours alone."""
    known: tuple[ColumnCheck, ...] = ()
    """What needs no trial to be known; it counts as if it had been seen, but not in the budget."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a range that cannot be searched."""
        ascending = all(low < high for low, high in zip(self.loads, self.loads[1:], strict=False))
        if not self.loads or not ascending or not self.loads[0] > 0 or self.columns < 1 or self.budget < 1:
            raise InvalidValue(
                f"frontier: {len(self.loads)} loads in {self.columns} columns in {self.budget} trials cannot be"
            )

    def next(self, seen: Sequence[ColumnCheck]) -> FrontierStep | None:
        """Return the next trial; None when every column is certain, or no trial would tell more."""
        if len(seen) >= self.budget:
            return None
        seen = self._with_known(seen)
        planned = self._walk(seen) or self._dispute(seen)
        if planned is not None:
            return planned
        staircase = self._staircase(seen)
        chances = staircase.chances(seen)
        if staircase.cells(chances).max(axis=1).min() >= _SURE:
            return None
        gain = _information(staircase, chances)
        for step, trials in _trials(seen).items():
            if trials >= _REPEATS:
                gain[step.column, self._index(step.load)] = 0
        for one in self.known:
            gain[one.column, self._index(one.check.load)] = 0
        column, load = divmod(int(gain.argmax()), len(self.loads))
        return FrontierStep(column, self.loads[load]) if gain[column, load] > _NOTHING else None

    def conclude(self, seen: Sequence[ColumnCheck]) -> tuple[ColumnBoundary, ...]:
        """Return the boundary of each column, at any time of the search."""
        tried = Counter(one.column for one in seen)
        seen = self._with_known(seen)
        staircase = self._staircase(seen)
        cells = staircase.cells(staircase.chances(seen))
        return tuple(self._boundary(column, cells[column], seen, tried[column]) for column in range(self.columns))

    def exhausted(self, seen: Sequence[ColumnCheck]) -> bool:
        """Return whether the budget ended the search."""
        return len(seen) >= self.budget and replace(self, budget=len(seen) + 1).next(seen) is not None

    def contradictions(self, seen: Sequence[ColumnCheck]) -> tuple[Contradiction, ...]:
        """Return repeated contradictions of the order of the columns; empty for a staircase.

        Of each pair of columns only the loads that are the furthest apart.
        """
        votes = _votes(self._with_known(seen))
        sure = {step: majority for step, majority in votes.items() if abs(majority) >= _CONFIRMED}
        return _contradictions(sure)

    def _with_known(self, seen: Sequence[ColumnCheck]) -> list[ColumnCheck]:
        return [*self.known * _CERTAIN, *seen]

    def _staircase(self, seen: Sequence[ColumnCheck]) -> Staircase:
        consistent = self.trusted and not self.contradictions(seen)
        return Staircase(self.loads, self.columns, _RISE if consistent else _RISE_UNTRUSTED)

    def _dispute(self, seen: Sequence[ColumnCheck]) -> FrontierStep | None:
        """Return a repeat of a contradicting trial, until one of the two changes or both are confirmed."""
        if self.contradictions(seen):
            return None
        votes = _votes(seen)
        trials = _trials(seen)
        sides = [step for pair in _contradictions(votes) for step in (pair.failed, pair.held)]
        unsure = [step for step in sides if abs(votes[step]) < _CONFIRMED and trials[step] < _REPEATS]
        return min(unsure, key=lambda step: trials[step], default=None)

    def _index(self, load: float) -> int:
        return min(range(len(self.loads)), key=lambda index: abs(self.loads[index] - load))

    def _walk(self, seen: Sequence[ColumnCheck]) -> FrontierStep | None:
        """Return the next point along the staircase; None when each point was tried or follows from one that was."""
        open_ = np.ones((self.columns, len(self.loads)), dtype=np.bool_)
        trials = _trials(seen)
        for one in seen:
            load = self._index(one.check.load)
            if one.check.error_chance >= _NO_VOTE and trials[FrontierStep(one.column, one.check.load)] < _PATIENCE:
                continue
            if one.check.held:
                open_[: one.column + 1, : load + 1] = False
            else:
                open_[one.column :, load:] = False
        if not open_.any():
            return None
        column = int(np.flatnonzero(open_.any(axis=1))[-1])
        load = int(np.flatnonzero(open_[column])[0])
        up, along = _stride(open_, column, load)
        return (
            FrontierStep(column, self.loads[load + up])
            if up >= along
            else FrontierStep(column - along, self.loads[load])
        )

    def _boundary(self, column: int, cells: FloatArray, seen: Sequence[ColumnCheck], trials: int) -> ColumnBoundary:
        """Return the boundary of a column from its chances, limited to loads that trials cover."""
        votes = _votes(seen)
        held = [self._index(at.load) + 1 for at, majority in votes.items() if majority > 0 and at.column >= column]
        failed = [self._index(at.load) for at, majority in votes.items() if majority < 0 and at.column <= column]
        seen_to_hold, seen_to_fail = max(held, default=0), min(failed, default=len(self.loads))
        low = high = int(cells.argmax())
        holds = min(low, seen_to_hold)
        while cells[low : high + 1].sum() < _SURE:
            below = cells[low - 1] if low > 0 else -1.0
            above = cells[high + 1] if high + 1 < len(cells) else -1.0
            low, high = (low - 1, high) if below > above else (low, high + 1)
        low = min(low, seen_to_hold)
        high = max(high, seen_to_fail) if seen_to_fail < len(self.loads) else len(self.loads)
        return ColumnBoundary(
            held=self.loads[holds - 1] if holds else None,
            holds_up_to=self.loads[low - 1] if low else None,
            fails_from=self.loads[high] if high < len(self.loads) else None,
            level=min(float(cells[low : high + 1].sum()), math.nextafter(1, 0)),
            trials=trials,
            doubtful=high > low,
        )


def _information(staircase: Staircase, chances: FloatArray) -> FloatArray:
    """Return the expected information of a trial at each point, in nats; shape (columns, loads)."""
    holding = staircase.holding
    expected = np.einsum("cwp,wlp->cl", chances, holding)
    gain = _entropy(expected) - np.einsum("cwp,wlp->cl", chances, _entropy(holding))
    # Rounded, so that equals are equal on every machine: the first of them is taken.
    return np.asarray(np.round(gain, 9), dtype=np.float64)


def _trials(seen: Sequence[ColumnCheck]) -> Counter[FrontierStep]:
    """Count the trials of each point."""
    return Counter(FrontierStep(one.column, one.check.load) for one in seen)


def _votes(seen: Sequence[ColumnCheck]) -> Counter[FrontierStep]:
    """Count for each point how many more trials held than failed; undecided trials do not count."""
    votes: Counter[FrontierStep] = Counter()
    for one in seen:
        if one.check.error_chance < _NO_VOTE:
            votes[FrontierStep(one.column, one.check.load)] += 1 if one.check.held else -1
    return votes


def _contradictions(votes: Mapping[FrontierStep, int]) -> tuple[Contradiction, ...]:
    held = sorted((step for step, majority in votes.items() if majority > 0), key=lambda step: -step.load)
    failed = sorted((step for step, majority in votes.items() if majority < 0), key=lambda step: step.load)
    found: dict[tuple[int, int], Contradiction] = {}
    for low in failed:
        for high in held:
            if high.column >= low.column and high.load >= low.load:
                found.setdefault((low.column, high.column), Contradiction(low, high))
    return tuple(found[columns] for columns in sorted(found))


def _entropy(chance: FloatArray) -> FloatArray:
    """Entropy of an answer that is yes with a chance between 0 and 1, in nats."""
    return np.asarray(-(chance * np.log(chance) + (1 - chance) * np.log1p(-chance)), dtype=np.float64)


def _stride(open_: NDArray[np.bool_], column: int, load: int) -> tuple[int, int]:
    """Return the stride of the walk, up the loads or along the columns.

    Where there are many more loads than columns, the boundary climbs several of them from one column to the next, and
    the loads that are left in a column are divided by the columns that have yet to share them; likewise the other way.
    """
    loads = np.flatnonzero(open_[column])
    columns = np.flatnonzero(open_[:, load])
    sharing_loads = int(open_[: column + 1, loads[-1]].sum())
    sharing_columns = int(open_[columns[0], load:].sum())
    return (len(loads) - 1) // (sharing_loads + 1), (len(columns) - 1) // (sharing_columns + 1)
