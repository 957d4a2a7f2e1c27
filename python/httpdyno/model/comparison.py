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
    """For descriptions without a ranking: a count of URLs, a mean length."""


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
    """Return the value of a trial in the column's unit, or None."""
    better: Direction = Direction.NEITHER
    digits: int = 0
    """Decimals that a table keeps."""
    phrase: str = ""
    """Words after its value in a sentence: ``right answers a second``; empty: its name and unit."""
    aspect: Aspect = Aspect.PACE
    endless: bool = False
    """Whether a good trial without a value counts as worse than any value."""

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
    """Attained confidence, between 0 and 1: with few values it can be below the requested one."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` when the estimate is outside of the interval."""
        if not self.low <= self.estimate <= self.high:
            raise InvalidValue(f"interval: {self.low} to {self.high} does not hold {self.estimate}")
        if not 0 < self.level < 1:
            raise InvalidValue(f"interval: a level is between 0 and 1, not {self.level}")


PROVISIONAL_MARK: Final = "~"
"""Follows a rank from disturbed trials, or from too few blocks in common with others."""
OPEN_MARK: Final = "?"
"""Follows a rank whose difference from the one above may be chance."""


class Difference(StrEnum):
    """Result of a comparison after correction."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """The interval includes "no difference": a tie, or too few trials."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of ``subject`` against that of ``baseline``."""

    subject: str
    baseline: str
    metric: str
    ratio: Interval | None
    """Subject over baseline, 1 is no difference; None with too few trials."""
    p: float | None
    """Chance of a difference as large as this between equals."""
    p_adjusted: float | None
    """Adjusted for all comparisons that were made together: by ``stats.holm``, all pairs by ``compare_all_pairs``."""
    difference: Difference
    blocks: int
    """Number of values: pairs of one block, or trials of the smaller side."""
    paired: bool
    condition: str = ""
    """Point of the experiment's grid; empty if it has one only."""
    subject_mean: float | None = None
    """Geometric mean of the subject's values behind the ratio; None without a ratio."""
    baseline_mean: float | None = None
    """Geometric mean of the baseline's values: the quotient of the two is the ratio."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Rank of one subject."""

    subject: str
    best: int
    """First rank that cannot be excluded, from 1."""
    worst: int
    """Last rank that cannot be excluded."""
    value: Interval | None
    """Median over its trials with a distribution-free interval; None with fewer than two trials."""
    rank: int = 0
    """Place in the order of the medians, from 1."""
    open: bool = False
    """Whether its difference from the subject above may be chance."""
    provisional: bool = False
    """Whether its trials are disturbed, or share fewer than three blocks with others."""

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
