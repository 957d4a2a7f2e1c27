"""A metric: one figure of a trial, under the name that tables, comparisons and charts share."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from httpdyno.model.table import Cell, Column
from httpdyno.model.trial import Trial

__all__ = ["Aspect", "Direction", "Metric"]


class Direction(StrEnum):
    """Which way a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """It describes and does not rank: a count of URLs, a mean length."""


class Aspect(StrEnum):
    """What a figure is made of, which decides what a broken rule of validity spoils."""

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
        """Return the name under which people ask for it: ``right_per_s``."""
        return self.column.name

    def rounded(self, value: float | None) -> Cell:
        """Return a value as a table keeps it."""
        if value is None:
            return None
        return round(value, self.digits) if self.digits else round(value)
