"""Tables, charts, facts and whole reports as data, before any format."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from httpdyno.errors import InvalidValue

Cell = str | int | float | bool | None
"""What stands in one place of a table; None is "not known" or "does not apply", never -1."""


class ColumnKind(StrEnum):
    """Kind of values in a column, which decides how a report shows them."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    """Shown with at most two digits after the point, as the seeds print shares."""
    NUMBER = "number"
    """Of any size, shown with six significant digits: the result of a query."""
    DURATION = "duration"
    """Milliseconds, shown without a unit: whole ones from 100 on."""
    TIME = "time"
    """Milliseconds of any size, shown with three digits that matter and the unit that suits: ``25.3 us``."""
    SIZE = "size"
    """Bytes; shown in KiB, MiB or GiB where people read."""
    BOOLEAN = "boolean"


FORMER_NAMES: Final[Mapping[str, str]] = {
    "right_per_s": "rightPerSec",
    "right_per_s_low": "rightPerSecLow",
    "right_per_s_high": "rightPerSecHigh",
    "right_per_core_s": "perCore",
    "in_flight_per_core": "inFlightPerCore",
    "cpu_per_right_ms": "cpuPerRight",
    "cpu_user_ms": "cpuUser",
    "cpu_system_ms": "cpuSys",
    "start_cpu_ms": "startCpu",
    "warm_up_cpu_ms": "warmUpCpu",
    "p50_ms": "p50",
    "p99_ms": "p99",
    "peak_memory_bytes": "peakMemory",
    "wire_bytes": "wireBytes",
    "http2_share": "http2",
    "limited_by": "limitedBy",
    "ceiling_per_s": "ceilingPerSec",
    "ceiling_limit": "ceilingLimit",
    "cpu_per_document_ms": "cpuPerDocument",
    "cpu_per_document_ms_low": "cpuPerDocumentLow",
    "cpu_per_document_ms_high": "cpuPerDocumentHigh",
    "steady_cpu_per_document_ms": "steadyCpuPerDocument",
    "cold_cpu_per_document_ms": "coldCpuPerDocument",
    "warm_up": "warmUp",
    "json_parser": "jsonParser",
    "cpu_per_call_ms": "cpuPerCall",
    "in_process": "inProcess",
    "in_process_mean_ms": "inProcessMean",
    "in_process_cpu_per_call_ms": "inProcessCpuPerCall",
    "client_share": "clientShare",
    "wire_share": "wireShare",
    "server_share": "serverShare",
    "per_loop": "perLoop",
    "cpu_per_request_ms": "cpuPerRequest",
    "memory_per_open_bytes": "memoryPerOpen",
    "overhead_p50_ms": "overheadP50",
    "overhead_p99_ms": "overheadP99",
    "overhead_p99_ms_low": "overheadP99Low",
    "overhead_p99_ms_high": "overheadP99High",
    "overhead_p999_ms": "overheadP999",
    "still_open": "stillOpen",
    "early_by_ms": "earlyBy",
    "breaks_at": "breaksAt",
    "holds_up_to": "holdsUpTo",
    "at_least": "atLeast",
    "why_not": "whyNot",
    "limit_per_s": "limitPerSec",
    "limit_text": "limitText",
    "baseline_value": "baselineValue",
    "value_a": "valueA",
    "value_b": "valueB",
    "version_a": "versionA",
    "version_b": "versionB",
    "change_percent": "changePercent",
    "change_percent_low": "changePercentLow",
    "change_percent_high": "changePercentHigh",
    "p_adjusted": "pAdjusted",
}
"""What columns were called until version 0.1: JSON carries these keys too, and options accept them, until 0.3."""
_CURRENT: Final = {former: name for name, former in FORMER_NAMES.items()}


def current_name(name: str, known: Collection[str]) -> str:
    """Return the current name of a column for a former one; other names are returned unchanged."""
    return _CURRENT[name] if name not in known and _CURRENT.get(name) in known else name


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name identifies it in JSON, options and SQL; tables for people show its label."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT
    unit: str = ""
    """For the legend and the axis: ``ms``, ``bytes``, ``1/s``; empty when the value has none."""
    description: str = ""
    shown: bool = True
    """False: only machine-readable formats carry it (``subject``, for one)."""
    limit: float | None = None
    """Largest number that is as it should be: a page marks what is beyond."""
    toned: bool = False
    """Whether its words say how something went: they are tinted where there are colours."""
    label: str = ""
    """Heading in tables for people; empty: the name."""
    spanning: bool = False
    """Whether its text is shown across the row where the row has nothing else, and the column only where rows have."""
    dispensable: bool = False
    """Whether it is left out, the last of them first, where a terminal is too narrow for all."""

    @property
    def heading(self) -> str:
        """Return what tables for people show above the column."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Note:
    """A line under the table."""

    text: str
    row: int | None = None
    """Index of the row that it explains (why a subject failed, which failures are known); None: the whole table."""
    columns: tuple[str, ...] = ()
    """Names of the columns that it explains; empty: not certain ones."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    """Above the table where people read; the first of several lines is the answer of a run."""
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a table that is not rectangular."""
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(f"table {self.title!r}: more than one column is called {twice[0]!r}")
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidValue(
                    f"table {self.title!r}: row {index} has {len(row)} cells under {len(self.columns)} columns"
                )
        for note in self.notes:
            if note.row is not None and not 0 <= note.row < len(self.rows):
                raise InvalidValue(f"table {self.title!r}: a note explains row {note.row} of {len(self.rows)}")

    @classmethod
    def of_records(
        cls,
        columns: Iterable["Column"],
        records: Iterable[Mapping[str, "Cell"]],
        title: str = "",
        notes: Iterable["Note"] = (),
    ) -> "Table":
        """Make a table of rows by column name; missing cells are empty, other names are left out."""
        columns = tuple(columns)
        rows = (tuple(record.get(column.name) for column in columns) for record in records)
        return cls(columns, tuple(rows), title, tuple(notes))

    def records(self) -> list[dict[str, "Cell"]]:
        """Return the rows by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def answering(self, sentence: str) -> "Table":
        """Return the same table with an answer as the first line of its title."""
        return replace(self, title="\n".join(filter(None, (sentence, self.title))))

    def sparing(self, names: Collection[str]) -> "Table":
        """Return the table with columns that a narrow terminal may leave out."""
        columns = (replace(column, dispensable=column.name in names) for column in self.columns)
        return replace(self, columns=tuple(columns))

    def select(self, names: Iterable[str]) -> "Table":
        """Return the same rows with these columns alone, in this order."""
        places = [self._place(name) for name in names]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
        )

    def filled(self) -> tuple[str, ...]:
        """Return the names of the columns that have a value."""
        return tuple(
            column.name for place, column in enumerate(self.columns) if any(row[place] is not None for row in self.rows)
        )

    def values(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column, from the first row to the last."""
        place = self._place(name)
        return tuple(row[place] for row in self.rows)

    def _place(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise InvalidValue(f"no column {name!r}; choose from: {', '.join(names)}")
        return names.index(name)


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
    """A grid for each panel: the result at each point by colour and by word, and a line where ``held`` ends.
    """
    STAIRS = "stairs"
    """How far each series reaches at each ``x``: ``y``, or None where that is nothing of what was tried.

    What it reaches for sure is ``low``, what surely is not reached is ``high``; None where nothing that was tried is.
    """
    TRENDS = "trends"
    """A frame for each panel: measured points joined by lines; those that are faint are dashed."""


class Tone(StrEnum):
    """Result at a point of a grid, from good to bad."""

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
    """Axis of a chart."""

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
        """Raise ``InvalidValue`` for points without all coordinates."""
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


class Fitness(StrEnum):
    """Fitness of this machine for a purpose, in the words of the engine."""

    YES = "yes"
    LIMITED = "limited"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of this machine that a room or a measurement depends on."""

    name: str
    value: bool | int | float | str | list[str] | None
    """What was found; None when the machine does not tell."""
    ok: Fitness
    consequence: str | None = None
    cure: str | None = None

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a bad fact without consequence or cure."""
        if self.ok is not Fitness.YES and not (self.consequence and self.cure):
            raise InvalidValue(f"fact {self.name}: {self.ok}, but without a consequence and a cure")


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one run of any experiment, independent of its format."""

    title: str
    question: str
    """What the experiment answers."""
    headline: str
    """One sentence that answers it, with its doubt."""
    reservations: tuple[str, ...]
    """With what reservations all of it has to be read: a run that was stopped, a first look."""
    facts: tuple[tuple[str, str], ...]
    """The machine, the web, the versions, when it was made: a name and what it was."""
    command: str
    """Repeats the run."""
    subjects: tuple[tuple[str, str], ...]
    """Id and name of each subject, the best first: the order of rows and colours everywhere."""
    table: Table
    """The ranking, a row a subject."""
    comparisons: Table
    """Every pair: ratio, interval, what may be said."""
    rules: Table
    """A row for each rule that the trials are held against: what it allows, and the worst that was found."""
    validity: Table
    """A row a trial: outcome, validity, the reason, and the number of each rule."""
    errors: Table
    """What subjects reported that was no status: by name, and what the web had done."""
    charts: tuple[Chart, ...]
    published: Table | None = None
    """Published figures next to the measured ones; the notes say what differs."""
    figures: str = "Medians over the trials of each subject."
    """What the figures of the table are."""
    findings: tuple[str, ...] = ()
    """What follows from the figures, in sentences that stand below the headline."""
    evidence: tuple[Table, ...] = ()
    """Further tables that the answer rests on, each under its title, after all figures."""
