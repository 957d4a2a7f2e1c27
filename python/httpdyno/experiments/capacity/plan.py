"""Plan the capacity experiment: presets, durations, the grid, and the search for the frontier."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, log2
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import settled
from httpdyno.experiments.capacity.axes import (
    CONCURRENCY,
    DELAY,
    LINK_RATE,
    QUEUE,
    ROUND_TRIP,
    SIZE,
    Axes,
    name_of,
    shown_size,
    shown_time,
)
from httpdyno.experiments.capacity.figures import (
    DEFAULT_OBJECTIVE,
    CapacityPoint,
    CapacitySummary,
    Objective,
    parse_objective,
)
from httpdyno.experiments.capacity.judge import beyond_law, error_chance_of
from httpdyno.experiments.capacity.options import NAME, CapacityOptions
from httpdyno.experiments.experiment import Beginning, Begun, Setting, Tell
from httpdyno.experiments.options import stored_options
from httpdyno.experiments.plan import ListedPlan, NextTrial, Plan, SearchPlan, schedule
from httpdyno.experiments.restoring import OfOneWeb, reading_settings, restored, settings_of
from httpdyno.lab.engine import Engine
from httpdyno.model import (
    MOST_URLS,
    ColumnKind,
    Condition,
    Link,
    Loop,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    UrlSeries,
    Workload,
    format_rate,
    format_span,
    parse_loop,
)
from httpdyno.model.link import BILLION, LinkTextError, key_value
from httpdyno.published import PublishedTable, find_preset, parse_scale
from httpdyno.published.table import Role, Row
from httpdyno.stats import Check, ColumnBoundary, ColumnCheck, FrontierSearch
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.subjects.template import loops_of

__all__ = [
    "MOST_TRIALS",
    "PRINTED",
    "UNITS",
    "Capacity",
    "CapacityPreset",
    "Extent",
    "Frontier",
    "FrontierAxis",
    "FrontierPoint",
    "Place",
    "begin_capacity",
    "choose_subjects",
    "closed_deadline_s",
    "closed_duration_s",
    "closed_urls",
    "extent_of",
    "find_capacity_preset",
    "foreseen_latency_s",
    "foreseen_per_s",
    "frontier_plan",
    "frontiers",
    "refined",
    "slices",
    "timing_of",
    "tool_send_s",
    "usual_loop",
]

DEFAULT_SUBJECTS: Final = ("go-net-http",)
"""Default subject of a preset.

The published grids were measured with hey, which is built on Go's net/http. The client is the default: each of its
answers is verified, and it needs only Go. To measure hey as shipped, name it.
"""
PRINTED: Final = "published "
"""Prefix of columns with the published value of a scaled row."""

Place = tuple[float, ...]
"""Conditions of a row, in the columns and units of the publication."""

UNITS: Final = {"": 1, "ms": 10**6, "s": 10**9, "KiB": 1024, "Gbit/s": 10**9, "1/s": 1}
"""Our units in one unit of the publication."""
_OF_LINKS: Final = frozenset({"round_trip_ns", "rate_bits_per_s", "queue_ns"})
_USUAL: Final = {
    **{"delay": "0", "rtt": "0", "link_rate": None, "queue": None, "loss": 0.0, "rps": 2000.0},
    "loop": Loop.CLOSED.value,
}
"""Default settings of a grid whose description leaves them out."""


@dataclass(frozen=True, slots=True)
class CapacityPreset:
    """One published grid."""

    table: PublishedTable

    def axes(self, scale: Fraction = Fraction(1), *, as_labelled: bool = False) -> Axes:
        """Return the grid with scaled rates and requests in flight; sizes and times are unchanged.

        Answers then take as long as in the full grid: half as many share half the rate.

        Raise if ``as_labelled`` is set and the labels are right.
        """
        asked = self.table.asked.get("as_labelled") if as_labelled else self.table.asked["as_run"]
        if asked is None:
            name = self.table.preset
            raise UsageError(
                f"--as-labelled: the labels of {name} are right; the option requires --preset published-batch-4"
            )
        axes = Axes.restored({**_USUAL, **asked})
        return replace(
            axes,
            rates_bits_per_s=tuple(None if rate is None else int(rate * scale) for rate in axes.rates_bits_per_s),
            concurrencies=tuple(dict.fromkeys(_fewer(count, scale) for count in axes.concurrencies)),
            rps=None if axes.rps is None else float(axes.rps * scale),
        )

    @property
    def varies_link(self) -> bool:
        """Whether the grid varies the link."""
        asked = (name for column in self.table.of_role(Role.CONDITION) for name in column.ours)
        return not _OF_LINKS.isdisjoint(asked)

    def place(self, point: CapacityPoint) -> Place:
        """Return the place of a measured point in the published grid."""
        return tuple(
            _number(Fraction(next(filter(None, (getattr(point, name) for name in column.ours)), 0), UNITS[column.unit]))
            for column in self.table.of_role(Role.CONDITION)
        )

    def at_scale(self, scale: Fraction, subjects: Iterable[str]) -> PublishedTable:
        """Return the published rows of each subject, scaled, together with the unscaled values."""
        rows = [self._scaled(row, scale) for row in self.table.rows]
        return replace(self.table, rows=tuple({**row, "subject": subject} for subject in subjects for row in rows))

    def _scaled(self, row: Row, scale: Fraction) -> Row:
        """Scale a row: counts stay whole, and figures scale with the quantity that they are per."""
        cells = {**row, **{f"{PRINTED}{name}": cell for name, cell in row.items()}}
        shares: dict[str, float] = {}
        for column in self.table.of_role(Role.CONDITION):
            value = row[column.name]
            if column.scaled and isinstance(value, int):
                counted = column.kind is ColumnKind.INTEGER
                scaled = Fraction(_fewer(value, scale)) if counted else value * scale
                cells[column.name], shares[column.name] = _number(scaled), float(scaled / value)
        for column in self.table.columns:
            figure = row[column.name]
            if column.per and isinstance(figure, int | float):
                cells[column.name] = figure * shares[column.per]
        return cells


def find_capacity_preset(name: str) -> CapacityPreset:
    """Return the preset of that name; UnknownName lists all presets."""
    return CapacityPreset(find_preset(name, "capacity"))


def _fewer(count: int, scale: Fraction) -> int:
    """Return a share of the requests in flight: at least 1, halves rounded up."""
    return max(1, int(count * scale + Fraction(1, 2)))


def _number(value: Fraction) -> float:
    """Convert a whole number to int, so that it prints without a decimal point."""
    return int(value) if value.denominator == 1 else float(value)


_PAYLOAD: Final = 1448 / 1500
"""Share of content in the bytes of a link: packets of 1,500 bytes, with headers of 52."""
_HEAD_BYTES: Final = 200
"""Approximate bytes of an answer's head."""
_ANSWER_S: Final = 0.0002
"""Least time of an answer without any other limit."""
_PROGRAM_PER_S: Final = 20_000.0
_PROGRAM_BITS_PER_S: Final = 12e9
"""Most answers a second of a program on one or two CPUs; bounds the length of a list."""
_MEASURED_S: Final = 0.6
"""Length of the measured stretch, rounded to whole rounds, at least one."""
_ROUNDS_AROUND: Final = 2
"""Unmeasured rounds: the first is the warm-up, the last is under way when the list is exhausted."""
_FEWEST_OVER_A_DISTANCE: Final = 4
"""Fewest measured rounds if slow start dominates the first round."""
_INITIAL_WINDOW_BYTES: Final = 10 * 1448
"""Bytes that a new connection may send in its first round trip (RFC 6928)."""
_FORESEEN_START_S: Final = 5.0
_PATIENCE: Final = 6.0
"""Deadline of a trial as a multiple of its predicted time: a program may be slower than any link."""


def foreseen_per_s(point: CapacityPoint) -> float:
    """Return the most answers a second that any subject can get.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W (1961), Operations Research 9(3): what is in flight is the rate
    times the time of an answer.
    """
    bits = 8 * (point.size_bytes + _HEAD_BYTES)
    waited_s = (point.delay_ns + point.round_trip_ns) / 1e9 + _ANSWER_S
    limits = [point.concurrency / waited_s, _PROGRAM_PER_S, _PROGRAM_BITS_PER_S / bits]
    if point.rate_bits_per_s is not None:
        limits.append(point.rate_bits_per_s * _PAYLOAD / bits)
    return min(limits)


def foreseen_latency_s(point: CapacityPoint) -> float:
    """Return the least time of an answer with that many in flight."""
    return point.concurrency / foreseen_per_s(point)


def closed_urls(point: CapacityPoint) -> int:
    """Return the length of a list in whole rounds: one before the measured rounds, and one after them."""
    latency_s = foreseen_latency_s(point)
    fewest = _FEWEST_OVER_A_DISTANCE if 2 * _opening_s(point) > latency_s else 1
    measured = max(fewest, round(_MEASURED_S / latency_s))
    return (_ROUNDS_AROUND + measured) * point.concurrency


def closed_duration_s(point: CapacityPoint) -> float:
    """Return the least time of a list: its rounds, after connection set-up and slow start."""
    return closed_urls(point) / foreseen_per_s(point) + _opening_s(point)


def _opening_s(point: CapacityPoint) -> float:
    """Return the time until the window of a new connection is as large as an answer.

    References
    ----------
    RFC 5681: in slow start a window doubles with each round trip.
    """
    round_trips = 1 + ceil(log2(1 + point.size_bytes / _INITIAL_WINDOW_BYTES))
    return round_trips * point.round_trip_ns / 1e9


def tool_send_s(point: CapacityPoint) -> float:
    """Return the sending time of a tool with a duration option, without its wait for the last answers.

    In whole seconds, because some tools accept no others.
    """
    return float(ceil(closed_duration_s(point) - foreseen_latency_s(point)))


def closed_deadline_s(point: CapacityPoint) -> float:
    """Return the deadline of a trial; answers until then are measured."""
    return _FORESEEN_START_S + _PATIENCE * closed_duration_s(point)


DEFAULT_DURATION_S: Final = 5.0
"""Default measured part of a schedule."""
SHORTEST_DURATION_S: Final = 0.5
"""Shortest measured part: programs need longer to settle after their start."""
_WARM_UP_S: Final = 0.5
"""Warm-up of a program at the start of each schedule."""
_STARTING_S: Final = 30.0
"""Longest start of a program, until it reads its first line and the schedule begins."""
_TO_SETTLE: Final = 2
"""Answer times until the rate of answers matches the rate of requests."""
_GRACE_S: Final = 1.0
"""Longest wait for answers after the schedule; later ones miss any objective."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one trial."""

    urls: int
    send_s: float
    """Sending time of the schedule, or of a tool."""
    grace_s: float | None
    """Wait for answers after the schedule; None without a schedule."""
    deadline_s: float
    foreseen_s: float
    """Time of the trial if the point is held."""


def timing_of(point: CapacityPoint, duration_s: float) -> Timing:
    """Return the duration of a trial.

    ``duration_s`` is the measured part of a schedule; a closed loop takes as long as it needs.
    """
    if point.loop is Loop.CLOSED:
        deadline_s = _milliseconds(closed_deadline_s(point))
        return Timing(closed_urls(point), tool_send_s(point), None, deadline_s, closed_duration_s(point))
    assert point.target_per_s is not None, "an open loop has a rate"
    answer_s = _answer_s(point)
    send_s = _milliseconds(_WARM_UP_S + _TO_SETTLE * answer_s + duration_s)
    grace_s = _milliseconds(_GRACE_S + _TO_SETTLE * answer_s)
    deadline_s = _milliseconds(_STARTING_S + send_s + grace_s)
    return Timing(ceil(send_s * point.target_per_s), send_s, grace_s, deadline_s, send_s + answer_s)


def _answer_s(point: CapacityPoint) -> float:
    """Return the time of one answer on an idle link, including its connection."""
    rate = point.rate_bits_per_s
    sending_s = 0.0 if rate is None else 8 * point.size_bytes / (rate * _PAYLOAD)
    return (point.delay_ns + 2 * point.round_trip_ns) / 1e9 + sending_s


def _milliseconds(time_s: float) -> float:
    """Round up to a value that suits command lines, unlike 2.9000000000000004."""
    return ceil(round(time_s * 1000, 6)) / 1000


OVERHEAD_S: Final = 0.7
"""Overhead of a trial: creating and checking its room and link, and judging answers."""
MOST_TRIALS: Final = 100_000
"""Most trials of a run; more would take too long and not fit into memory."""
_UNASKED_TRIALS: Final = 3_000
_UNASKED_S: Final = 3600.0
_LOOKED_AT: Final = 500
"""Number of evenly spread points that estimate the time of a trial."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of a run."""

    trials: int
    time_s: float

    def of(self, trials: int) -> "Extent":
        """Return the extent of this many trials like these."""
        return Extent(trials, self.time_s * trials / self.trials)

    def check(self, *, agreed: bool) -> None:
        """Refuse a run that takes very long, unless --yes was given."""
        much = f"capacity: {self.trials:,} trials would take about {_span(self.time_s)}"
        if self.trials > MOST_TRIALS:
            raise UsageError(
                f"{much}; a run has at most {MOST_TRIALS:,}: make the grid smaller, or search (--frontier)"
            )
        if not agreed and (self.trials > _UNASKED_TRIALS or self.time_s > _UNASKED_S):
            raise UsageError(f"{much}; give --yes to start them, or make the grid smaller, or search (--frontier)")


def extent_of(axes: Axes, *, subjects: int, repeat: int, duration_s: float) -> Extent:
    """Estimate the extent of a grid from a sample of its points.

    ``duration_s`` is the measured part of each schedule.
    """
    count = axes.count
    looked_at = min(count, _LOOKED_AT)
    numbers = [number * count // looked_at for number in range(looked_at)]
    mean_s = sum(timing_of(axes.point(number), duration_s).foreseen_s for number in numbers) / looked_at
    trials = count * subjects * repeat
    return Extent(trials, trials * (mean_s + OVERHEAD_S))


def _span(seconds: float) -> str:
    days = seconds / 86400
    return f"{days:,.0f} days" if days >= 3 else format_span(seconds)  # hours say nothing any more


class FrontierAxis(StrEnum):
    """Axis of a frontier, varied together with the size; the values are names of columns."""

    ROUND_TRIP = "rtt"
    """Round-trip time of the link in nanoseconds: more is harder."""
    LINK_RATE = "linkRate"
    """Rate of the link towards the subject in bits a second: more is easier."""
    DELAY = "delay"
    """Wait of the origin server before it answers, in nanoseconds: more is harder."""
    CONCURRENCY = "concurrency"
    """Most requests in flight: more is easier, until a subject breaks down."""

    @property
    def harder_upwards(self) -> bool:
        """Whether larger values make large answers harder."""
        return self in {FrontierAxis.ROUND_TRIP, FrontierAxis.DELAY}

    @property
    def ordered(self) -> bool:
        """Whether that order is certain: too many requests in flight can make it harder again."""
        return self is not FrontierAxis.CONCURRENCY


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The boundary at one value of the axis."""

    x: int
    """Value of the axis, in its unit."""
    size_bytes: int | None
    """The most likely largest size, among those measured to hold; None: there is none."""
    holds_up_to_bytes: int | None
    """The largest size that surely holds; None: there is none."""
    fails_from_bytes: int | None
    """The smallest size that surely fails, by measurement or because of the link; None: there is none."""
    level: float
    """The chance that the boundary lies between those two."""
    trials: int
    """Trials at this value; 0 if the boundary follows from its neighbours."""
    doubtful: bool
    """Whether undecided sizes lie between the two."""

    def __post_init__(self) -> None:
        """Raise if the bounds are reversed."""
        low, high = self.holds_up_to_bytes, self.fails_from_bytes
        if low is not None and high is not None and low >= high:
            raise InvalidValue(
                f"frontier: the failing size, {high} bytes, must be larger than the held size, {low} bytes"
            )


@dataclass(frozen=True, slots=True)
class Frontier:
    """Frontier of one subject along one axis, with all other settings fixed."""

    subject: str
    axis: FrontierAxis
    rest: str
    """The other settings, as in the name of a condition; empty if none of them varies."""
    points: tuple[FrontierPoint, ...]
    """In the order of the axis."""
    trials: int
    grid_trials: int
    """Trials that the whole grid would take, one for each point."""
    contradictions: tuple[str, ...] = ()
    """Repeated results that contradict the order of the axis, one line each."""
    exhausted: bool = False
    """Whether the budget ended the search before all boundaries were certain."""


_HEAD_ON_AXIS_BYTES: Final = 256
"""Added to each size, as every answer has a head; gives size 0 a place on the logarithmic scale."""
_SHARE: Final = 2 / 5
"""Budget of a search as a share of the grid's trials; without much doubt, a search needs half of it."""
_DOUBT: Final = 2
"""Budget as a multiple of the trials of a walk along the boundary, if that is more."""
_RESOLUTION: Final = 1.1
_KIB: Final = 1024
_FIELDS: Final[Mapping[FrontierAxis, str]] = {
    FrontierAxis.ROUND_TRIP: "round_trip_ns",
    FrontierAxis.LINK_RATE: "rate_bits_per_s",
    FrontierAxis.DELAY: "delay_ns",
    FrontierAxis.CONCURRENCY: "concurrency",
}
"""In order of precedence: of axes with equally many values, the first is the frontier's."""


def refined(axes: Axes) -> Axes:
    """Return the axes; if only two sizes were given, with sizes in between, 10 % apart."""
    if len(axes.sizes_bytes) != len(("first", "last")):
        return axes
    first, last = sorted(axes.sizes_bytes)
    sizes, size = [first], max(first, _KIB)
    while size < last:
        sizes.append(max(_KIB, round(size / _KIB) * _KIB))
        size = round(size * _RESOLUTION)
    return replace(axes, sizes_bytes=tuple(sorted({*sizes, last})))


@dataclass(frozen=True)
class Slice:
    """Points of a grid that differ only in size and along one axis."""

    axis: FrontierAxis
    values: tuple[int | None, ...]
    """Along the axis, the easiest first."""
    sizes_bytes: tuple[int, ...]
    """Ascending."""
    corner: CapacityPoint
    """One of its points; the others share its remaining settings."""
    rest: str
    """Settings that distinguish it from the other slices; empty if there is only one."""
    axes: Axes
    """The whole grid."""
    repeat: int = 1

    @property
    def grid_trials(self) -> int:
        """Number of points."""
        return len(self.values) * len(self.sizes_bytes)

    @cached_property
    def search(self) -> FrontierSearch:
        """The search for its boundary."""
        columns, sizes = len(self.values), len(self.sizes_bytes)
        walk = min(columns + sizes - 1, columns * sizes.bit_length())
        budget = max(int(self.grid_trials * _SHARE), _DOUBT * walk)
        loads = tuple(float(size + _HEAD_ON_AXIS_BYTES) for size in self.sizes_bytes)
        known = tuple(self._impossible(loads))
        return FrontierSearch(loads, columns, budget * self.repeat, trusted=self.axis.ordered, known=known)

    def _impossible(self, loads: Sequence[float]) -> Iterator[ColumnCheck]:
        """Return the smallest impossible size of each column, by the laws of links and queues."""
        for column in range(len(self.values)):
            fails = next((load for load in loads if self._is_beyond_law(column, load)), None)
            if fails is not None:
                yield ColumnCheck(column, Check(fails, held=False))

    def _is_beyond_law(self, column: int, load: float) -> bool:
        point = self.point(column, load)
        return beyond_law(point, self.axes.link_at(point))

    def point(self, column: int, load: float) -> CapacityPoint:
        """Return the point of a step of the search."""
        changes: dict[str, Any] = {
            "size_bytes": round(load) - _HEAD_ON_AXIS_BYTES,
            _FIELDS[self.axis]: self.values[column],
        }
        return replace(self.corner, **changes)

    def checks(self, trials: Iterable[Trial], objective: Objective) -> list[ColumnCheck]:
        """Read the search's checks from trials of one subject, in order; trials of other slices are skipped."""
        return [check for trial in trials if (check := self._check(trial, objective)) is not None]

    def _check(self, trial: Trial, objective: Objective) -> ColumnCheck | None:
        point = trial.get(CapacityPoint)
        if point is None or point.size_bytes not in self.sizes_bytes:
            return None
        value = getattr(point, _FIELDS[self.axis])
        if (
            value not in self.values
            or self.point(self.values.index(value), point.size_bytes + _HEAD_ON_AXIS_BYTES) != point
        ):
            return None
        summary = trial.get(CapacitySummary)
        held = summary is not None and bool(summary.held) and trial.outcome is Outcome.OK
        check = Check(float(point.size_bytes + _HEAD_ON_AXIS_BYTES), held, error_chance_of(trial, objective))
        return ColumnCheck(self.values.index(value), check)


def slices(axes: Axes, *, repeat: int = 1) -> tuple[Slice, ...]:
    """Divide a grid into slices, along the axis with the most values: rtt, link rate, delay; else concurrency."""
    axis = _axis(axes)
    others = [name for name in _FIELDS.values() if name != _FIELDS[axis]] + ["queue_ns"]
    first = next(axes.points())
    varied = _values(axes)
    values = tuple(sorted(varied[_FIELDS[axis]], key=_ease, reverse=not axis.harder_upwards))
    grids = product(*(varied[name] for name in others))
    several = [name for name in others if len(varied[name]) > 1]
    return tuple(
        Slice(axis, values, tuple(sorted(set(axes.sizes_bytes))), corner, _rest(corner, several), axes, repeat)
        for grid in grids
        for corner in [_with(first, others, grid)]
    )


def frontiers(trials: Sequence[Trial], axes: Axes, objective: str, *, repeat: int = 1) -> tuple[Frontier, ...]:
    """Return the frontier of each subject, in the order of their first trials.

    ``repeat`` multiplies the budget of trials.
    """
    required = parse_objective(objective)
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    grid = slices(refined(axes), repeat=repeat)
    return tuple(_frontier(subject, one, trials, required) for subject in subjects for one in grid)


def _frontier(subject: str, one: Slice, trials: Iterable[Trial], objective: Objective) -> Frontier:
    seen = one.checks((trial for trial in trials if trial.subject == subject), objective)
    points = zip(one.values, one.search.conclude(seen), strict=True)
    ascending = sorted((_point(value, boundary) for value, boundary in points), key=lambda point: point.x)
    exhausted = one.search.exhausted(seen)
    against = _against(one, seen)
    return Frontier(subject, one.axis, one.rest, tuple(ascending), len(seen), one.grid_trials, against, exhausted)


def _against(one: Slice, seen: Sequence[ColumnCheck]) -> tuple[str, ...]:
    def place(column: int, load: float) -> str:
        return f"{shown_size(round(load) - _HEAD_ON_AXIS_BYTES)} at {_shown(_FIELDS[one.axis], one.values[column])}"

    return tuple(
        f"{place(found.held.column, found.held.load)} held, but {place(found.failed.column, found.failed.load)} did "
        f"not, although it should be easier; both were repeated"
        for found in one.search.contradictions(seen)
    )


def _point(value: int | None, boundary: ColumnBoundary) -> FrontierPoint:
    def size(load: float | None) -> int | None:
        return None if load is None else round(load) - _HEAD_ON_AXIS_BYTES

    return FrontierPoint(
        x=value or 0,
        size_bytes=size(boundary.held),
        holds_up_to_bytes=size(boundary.holds_up_to),
        fails_from_bytes=size(boundary.fails_from),
        level=boundary.level,
        trials=boundary.trials,
        doubtful=boundary.doubtful,
    )


def _with(point: CapacityPoint, names: Sequence[str], values: Sequence[int | None]) -> CapacityPoint:
    changes: dict[str, Any] = dict(zip(names, values, strict=True))
    return replace(point, **changes)


def _axis(axes: Axes) -> FrontierAxis:
    """Return the axis along which a walk saves most; concurrency comes last, as its order is uncertain."""
    counts = {axis: len(values) for axis, name in _FIELDS.items() for values in [_values(axes)[name]]}
    several = [axis for axis, count in counts.items() if count > 1 and axis.ordered]
    rest = FrontierAxis.CONCURRENCY if counts[FrontierAxis.CONCURRENCY] > 1 else FrontierAxis.ROUND_TRIP
    return max(several, key=counts.__getitem__, default=rest)


def _values(axes: Axes) -> Mapping[str, tuple[int | None, ...]]:
    return {
        "round_trip_ns": tuple(dict.fromkeys(axes.round_trips_ns)),
        "rate_bits_per_s": tuple(dict.fromkeys(axes.rates_bits_per_s)),
        "delay_ns": tuple(dict.fromkeys(axes.delays_ns)),
        "concurrency": tuple(dict.fromkeys(axes.concurrencies)),
        "queue_ns": tuple(dict.fromkeys(axes.queues_ns)),
    }


def _ease(value: int | None) -> float:
    """Return the sort key of a value; an unlimited link sorts last."""
    return float("inf") if value is None else value


def _rest(corner: CapacityPoint, names: Iterable[str]) -> str:
    return ", ".join(_shown(name, getattr(corner, name)) for name in names)


def _shown(name: str, value: int | None) -> str:
    if name == "rate_bits_per_s":
        return "an unlimited rate" if value is None else format_rate(value)
    if name == "concurrency":
        return f"{value} in flight"
    label = {"round_trip_ns": "rtt", "delay_ns": "delay", "queue_ns": "queue"}[name]
    return f"{label} {shown_time(value or 0)}"


def frontier_plan(
    subjects: Sequence[Subject],
    axes: Axes,
    condition: Callable[[CapacityPoint], Condition],
    *,
    objective: str,
    repeat: int = 1,
    seed: int = 1,
) -> SearchPlan:
    """Plan the search for the frontiers of several subjects.

    An unavailable subject has one trial with the reason. ``repeat`` multiplies the budget of trials that resolve doubt.
    If only two sizes are given, sizes in between are measured, too.
    """
    required = parse_objective(objective)
    grid = slices(refined(axes), repeat=repeat)
    most = sum(one.search.budget for one in grid) * len(subjects)

    def choose(_subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        chosen = next((chosen for one in grid if (chosen := _next(one, seen, required, condition))), None)
        # One trial is evidence that a slice is impossible.
        return (
            chosen if chosen or seen else NextTrial(begins_with, "cannot hold by the model: measures how far it gets")
        )

    begins_with = condition(grid[0].point(0, grid[0].search.loads[0]))
    return SearchPlan(tuple(subjects), begins_with, most, choose, seed)


def _next(
    one: Slice, seen: Sequence[Trial], objective: Objective, condition: Callable[[CapacityPoint], Condition]
) -> NextTrial | None:
    step = one.search.next(one.checks(seen, objective))
    if step is None:
        return None
    point = one.point(step.column, step.load)
    again = any(trial.get(CapacityPoint) == point for trial in seen)
    return NextTrial(condition(point), "repeats a doubtful result" if again else "the boundary may lie here")


_MS: Final = 10**6
_HOST: Final = "http://capacity.example"
_FEWEST_SIZES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity(CapacityOptions, OfOneWeb):
    """Experiment: the limits within which subjects hold a rate."""

    axes: Axes
    """The grid spanned by the axes."""
    slo: str = DEFAULT_OBJECTIVE
    duration_s: float = DEFAULT_DURATION_S
    timeout_s: float = 10.0
    seed: int = 1
    web: str = "plain"
    web_digest: str | None = None
    """The engine's default web and seed."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        if not self.duration_s >= SHORTEST_DURATION_S:
            raise InvalidValue(f"--duration: {self.duration_s:g} s are too short; write 1s or more")
        parse_objective(self.slo)
        self._check_way()
        if self.frontier and (len(set(self.axes.sizes_bytes)) < _FEWEST_SIZES or self.axes.rps is None):
            raise InvalidValue("--frontier requires several sizes, like --size 0,50KiB,...,500KiB")
        self._check_lists()
        _ = self.condition(self.axes.point(0)), self.condition(self.axes.point(self.axes.count - 1))

    def _check_lists(self) -> None:
        """Refuse lists of URLs that do not fit into memory; the slowest point has the longest list."""
        slowest = replace(self.axes.point(self.axes.count - 1), rate_bits_per_s=self.axes.rates_bits_per_s[0])
        if (urls := timing_of(slowest, self.duration_s).urls) > MOST_URLS:
            cure = "a smaller --rps or a shorter --duration" if slowest.loop is Loop.OPEN else "less --concurrency"
            raise InvalidValue(
                f"capacity: a trial would need a list of {urls:,} URLs, and has at most {MOST_URLS:,}; give {cure}"
            )

    def _check_way(self) -> None:
        """Refuse an emulated link to another machine."""
        axes = self.axes
        varied = any(axes.round_trips_ns) or any(axes.rates_bits_per_s) or any(axes.queues_ns) or axes.loss
        if self.against is not None and (varied or not axes.link.direct):
            raise InvalidValue(
                f"--against {self.against} uses a real network and conflicts with --link, --rtt, --link-rate, --queue"
                " and --loss; leave them out, or the preset that sets them"
            )

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, point: CapacityPoint) -> Condition:
        """Return the condition of a point: the link that it names, and URLs of its size and delay."""
        timing = timing_of(point, self.duration_s)
        delay = f"delay_ms={point.delay_ns // _MS}&" if point.delay_ns else ""
        urls = UrlSeries(f"{self.against or _HOST}/bytes/{point.size_bytes}?{delay}n=", timing.urls)
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=Workload(urls, timeout_s=self.timeout_s),
            seed=self.seed,
            concurrency=point.concurrency,
            link=self.axes.link_at(point),
            link_seed=self.link_seed,
            against=self.against,
            deadline_s=timing.deadline_s,
            memory_bytes=self.memory_bytes,
            rate_per_s=point.target_per_s if point.loop is Loop.OPEN else None,
            name=name_of(point),
            send_s=timing.send_s,
            grace_s=timing.grace_s,
            foreseen_s=timing.foreseen_s,
            point=replace(point, objective=self.slo),
        )

    def conditions(self) -> Sequence[Condition]:
        """Return the points of the grid, as conditions."""
        return [self.condition(point) for point in self.axes.points()]

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects: a block for each point, or a round of the search."""
        if self.frontier:
            return frontier_plan(
                subjects,
                self.axes,
                self.condition,
                objective=self.slo,
                repeat=self.repeat,
                seed=self.seed,
            )
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        return ListedPlan(plans, {"repeat": self.repeat})

    def settings(self) -> Mapping[str, Setting]:
        """Return the options of the experiment."""
        return {**self.axes.settings(), **settings_of(self)}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from its manifest."""
        with reading_settings():
            axes = Axes.restored(settings)
        return restored(cls, settings, webs, urls, axes=axes)


_QUICK_DURATION_S = 1.0
_TIMEOUT_S = 10.0
_WEB = "plain"
_LOOPS = {Loop.OPEN: "an open loop, on a schedule", Loop.CLOSED: "a closed loop"}


def begin_capacity(beginning: Beginning, names: Sequence[str], options: CapacityOptions) -> Begun:
    """Build the experiment from the options."""
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    experiment = make_capacity(options, chosen, beginning.place.engine, beginning.tell)
    extent = extent_of(
        experiment.axes, subjects=len(chosen), repeat=experiment.repeat, duration_s=experiment.duration_s
    )
    if experiment.frontier:
        extent = extent.of(experiment.plan(chosen).most)
    extent.check(agreed=options.yes)
    beginning.install(chosen)
    return Begun(experiment, chosen)


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the named clients and tools, or the default subjects of the preset."""
    if not names and preset is None:
        raise UsageError("capacity: name a SUBJECT to measure, such as go-net-http")
    subjects = catalogue.select(names or DEFAULT_SUBJECTS)
    for subject in subjects:
        if subject.kind is SubjectKind.SERVER:
            raise UsageError(
                f"{subject.id} is a server; capacity measures clients and load tools, see: httpdyno subjects list"
            )
    return subjects


def make_capacity(options: CapacityOptions, subjects: Sequence[Subject], engine: Engine, tell: Tell) -> Capacity:
    """Build the experiment; the engine gives the default seed of its web."""
    preset = _preset(options)
    axes = _axes(options, preset, usual_loop(subjects))
    if options.duration_s is not None and axes.loop is Loop.CLOSED:
        raise UsageError("--duration conflicts with the closed loop, which has no schedule; leave it out")
    for tool in (subject for subject in subjects if subject.kind is SubjectKind.TOOL):
        if axes.loop not in loops_of(tool):
            raise UsageError(f"{tool.id} cannot send in {_LOOPS[axes.loop]}; give the other --loop, or leave it out")
        if axes.loop is Loop.OPEN and not tool.open_counts_from_due:
            tell(f"{tool.id} counts from the actual send, not from the scheduled one: its times leave out the waits")
    there = None if options.against is None else settled(options.against, engine, tell, web=_WEB, seed=options.seed)
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    usual_timeout_s = (preset and preset.table.circumstances.timeout_s) or _TIMEOUT_S
    usual_s = _QUICK_DURATION_S if options.quick else DEFAULT_DURATION_S
    found = {
        "slo": DEFAULT_OBJECTIVE if options.slo is None else options.slo,
        "duration_s": usual_s if options.duration_s is None else options.duration_s,
        "timeout_s": usual_timeout_s if options.timeout_s is None else options.timeout_s,
        "seed": web.seed,
        "scale": options.scale if options.preset else None,
        "against": there.url if there else None,
    }
    return Capacity(**(stored_options(options) | found), axes=axes, web=_WEB, web_digest=web.digest)


def _preset(options: CapacityOptions) -> CapacityPreset | None:
    if options.preset is not None:
        return find_capacity_preset(options.preset)
    for option, given in (("--scale", options.scale is not None), ("--as-labelled", options.as_labelled)):
        if given:
            raise UsageError(f"{option} requires a published grid; give a --preset, too")
    return None


def usual_loop(subjects: Sequence[Subject]) -> Loop:
    """Return the default loop: closed for tools whose times leave out the waits of an open loop."""
    blind = (subject.kind is SubjectKind.TOOL and not subject.open_counts_from_due for subject in subjects)
    return Loop.CLOSED if all(blind) else Loop.OPEN


def _axes(options: CapacityOptions, preset: CapacityPreset | None, usual: Loop) -> Axes:
    """Return the grid of the preset, or the default grid, with the given axes replaced.

    A real network replaces a link that all points of a preset share.
    """
    if preset is None:
        axes = Axes(loop=usual)
    else:
        share = Fraction(1) if options.scale is None else parse_scale(options.scale)
        axes = preset.axes(share, as_labelled=options.as_labelled)
        if options.against is not None and not preset.varies_link:
            axes = replace(axes, round_trips_ns=(0,), rates_bits_per_s=(None,), queues_ns=(None,))
    axes = axes if options.link is None else axes.over(Link.parse(options.link))
    given: dict[str, object] = {
        field: quantity.values(text)
        for field, quantity, text in (
            ("sizes_bytes", SIZE, options.size),
            ("delays_ns", DELAY, options.delay),
            ("round_trips_ns", ROUND_TRIP, options.rtt),
            ("rates_bits_per_s", LINK_RATE, options.link_rate),
            ("queues_ns", QUEUE, options.queue),
            ("concurrencies", CONCURRENCY, options.concurrency),
        )
        if text is not None
    }
    if options.rps is not None:
        given["rps"] = options.rps
    if options.loss is not None:
        given["loss"] = _loss(options.loss)
    if options.loop is not None:
        given["loop"] = parse_loop(options.loop, name="--loop")
    return replace(axes, **given)  # type: ignore[arg-type]  # each is of the type of its field


def _loss(text: str) -> float:
    try:
        return key_value(f"loss={text}")[1] / BILLION
    except LinkTextError as refused:
        raise InvalidValue(f"--{refused}") from None
