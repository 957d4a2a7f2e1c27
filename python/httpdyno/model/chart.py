"""Charts as data: what is drawn, not how."""

from dataclasses import dataclass
from enum import StrEnum

from httpdyno.errors import InvalidValue

__all__ = ["Axis", "Chart", "ChartKind", "Mark", "Scale", "Series", "Tile", "Tone"]


class ChartKind(StrEnum):
    """The shape in which the series are drawn."""

    LINES = "lines"
    """All series in one frame, each named at its end."""
    PANELS = "panels"
    """A frame for each series, with the others in grey behind it."""
    POINTS = "points"
    """Single points, each series named at its main one."""
    INTERVALS = "intervals"
    """A row for each series: its estimate, its interval and the values that they come from; ``y`` runs to the right."""
    STACKED_BARS = "stacked_bars"
    """A row for each ``x``: which share of it each series has, or how much where ``y`` has another unit than ``%``.

    ``y`` runs to the right.
    """
    FITTED = "fitted"
    """Measured points with their intervals, and the curves that were fitted to them: the series that have none."""
    TILES = "tiles"
    """A grid for each panel: what became of each of its points, by colour and by word; a line goes where ``held`` ends.
    """
    STAIRS = "stairs"
    """How far each series reaches at each ``x``: ``y``, or None where that is nothing of what was tried.

    What it reaches for sure is ``low``, what surely is not reached is ``high``; None where nothing that was tried is.
    """
    TRENDS = "trends"
    """A frame for each panel: measured points joined by lines; those that are faint are dashed."""


class Tone(StrEnum):
    """What became of a point of a grid, from good to bad."""

    HELD = "held"
    DOUBTFUL = "doubtful"
    """Held in some of its trials."""
    NEAR = "near"
    PART = "part"
    LITTLE = "little"
    UNKNOWN = "unknown"
    """Nothing that can be believed is known of it."""


class Scale(StrEnum):
    """How values are spread over an axis."""

    LINEAR = "linear"
    """From zero."""
    LOGARITHMIC = "logarithmic"
    """Values of 0 and below have no place on it and are left out."""
    PERCENTILE = "percentile"
    """Percentiles from 0 to below 100: 90, 99 and 99.9 are as far apart as in the plots of HdrHistogram."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What one direction of a chart means."""

    label: str
    unit: str = ""
    scale: Scale = Scale.LINEAR


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, usually those of one subject."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    """Lower end of each point's interval; empty when there are no intervals."""
    high: tuple[float | None, ...] = ()
    faint: bool = False
    """Whether it is drawn behind: a single trial, while the series of the same name that is not faint sums them up."""
    panel: str = ""
    """The frame that it is drawn in, where a chart has several."""

    def __post_init__(self) -> None:
        """Refuse points that lack one of their coordinates."""
        lengths = {len(self.x), len(self.y)} | {len(bounds) for bounds in (self.low, self.high) if bounds}
        if len(lengths) > 1 or bool(self.low) != bool(self.high):
            raise InvalidValue(f"series {self.name!r}: x, y and their bounds differ in length")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place along ``x`` that has a name."""

    name: str
    x: float
    faint: bool = False
    """Whether it is dashed: where something else begins, while the others are what was measured or chosen."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A point of a grid."""

    panel: str
    """The grid that it belongs to, where a chart has several."""
    column: str
    row: str
    """Rows are stacked upwards, as values are along an axis."""
    tone: Tone
    text: str
    """What stands on it: a few characters."""
    words: str
    """Says in one line what it is."""


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
    caption: str = ""
    """How it is to be read, in a sentence or two."""
    section: str = ""
    """Heading under which a page shows it together with others."""
    colours: tuple[str, ...] = ()
    """Names of series that have a colour of their own, in one order for all charts of a report."""
    reference: float | None = None
    """Value of ``y`` that the others are held against, such as a ratio of 1."""
    marks: tuple[Mark, ...] = ()
    """Places along ``x`` that are marked by name; drawn in charts of kind ``FITTED``."""
    reference_name: str = ""
    """What is written at ``reference``; drawn in charts of kind ``TRENDS``."""
    ordered: bool = False
    """Whether the names of the series are values in their order: their colours are then steps of one scale."""
    tiles: tuple[Tile, ...] = ()
    """Of charts of kind ``TILES``, instead of series; rows, columns and panels in the order of their first ones."""
    tones: tuple[tuple[Tone, str], ...] = ()
    """What each tone says, for the legend."""
