"""What trials say of a boundary that moves one way: one place for each column, none lower than that of a harder one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from httpdyno.stats.arrays import FloatArray
from httpdyno.stats.boundary import Check, holding_chances, likelihood

__all__ = ["ColumnCheck", "Staircase"]

_PLACES: Final = 4
"""Places between two loads at which the boundary may lie: one next to a load tells of trials that go either way."""
_END: Final = 0.1
"""The chance that everything holds in a column of which nothing is known yet, and that nothing does."""
_STAYS: Final = (0.1, 0.5, 0.9, 0.99)
"""How often the boundary may be the same in the next column: nobody knows, so each is as likely beforehand."""
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
    """A hidden Markov chain over the columns, from the easiest to the hardest, whose state is where the boundary lies.

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
        """How much goes to the same place, down, to each lower place and to each higher one, from each place."""
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
