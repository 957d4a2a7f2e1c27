"""Charts as data: what is drawn, not how."""

from dataclasses import dataclass
from enum import StrEnum

from httpdyno.errors import InvalidValue

__all__ = ["Axis", "Chart", "ChartKind", "Series"]


class ChartKind(StrEnum):
    """The shape in which the series are drawn."""

    LINE = "line"
    POINTS = "points"
    BARS = "bars"
    STACKED_BARS = "stacked_bars"


@dataclass(frozen=True, slots=True)
class Axis:
    """What one direction of a chart means."""

    label: str
    unit: str = ""
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, usually those of one subject.

    Raises
    ------
    InvalidValue
        If there are not as many y as x, or interval bounds are given for some of the points only.
    """

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    """Lower end of each point's interval; empty when there are no intervals."""
    high: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        """Refuse points that lack one of their coordinates."""
        lengths = {len(self.x), len(self.y)} | {len(bounds) for bounds in (self.low, self.high) if bounds}
        if len(lengths) > 1 or bool(self.low) != bool(self.high):
            raise InvalidValue(f"series {self.name!r}: x, y and their bounds differ in length")


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a report."""

    name: str
    """Names the file that it is saved as."""
    title: str
    kind: ChartKind
    x: Axis
    y: Axis
    series: tuple[Series, ...]
