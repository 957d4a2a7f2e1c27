"""Tables, charts, facts and whole reports as data, before any format."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from httpdyno.errors import InvalidValue

Cell = str | int | float | bool | None
"""Value of one cell of a table; None means "unknown" or "does not apply"."""


class ColumnKind(StrEnum):
    """Kind of values in a column, which decides how a report shows them."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    """Shown with at most two decimals."""
    NUMBER = "number"
    """Shown with six significant digits: the result of a query."""
    DURATION = "duration"
    """Milliseconds, shown without a unit, and without decimals from 100 on."""
    TIME = "time"
    """Milliseconds, shown with three significant digits and a suitable unit: ``25.3 us``."""
    SIZE = "size"
    """Bytes, shown to people in KiB, MiB or GiB."""
    BOOLEAN = "boolean"


def _camel_case(name: str) -> str:
    """Return the name without its unit, as ``cpuPerCall`` for ``cpu_per_call_ms``."""
    first, *others = re.sub("_(ms|bytes)(?![a-z])", "", name).replace("per_s", "per_sec").split("_")
    return first + "".join(map(str.capitalize, others))


_RENAMED: Final = """
    right_per_s right_per_s_low right_per_s_high in_flight_per_core cpu_per_right_ms cpu_user_ms start_cpu_ms
    warm_up_cpu_ms p50_ms p99_ms peak_memory_bytes limited_by ceiling_per_s ceiling_limit cpu_per_document_ms
    cpu_per_document_ms_low cpu_per_document_ms_high steady_cpu_per_document_ms cold_cpu_per_document_ms warm_up
    json_parser cpu_per_call_ms in_process in_process_mean_ms in_process_cpu_per_call_ms client_share wire_share
    server_share per_loop cpu_per_request_ms memory_per_open_bytes overhead_p50_ms overhead_p99_ms
    overhead_p99_ms_low overhead_p99_ms_high overhead_p999_ms still_open early_by_ms breaks_at holds_up_to at_least
    why_not limit_per_s limit_text baseline_value value_a value_b version_a version_b change_percent
    change_percent_low change_percent_high p_adjusted
"""
FORMER_NAMES: Final[Mapping[str, str]] = {
    **{name: _camel_case(name) for name in _RENAMED.split()},
    "right_per_core_s": "perCore",
    "cpu_system_ms": "cpuSys",
    "wire_bytes": "wireBytes",
    "http2_share": "http2",
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
    """Largest acceptable number: a page marks larger ones."""
    toned: bool = False
    """Whether its words are results, which a report in colour tints."""
    label: str = ""
    """Heading in tables for people; empty: the name."""
    spanning: bool = False
    """Whether its text spans a row without other cells; the column is shown only if other rows need it."""
    dispensable: bool = False
    """Whether a terminal that is too narrow hides it; the last such column is hidden first."""

    @property
    def heading(self) -> str:
        """Return the heading in tables for people."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Note:
    """A line under the table."""

    text: str
    row: int | None = None
    """Index of the row that it explains; None: the whole table."""
    columns: tuple[str, ...] = ()
    """Names of the columns that it explains; empty: none in particular."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    """Shown above the table to people; the first of several lines is the answer of a run."""
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a table that is not rectangular."""
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(f"table {self.title!r}: more than one column is called {twice[0]!r}")
        for row in self.rows:
            if len(row) != len(names):
                raise InvalidValue(f"table {self.title!r}: a row has {len(row)} cells under {len(names)} columns")
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
        """Make a table of rows by column name; missing cells are empty, other names are ignored."""
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
        """Return the table with columns that a narrow terminal may hide."""
        columns = (replace(column, dispensable=column.name in names) for column in self.columns)
        return replace(self, columns=tuple(columns))

    def select(self, names: Iterable[str]) -> "Table":
        """Return the table with only these columns, in this order."""
        places = [self._place(name) for name in names]
        columns = tuple(self.columns[place] for place in places)
        return replace(self, columns=columns, rows=tuple(tuple(row[place] for place in places) for row in self.rows))

    def filled(self) -> tuple[str, ...]:
        """Return the names of the columns that have a value."""
        columns = zip(self.columns, zip(*self.rows, strict=True), strict=bool(self.rows))
        return tuple(column.name for column, cells in columns if any(cell is not None for cell in cells))

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
    """How a chart draws its series."""

    LINES = "lines"
    """All series in one frame, each with its name at the end of its line."""
    PANELS = "panels"
    """A frame for each series, with the others in grey behind it."""
    POINTS = "points"
    """Single points, with the name of each series at its main point."""
    INTERVALS = "intervals"
    """A row for each series: its estimate, its interval and its values; ``y`` runs to the right."""
    STACKED_BARS = "stacked_bars"
    """A row for each ``x``: the share (in ``%``) or amount of each series; ``y`` runs to the right."""
    FITTED = "fitted"
    """Measured points with their intervals, and fitted curves: the series without intervals."""
    TILES = "tiles"
    """A grid for each panel: the result at each point as colour and word, and a line where ``held`` ends."""
    STAIRS = "stairs"
    """The limit ``y`` of each series at each ``x``; ``low`` surely holds and ``high`` surely fails.

    None is a limit below or beyond all values that were tried.
    """
    TRENDS = "trends"
    """A frame for each panel: measured points joined by lines; faint series are dashed."""


class Tone(StrEnum):
    """Result at a point of a grid, from good to bad."""

    HELD = "held"
    DOUBTFUL = "doubtful"
    """Held in some of its trials."""
    NEAR = "near"
    PART = "part"
    LITTLE = "little"
    UNKNOWN = "unknown"
    """Without a reliable result."""


class Scale(StrEnum):
    """Scale of an axis."""

    LINEAR = "linear"
    """From zero."""
    LOGARITHMIC = "logarithmic"
    """Values of 0 and below are left out."""
    PERCENTILE = "percentile"
    """Percentiles from 0 to below 100, spaced as in the plots of HdrHistogram."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a chart."""

    label: str
    unit: str = ""
    scale: Scale = Scale.LINEAR


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one line or group, usually those of one subject."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    """Lower end of each point's interval; empty when there are no intervals."""
    high: tuple[float | None, ...] = ()
    faint: bool = False
    """Whether it is drawn behind the others, as a single trial that another series of the same name summarises."""
    panel: str = ""
    """Name of its frame, if the chart has several."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for points without all coordinates."""
        lengths = {len(self.x), len(self.y)} | {len(bounds) for bounds in (self.low, self.high) if bounds}
        if len(lengths) > 1 or bool(self.low) != bool(self.high):
            raise InvalidValue(f"series {self.name!r}: x, y and their bounds differ in length")


@dataclass(frozen=True, slots=True)
class Mark:
    """A named position on the ``x`` axis."""

    name: str
    x: float
    faint: bool = False
    """Whether it is dashed, as limits are; other marks are measured or chosen values."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A point of a grid."""

    panel: str
    """Name of its grid, if the chart has several."""
    column: str
    row: str
    """The first row is at the bottom."""
    tone: Tone
    text: str
    """A few characters that the tile shows."""
    words: str
    """Description in one line."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a report."""

    name: str
    """Name of its file."""
    title: str
    kind: ChartKind
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""
    """How to read it, in one or two sentences."""
    section: str = ""
    """Heading of its group on a page."""
    colours: tuple[str, ...] = ()
    """Names of the series that have their own colour, in the same order in all charts of a report."""
    reference: float | None = None
    """Value of ``y`` for comparison, such as a ratio of 1."""
    marks: tuple[Mark, ...] = ()
    """Drawn in charts of kind ``FITTED``."""
    reference_name: str = ""
    """Label of ``reference`` in charts of kind ``TRENDS``."""
    ordered: bool = False
    """Whether the names of the series are ascending values, whose colours are then steps of one scale."""
    tiles: tuple[Tile, ...] = ()
    """Replace the series in charts of kind ``TILES``; rows, columns and panels are in order of appearance."""
    tones: tuple[tuple[Tone, str], ...] = ()
    """Meaning of each tone, for the legend."""


class Fitness(StrEnum):
    """Fitness of this machine for a purpose, in the engine's words."""

    YES = "yes"
    LIMITED = "limited"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of this machine that affects rooms or measurements."""

    name: str
    value: bool | int | float | str | list[str] | None
    """Its value; None if unknown."""
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
    """The question that the experiment answers."""
    headline: str
    """The answer in one sentence, with its uncertainty."""
    reservations: tuple[str, ...]
    """Limits of the whole report: an interrupted run, a quick look."""
    facts: tuple[tuple[str, str], ...]
    """Name and value: machine, web, versions, date."""
    command: str
    """Command that repeats the run."""
    subjects: tuple[tuple[str, str], ...]
    """Id and name of each subject, the best first: the order of rows and colours everywhere."""
    table: Table
    """The ranking, a row a subject."""
    comparisons: Table
    """A row for each pair: ratio, interval, conclusion."""
    rules: Table
    """A row for each rule of validity: its limit, and the worst value of the trials."""
    validity: Table
    """A row for each trial: outcome, validity, reason, and the value for each rule."""
    errors: Table
    """Errors that subjects reported, by name, and the behaviour of the web."""
    charts: tuple[Chart, ...]
    published: Table | None = None
    """Published figures next to the measured ones; notes name the differences."""
    figures: str = "Medians over the trials of each subject."
    """Description of the figures of the table."""
    findings: tuple[str, ...] = ()
    """Conclusions from the figures, in sentences below the headline."""
    evidence: tuple[Table, ...] = ()
    """Further tables that support the answer, each with its title, after all figures."""
