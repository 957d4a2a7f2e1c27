"""Search for a frontier: the highest load that holds in each of several columns, from the easiest to the hardest."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from httpdyno.stats.summary import FloatArray

_PLACES: Final = 4
"""Possible places of the boundary between two loads; trials near the boundary may hold or fail."""
_END: Final = 0.1
"""Chance that all loads hold in a column without trials, and chance that none does."""
_STAYS: Final = (0.1, 0.5, 0.9, 0.99)
"""Chances that the boundary stays in the next column; unknown, so all are equally likely at first."""
_WIDTHS: Final = (0.003, 0.03)
"""Possible widths of the transition: standard deviations of the logarithm of the load."""
_WIDTH_CHANCES: Final = (0.95, 0.05)
_LAPSE: Final = 0.005
"""Chance that an undisturbed trial has the wrong result; disturbed trials have their own chance."""


@dataclass(frozen=True, slots=True)
class FrontierStep:
    """A point that a search tries."""

    column: int
    """From 0, the easiest."""
    load: int


@dataclass(frozen=True, slots=True)
class FrontierCheck:
    """Whether a criterion held in one trial at a point."""

    step: FrontierStep
    held: bool
    error_chance: float = 0.0
    """Chance that a repetition has the other result, from 0 to 1/2 (no information)."""


def holding_chances(places: FloatArray, load: float) -> FloatArray:
    """Return the chance that a criterion holds at a load: shape (widths, places).

    It is the cumulative normal distribution of the distance from the boundary, the only cause of failures.
    ``places`` are the logarithms of loads where the boundary may lie.
    """
    from scipy.special import ndtr

    distance = places - math.log(load)
    return np.asarray(ndtr(distance / np.asarray(_WIDTHS)[:, np.newaxis]), dtype=np.float64)


def likelihood(places: FloatArray, checks: Iterable[FrontierCheck], offset: int = 0) -> FloatArray:
    """Return the likelihood of all checks together: shape (widths, places), 1 everywhere without a check.

    ``offset`` is added to each load.

    References
    ----------
    Kontsevich and Tyler, Bayesian adaptive estimation of psychometric slope and threshold, Vision Research 39 (1999).
    """
    likely = np.ones((len(_WIDTHS), len(places)))
    for check in checks:
        wrong = max(_LAPSE, check.error_chance)
        holds = wrong + (1 - 2 * wrong) * holding_chances(places, check.step.load + offset)
        likely *= holds if check.held else 1 - holds
    return likely


def _places(loads: FloatArray) -> FloatArray:
    """Return logarithms of possible boundaries: as many below and above all loads as between two."""
    logs = np.log(loads)
    first, last = (logs[1] - logs[0], logs[-1] - logs[-2]) if len(logs) > 1 else (math.log(2), math.log(2))
    edges = np.concatenate(([logs[0] - first], logs, [logs[-1] + last]))
    shares = (np.arange(_PLACES) + 0.5) / _PLACES
    inside = edges[:-1, np.newaxis] + np.diff(edges)[:, np.newaxis] * shares
    return np.asarray(inside.reshape(-1), dtype=np.float64)


def _chances(places: FloatArray, rise: float, likely: FloatArray) -> FloatArray:
    """Return the chance of each width and place in each column, as the likelihoods are: 1 in each column.

    ``likely`` has the likelihood of the trials of each column: shape (columns, widths, places).

    A hidden Markov chain over the columns, from the easiest to the hardest; its state is the place of the boundary.
    From one column to the next the boundary stays, falls to any lower place, or rises with a small chance (``rise``),
    so that trials can show it. Its chance to stay and its width are the same for all columns, and estimated with it.

    References
    ----------
    Rabiner, A tutorial on hidden Markov models, Proceedings of the IEEE 77 (1989), section III: forward and backward.
    """
    columns, count = len(likely), len(places)
    # Transition weights from each place: to the same one, to each lower and to each higher one.
    stays = np.asarray(_STAYS)[:, np.newaxis, np.newaxis]
    stay, fall = (1 - rise) * stays, (1 - rise) * (1 - stays)
    above = np.arange(count)[::-1]
    lower, higher = 1 / (np.arange(count) + 1.0), np.divide(rise, above, out=np.zeros(count), where=above > 0)

    beforehand = np.full(count, (1 - 2 * _END) / count)
    beforehand[:_PLACES] += _END / _PLACES
    beforehand[-_PLACES:] += _END / _PLACES
    widths = np.asarray(_WIDTH_CHANCES)[:, np.newaxis]
    here = _normal(np.broadcast_to(beforehand * widths * likely[0], (len(_STAYS), *likely[0].shape)))
    forward = [here]
    for column in range(1, columns):
        falling, rising = here * lower, here * higher
        from_above = np.cumsum(falling[..., ::-1], axis=-1)[..., ::-1]
        from_below = np.cumsum(rising, axis=-1) - rising
        here = _normal((stay * here + fall * from_above + from_below) * likely[column])
        forward.append(here)

    backward = np.ones_like(here)
    chances = [_normal(here)]
    for column in reversed(range(columns - 1)):
        ahead = likely[column + 1] * backward
        up_to = np.cumsum(ahead, axis=-1)
        backward = stay * ahead + fall * lower * up_to + higher * (up_to[..., -1:] - up_to)
        backward /= backward.max()
        chances.append(_normal(forward[column] * backward))
    return np.asarray(np.stack(chances[::-1]).sum(axis=1), dtype=np.float64)


def _cells(chances: FloatArray) -> FloatArray:
    """Return the chance that the lowest n loads hold and no others, for each n; shape (columns, loads + 1)."""
    of_places = chances.sum(axis=1)
    return np.asarray(of_places.reshape(len(of_places), -1, _PLACES).sum(axis=2), dtype=np.float64)


def _normal(chances: FloatArray) -> FloatArray:
    return np.asarray(chances / chances.sum(), dtype=np.float64)


_SURE: Final = 0.9
"""Chance from which a load holds or fails; loads in between are tried again."""
_REPEATS: Final = 5
"""Most trials of one point."""
_NOTHING: Final = 1e-3
"""Least expected information of a trial, in nats."""
_CONFIRMED: Final = 2
"""Majority of trials that confirms a contradicting result."""
_NO_VOTE: Final = 0.4
"""Chance of an error from which a trial does not contradict others."""
_PATIENCE: Final = 3
"""Trials with such a chance of error before the walk leaves a point."""
_CERTAIN: Final = 3
"""Weight of a known result, in agreeing trials."""
_RISE: Final = 0.0005
_RISE_UNTRUSTED: Final = 0.2
"""Chance that the boundary is higher in a harder column, if the order of columns is uncertain or refuted."""


@dataclass(frozen=True, slots=True)
class ColumnBoundary:
    """Boundary of a criterion in one column."""

    held: int | None
    """The load that is most likely the highest that holds; None: no load holds."""
    holds_up_to: int | None
    """The highest load that surely holds; None without one."""
    fails_from: int | None
    """The lowest load that surely fails; None without one."""
    doubtful: bool
    """Whether there are loads between those that surely hold and those that surely fail."""

    @property
    def reached(self) -> int | None:
        """The most likely highest load that holds; if no load surely fails, the highest that surely holds.

        If no load fails, the most likely boundary lies beyond all measured loads and must not be claimed.
        """
        return self.holds_up_to if self.fails_from is None else self.held


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A load that repeatedly failed, although one at least as high repeatedly held in a harder column."""

    failed: FrontierStep
    held: FrontierStep


@dataclass(frozen=True, slots=True)
class FrontierSearch:
    """Search for the highest load that holds in each column, with trials that are random near the boundary.

    A load that holds in a column holds in easier ones, and one that fails fails in harder ones. A walk along the
    staircase, from the lowest load in the hardest column, makes a trial on both sides of each step. Then all results
    are weighed together. While doubtful or contradictory results leave the boundary of a column uncertain, the trial
    with the largest mutual information of its result and the boundary is next.

    References
    ----------
    Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM Journal on Control and Optimization 51
    (2013). Lindley, On a measure of the information provided by an experiment, Annals of Mathematical Statistics 27
    (1956). Gries, The Science of Programming (1981), exercise on saddleback search: n + m - 1 questions for n x m.
    """

    loads: tuple[int, ...]
    """Loads to try, ascending; above 0 with the offset."""
    columns: int
    """Column 0 is the easiest, the last one the hardest."""
    budget: int
    """Trials at most."""
    trusted: bool = True
    """Whether the order of the columns is certain; if not, results of neighbouring columns do not decide a column."""
    known: tuple[FrontierCheck, ...] = ()
    """Results that need no trial; they do not count in the budget."""
    offset: int = 0
    """Added to each load for its logarithm."""

    def next(self, seen: Sequence[FrontierCheck]) -> FrontierStep | None:
        """Return the next trial; None if every column is certain, or no trial has enough information."""
        if len(seen) >= self.budget:
            return None
        seen = self._with_known(seen)
        planned = self._walk(seen) or self._dispute(seen)
        if planned is not None:
            return planned
        chances = self._chances(seen)
        if _cells(chances).max(axis=1).min() >= _SURE:
            return None
        gain = self._information(chances)
        for step, trials in Counter(one.step for one in seen).items():
            if trials >= _REPEATS:
                gain[step.column, self.loads.index(step.load)] = 0
        for one in self.known:
            gain[one.step.column, self.loads.index(one.step.load)] = 0
        column, load = divmod(int(gain.argmax()), len(self.loads))
        return FrontierStep(column, self.loads[load]) if gain[column, load] > _NOTHING else None

    def conclude(self, seen: Sequence[FrontierCheck]) -> tuple[ColumnBoundary, ...]:
        """Return the boundary of each column, at any time of the search."""
        seen = self._with_known(seen)
        cells, votes = _cells(self._chances(seen)), _votes(seen)
        return tuple(self._boundary(column, cells[column], votes) for column in range(self.columns))

    def exhausted(self, seen: Sequence[FrontierCheck]) -> bool:
        """Return whether the budget ended the search."""
        return len(seen) >= self.budget and replace(self, budget=len(seen) + 1).next(seen) is not None

    def contradictions(self, seen: Sequence[FrontierCheck]) -> tuple[Contradiction, ...]:
        """Return repeated contradictions of the order of the columns, for each pair the most distant loads."""
        votes = _votes(self._with_known(seen))
        return _contradictions({step: majority for step, majority in votes.items() if abs(majority) >= _CONFIRMED})

    def _with_known(self, seen: Sequence[FrontierCheck]) -> list[FrontierCheck]:
        return [*self.known * _CERTAIN, *seen]

    def _chances(self, seen: Sequence[FrontierCheck]) -> FloatArray:
        consistent, places = self.trusted and not self.contradictions(seen), self._places
        of_columns = ([one for one in seen if one.step.column == column] for column in range(self.columns))
        likely = np.stack([likelihood(places, checks, self.offset) for checks in of_columns])
        return _chances(places, _RISE if consistent else _RISE_UNTRUSTED, likely)

    @property
    def _places(self) -> FloatArray:
        return _places(np.asarray(self.loads, dtype=np.float64) + self.offset)

    def _information(self, chances: FloatArray) -> FloatArray:
        """Return the expected information of a trial at each point, in nats; shape (columns, loads)."""
        held = np.stack([holding_chances(self._places, load + self.offset) for load in self.loads], axis=1)
        holding = _LAPSE + (1 - 2 * _LAPSE) * held
        expected = np.einsum("cwp,wlp->cl", chances, holding)
        gain = _entropy(expected) - np.einsum("cwp,wlp->cl", chances, _entropy(holding))
        # Rounded, so that equal values are equal on every machine: the first one is chosen.
        return np.asarray(np.round(gain, 9), dtype=np.float64)

    def _dispute(self, seen: Sequence[FrontierCheck]) -> FrontierStep | None:
        """Return a repeat of a contradicting trial, until one of the two changes or both are confirmed."""
        if self.contradictions(seen):
            return None
        votes = _votes(seen)
        trials = Counter(one.step for one in seen)
        sides = [step for pair in _contradictions(votes) for step in (pair.failed, pair.held)]
        unsure = [step for step in sides if abs(votes[step]) < _CONFIRMED and trials[step] < _REPEATS]
        return min(unsure, key=lambda step: trials[step], default=None)

    def _walk(self, seen: Sequence[FrontierCheck]) -> FrontierStep | None:
        """Return the next point along the staircase; None if each point was tried or follows from another."""
        open_ = np.ones((self.columns, len(self.loads)), dtype=np.bool_)
        trials = Counter(one.step for one in seen)
        for one in seen:
            column, load = one.step.column, self.loads.index(one.step.load)
            if one.error_chance >= _NO_VOTE and trials[one.step] < _PATIENCE:
                continue
            if one.held:
                open_[: column + 1, : load + 1] = False
            else:
                open_[column:, load:] = False
        if not open_.any():
            return None
        column = int(np.flatnonzero(open_.any(axis=1))[-1])
        load = int(np.flatnonzero(open_[column])[0])
        # With many more loads than columns, the boundary climbs several loads from one column to the next: the open
        # loads of a column are divided by the open columns that share them. With many more columns than loads it is the
        # reverse.
        loads, columns = np.flatnonzero(open_[column]), np.flatnonzero(open_[:, load])
        up = (len(loads) - 1) // (int(open_[: column + 1, loads[-1]].sum()) + 1)
        along = (len(columns) - 1) // (int(open_[columns[0], load:].sum()) + 1)
        if up >= along:
            return FrontierStep(column, self.loads[load + up])
        return FrontierStep(column - along, self.loads[load])

    def _boundary(self, column: int, cells: FloatArray, votes: Mapping[FrontierStep, int]) -> ColumnBoundary:
        """Return the boundary of a column from its chances, limited to loads that trials cover."""
        held = [self.loads.index(at.load) + 1 for at, majority in votes.items() if majority > 0 and at.column >= column]
        failed = [self.loads.index(at.load) for at, majority in votes.items() if majority < 0 and at.column <= column]
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
            doubtful=high > low,
        )


def _votes(seen: Sequence[FrontierCheck]) -> Counter[FrontierStep]:
    """Count for each point how many more trials held than failed; undecided trials do not count."""
    votes: Counter[FrontierStep] = Counter()
    for one in seen:
        if one.error_chance < _NO_VOTE:
            votes[one.step] += 1 if one.held else -1
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
