"""Metrics, and the comparisons and rankings of subjects by them."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model.report import Cell, Column
from httpdyno.model.trial import Trial


class Direction(StrEnum):
    """Direction in which a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """It describes and does not rank: a count of URLs, a mean length."""


class Aspect(StrEnum):
    """Aspect of a trial that a figure measures; broken rules of validity spoil aspects."""

    PACE = "pace"
    """Rates and times."""
    CPU = "CPU time"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a trial."""

    column: Column
    """Its name, kind, unit and description, as tables carry them."""
    figure: Callable[[Trial], float | None]
    """The value in the column's unit; None where the trial has none."""
    better: Direction = Direction.NEITHER
    digits: int = 0
    """Decimals that a table keeps."""
    phrase: str = ""
    """What a sentence says after its value: ``right answers a second``; empty: its name and unit will do."""
    aspect: Aspect = Aspect.PACE
    endless: bool = False
    """Whether a trial without the value, though all went well, was beyond any: it must not be the better for it."""

    @property
    def name(self) -> str:
        """Return the name of the metric in options: ``right_per_s``."""
        return self.column.name

    def rounded(self, value: float | None) -> Cell:
        """Round a value for a table."""
        if value is None:
            return None
        return round(value, self.digits) if self.digits else round(value)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and the interval that covers the truth with a stated confidence."""

    estimate: float
    low: float
    high: float
    level: float
    """Confidence that was attained, between 0 and 1: with few values it can be less than what was asked for."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` when the estimate is outside of the interval."""
        if not self.low <= self.estimate <= self.high:
            raise InvalidValue(f"interval: {self.low} to {self.high} does not hold {self.estimate}")
        if not 0 < self.level < 1:
            raise InvalidValue(f"interval: a level is between 0 and 1, not {self.level}")


PROVISIONAL_MARK: Final = "~"
"""Stands behind a rank that rests on disturbed trials, or on too few blocks that others share."""
OPEN_MARK: Final = "?"
"""Stands behind a rank whose difference from the one above may be chance."""


class Difference(StrEnum):
    """Result of a comparison after correction."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """The interval holds "no difference": a tie, or too few trials to tell."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of ``subject`` against that of ``baseline``."""

    subject: str
    baseline: str
    metric: str
    ratio: Interval | None
    """Subject over baseline, 1 is no difference; None where there are too few trials for any statement."""
    p: float | None
    """Chance of a difference as large as this between equals."""
    p_adjusted: float | None
    """Adjusted for all comparisons that were made together: by ``stats.holm``, all pairs by ``compare_all_pairs``."""
    difference: Difference
    blocks: int
    """Values that it rests on: pairs of one block, or the trials of the smaller side."""
    paired: bool
    condition: str = ""
    """The point of the experiment's grid at which both were measured; empty when there is one."""
    subject_mean: float | None = None
    """Geometric mean of the subject's figure over the values that the ratio rests on; None without a ratio."""
    baseline_mean: float | None = None
    """The same of the baseline: the quotient of the two is the ratio."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Rank of one subject."""

    subject: str
    best: int
    """First rank that cannot be excluded, from 1."""
    worst: int
    """Last rank that cannot be excluded."""
    value: Interval | None
    """Median over its trials with a distribution-free interval; None without an interval, with fewer than two."""
    rank: int = 0
    """Place in the order of the medians, from 1."""
    open: bool = False
    """Whether its difference from the subject above may be chance."""
    provisional: bool = False
    """Whether its place rests on disturbed trials, or on fewer than three blocks that others share."""

    @property
    def text(self) -> str:
        """Write the rank: ``2``; ``2?`` where it may be chance, ``2~`` where it is provisional."""
        mark = PROVISIONAL_MARK if self.provisional else OPEN_MARK if self.open else ""
        return f"{self.rank}{mark}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranked subjects of one condition by one metric, the best median first."""

    metric: str
    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    """All pairs."""
