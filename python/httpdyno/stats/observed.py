"""What trials have shown of the loads they ran at: which of them work, and the curve that runs through their values."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.model import Interval
from httpdyno.stats.concave import fit_concave
from httpdyno.stats.student import two_sided_quantile

__all__ = ["Observation", "Observed", "faults_raised"]

_TIE_AT_MOST: Final = 0.10
"""However much the values vary, nobody would call a larger loss a tie."""
_SUPPOSED_SPREAD: Final = 0.03
"""What a spread is taken for before there are repeats."""
_SUPPOSED_FREEDOM: Final = 2
"""How many degrees of freedom that opinion is worth."""
_LEVEL: Final = 0.95
_RAISED_P: Final = 0.001
_RAISED_SHARE: Final = 0.001


@dataclass(frozen=True, slots=True)
class Observation:
    """What one trial showed.

    Raises
    ------
    InvalidValue
        If the load is below 1, the value below 0 or the weight not above 0.
    """

    load: int
    value: float
    """The figure that is to be as large as can be, 0 or more."""
    answers: int = 0
    faults: int = 0
    """How many of the answers were errors or late."""
    failed: bool = False
    """Whether the trial as a whole broke down: such a load is not to be had, whatever it brought."""
    weight: float = 1.0
    """How much it counts beside others, above 0: less for a trial that was disturbed."""

    def __post_init__(self) -> None:
        """Refuse what no trial can show."""
        if self.load < 1 or not self.value >= 0 or not self.weight > 0:
            raise InvalidValue(f"observation: load {self.load}, value {self.value}, weight {self.weight}")

    @property
    def broken(self) -> bool:
        """Whether it shows that its load does not work at all: it failed, or brought nothing."""
        return self.failed or self.value == 0


def faults_raised(faults: int, answers: int, baseline_faults: int, baseline_answers: int) -> bool:
    """Return whether a load has a larger share of faults than lower loads have, beyond chance.

    Fisher's exact test, one-sided, at 0.1 %; and at least one answer in 1,000 more, or a large sample would make much
    of nothing. Where nothing is known of lower loads, nothing was raised.

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


@dataclass(frozen=True)
class Observed:
    """Observations by their loads. What needs a load that works must not be asked where there is none.

    The values of loads that work are read through a concave curve on logarithmic scales, which takes much of the noise
    off: throughput over concurrency rises, bends and may fall, but does not rise again.
    """

    by_load: dict[int, tuple[Observation, ...]]
    """In the order of the loads."""
    working: tuple[int, ...]
    """Loads that neither break nor raise faults over those below."""
    ceiling: int | None
    """The lowest load that does in each of its trials, above all that do not."""
    least_tie: float
    """The share of the best by which a load may always fall short and be as good."""

    @classmethod
    def of(cls, seen: Iterable[Observation], *, least_tie: float) -> "Observed":
        """Sort observations by their loads, and find which of these work."""
        groups: dict[int, list[Observation]] = {}
        for observation in sorted(seen, key=lambda one: one.load):
            groups.setdefault(observation.load, []).append(observation)
        working: list[int] = []
        bounds: list[int] = []
        faults = answers = 0
        for load, here in groups.items():
            more, of = sum(one.faults for one in here), sum(one.answers for one in here)
            if any(one.broken for one in here) or faults_raised(more, of, faults, answers):
                if all(one.broken or faults_raised(one.faults, one.answers, faults, answers) for one in here):
                    bounds.append(load)
                continue
            working.append(load)
            faults, answers = faults + more, answers + of
        # What fails while higher loads do not was disturbed: it cannot be had, but it is no bound for the others.
        above = [load for load in bounds if working and load > working[-1]]
        by_load = {load: tuple(here) for load, here in groups.items()}
        return cls(by_load, tuple(working), min(above, default=None), least_tie)

    @property
    def loads(self) -> tuple[int, ...]:
        """All loads that were tried, ascending."""
        return tuple(self.by_load)

    def trials(self, load: int) -> int:
        """Count the trials of a load."""
        return len(self.by_load[load])

    @cached_property
    def heights(self) -> dict[int, float]:
        """The logarithm of the value of each working load, as the curve gives it."""
        return self._curve[0]

    @cached_property
    def spread(self) -> float:
        """How much the logarithm of a value varies from trial to trial: about the curve, and as much as is supposed."""
        return self._curve[1]

    @cached_property
    def best(self) -> int:
        """The smallest working load at which the curve is highest."""
        return max(self.working, key=lambda load: (round(self.heights[load], 9), -load))

    @cached_property
    def chosen(self) -> int:
        """The smallest working load that is as good as the best."""
        return next(load for load in self.working if self.as_good(load))

    def as_good(self, load: int) -> bool:
        """Whether a working load falls short of the best by no more than a tie."""
        return load == self.best or self.heights[load] >= self.heights[self.best] + math.log1p(-self.tie(load))

    def tie(self, load: int) -> float:
        """Return the share by which a load may fall short of the best: one standard error, within limits."""
        error = self.spread * math.sqrt(1 / self.trials(load) + 1 / self.trials(self.best))
        return min(max(self.least_tie, error), max(_TIE_AT_MOST, self.least_tie))

    def slope(self, below: int, above: int) -> float:
        """Return how steep the curve is between two working loads: 1 where twice the load brings twice as much."""
        return (self.heights[above] - self.heights[below]) / math.log(above / below)

    def interval(self, load: int) -> Interval | None:
        """Return the interval of the geometric mean of a load's values; None where nothing was repeated.

        The spread is that of all repeats together, which supposes that it is the same share at every load; Student's t
        makes the interval as much wider as it takes to know it from that many of them.
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

    @cached_property
    def _curve(self) -> tuple[dict[int, float], float]:
        kept = [one for load in self.working for one in self.by_load[load]]
        x, y, weights = (
            np.array(values, dtype=np.float64)
            for values in zip(*((math.log(one.load), math.log(one.value), one.weight) for one in kept), strict=True)
        )
        curve = fit_concave(x, y, weights, steepest=1.0)
        freedom = max(len(kept) - curve.pieces - 1, 0)
        squares = curve.residual + _SUPPOSED_FREEDOM * _SUPPOSED_SPREAD**2
        heights = {load: curve.at(math.log(load)) for load in self.working}
        return heights, math.sqrt(squares / (freedom + _SUPPOSED_FREEDOM))

    def neighbours(self, load: int) -> tuple[int | None, int | None]:
        """Return the loads next to one that was tried, working or not; None at the ends."""
        pairs = list(pairwise(self.loads))
        below = next((one for one, other in pairs if other == load), None)
        return below, next((other for one, other in pairs if one == load), None)
