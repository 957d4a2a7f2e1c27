"""Plan the capacity experiment: presets, durations, the grid, and the search for the frontier."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, log2
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import negotiate_web
from httpdyno.experiments.capacity.axes import (
    CONCURRENCY,
    DELAY,
    LINK_RATE,
    QUANTITIES,
    QUEUE,
    ROUND_TRIP,
    Axes,
    Quantity,
    Value,
    name_of,
    shown_size,
)
from httpdyno.experiments.capacity.figures import (
    DEFAULT_OBJECTIVE,
    CapacityPoint,
    CapacitySummary,
    Objective,
    parse_objective,
)
from httpdyno.experiments.capacity.judge import error_chance_of, is_impossible
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
    format_span,
    parse_loop,
)
from httpdyno.model.link import BILLION, LinkTextError, key_value
from httpdyno.published import PublishedTable, find_preset, parse_scale
from httpdyno.published.table import Role, Row
from httpdyno.stats import Check, ColumnCheck, FrontierSearch
from httpdyno.stats.frontier import FrontierStep
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.subjects.template import loops_of

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
"""Unmeasured rounds."""
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


def _opening_s(point: CapacityPoint) -> float:
    """Return the time until the window of a new connection is as large as an answer.

    References
    ----------
    RFC 5681: in slow start a window doubles with each round trip.
    """
    round_trips = 1 + ceil(log2(1 + point.size_bytes / _INITIAL_WINDOW_BYTES))
    return round_trips * point.round_trip_ns / 1e9


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
    """Length of a trial's list, and its durations."""

    urls: int
    send_s: float
    """Sending time of the schedule, or of a tool."""
    grace_s: float | None
    """Wait for answers after the schedule; None without a schedule."""
    deadline_s: float
    foreseen_s: float
    """Time of the trial if the point is held."""


def timing_of(point: CapacityPoint, duration_s: float) -> Timing:
    """Return the timing of a trial.

    ``duration_s`` is the measured part of a schedule. A closed loop takes as long as it needs: connections and slow
    start, then whole rounds. One round before the measured ones is the warm-up, the last is under way when the list is
    exhausted.
    """
    if point.loop is Loop.CLOSED:
        per_s, opening_s = foreseen_per_s(point), _opening_s(point)
        latency_s = point.concurrency / per_s
        fewest = _FEWEST_OVER_A_DISTANCE if 2 * opening_s > latency_s else 1
        urls = (_ROUNDS_AROUND + max(fewest, round(_MEASURED_S / latency_s))) * point.concurrency
        foreseen_s = urls / per_s + opening_s
        # Some tools accept only whole seconds; the wait for the last answers is not sending time.
        send_s = float(ceil(foreseen_s - latency_s))
        return Timing(urls, send_s, None, _milliseconds(_FORESEEN_START_S + _PATIENCE * foreseen_s), foreseen_s)
    assert point.target_per_s is not None, "an open loop has a rate"
    rate = point.rate_bits_per_s
    on_link_s = 0.0 if rate is None else 8 * point.size_bytes / (rate * _PAYLOAD)
    # One answer on an idle link, including its connection.
    answer_s = (point.delay_ns + 2 * point.round_trip_ns) / 1e9 + on_link_s
    send_s = _milliseconds(_WARM_UP_S + _TO_SETTLE * answer_s + duration_s)
    grace_s = _milliseconds(_GRACE_S + _TO_SETTLE * answer_s)
    deadline_s = _milliseconds(_STARTING_S + send_s + grace_s)
    return Timing(ceil(send_s * point.target_per_s), send_s, grace_s, deadline_s, send_s + answer_s)


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


def mean_trial_s(axes: Axes, duration_s: float) -> float:
    """Estimate the mean time of a trial of a grid from a sample of its points.

    ``duration_s`` is the measured part of each schedule.
    """
    count = axes.count
    looked_at = min(count, _LOOKED_AT)
    numbers = [number * count // looked_at for number in range(looked_at)]
    return sum(timing_of(axes.point(number), duration_s).foreseen_s for number in numbers) / looked_at + OVERHEAD_S


def check_extent(trials: int, time_s: float, *, agreed: bool) -> None:
    """Refuse a run with too many trials, or without --yes one that takes very long."""
    days = time_s / 86400
    much = f"capacity: {trials:,} trials would take about {f'{days:,.0f} days' if days >= 3 else format_span(time_s)}"
    if trials > MOST_TRIALS:
        raise UsageError(f"{much}; a run has at most {MOST_TRIALS:,}: make the grid smaller, or search (--frontier)")
    if not agreed and (trials > _UNASKED_TRIALS or time_s > _UNASKED_S):
        raise UsageError(f"{much}; give --yes to start them, or make the grid smaller, or search (--frontier)")


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
    doubtful: bool
    """Whether undecided sizes lie between the two."""

    @property
    def reached_bytes(self) -> int | None:
        """The largest size that a subject holds: the most likely one; if no size surely fails, the surely held one.

        If no size fails, the most likely boundary lies beyond all measured sizes and must not be claimed.
        """
        return self.holds_up_to_bytes if self.fails_from_bytes is None else self.size_bytes


@dataclass(frozen=True, slots=True)
class Frontier:
    """Frontier of one subject along one axis, with all other settings fixed."""

    subject: str
    axis: Quantity
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
_FRONTIER_AXES: Final = (ROUND_TRIP, LINK_RATE, DELAY, CONCURRENCY)
"""Axes along which a frontier can run; of axes with equally many values, the first is the frontier's."""
_HARDER_UPWARDS: Final = (ROUND_TRIP, DELAY)
"""Axes whose larger values make large answers harder."""


def refine_sizes(axes: Axes) -> Axes:
    """Return the axes; if only two sizes were given, with sizes in between, 10 % apart."""
    if len(axes.sizes_bytes) != len(("first", "last")):
        return axes
    first, last = sorted(axes.sizes_bytes)
    sizes, size = [first], max(first, _KIB)
    while size < last:
        sizes.append(max(_KIB, round(size / _KIB) * _KIB))
        size = round(size * _RESOLUTION)
    return replace(axes, sizes_bytes=tuple(sorted({*sizes, last})))


def _load(size_bytes: int) -> float:
    return float(size_bytes + _HEAD_ON_AXIS_BYTES)


def _size(load: float) -> int:
    return round(load) - _HEAD_ON_AXIS_BYTES


@dataclass(frozen=True)
class Slice:
    """Points of a grid that differ only in size and along one axis."""

    axis: Quantity
    values: tuple[Value, ...]
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

    @cached_property
    def search(self) -> FrontierSearch:
        """The search for its boundary; by the laws of links and queues, some sizes are known to be impossible."""
        columns, sizes = len(self.values), len(self.sizes_bytes)
        walk = min(columns + sizes - 1, columns * sizes.bit_length())
        budget = max(int(columns * sizes * _SHARE), _DOUBT * walk)
        known = []
        for column in range(columns):
            points = (self.point(column, size) for size in self.sizes_bytes)
            fails = next((point for point in points if is_impossible(point, self.axes.link_at(point))), None)
            if fails is not None:
                known.append(ColumnCheck(column, Check(_load(fails.size_bytes), held=False)))
        return FrontierSearch(
            tuple(map(_load, self.sizes_bytes)),
            columns,
            budget * self.repeat,
            # The order of the columns is uncertain if too many requests in flight can make it harder again.
            trusted=self.axis is not CONCURRENCY,
            known=tuple(known),
        )

    def point(self, column: int, size_bytes: int) -> CapacityPoint:
        """Return the point of a step of the search."""
        changes: dict[str, Any] = {"size_bytes": size_bytes, self.axis.field: self.values[column]}
        return replace(self.corner, **changes)

    @cached_property
    def _columns(self) -> Mapping[CapacityPoint | None, int]:
        return {self.point(column, size): column for column in range(len(self.values)) for size in self.sizes_bytes}

    def checks(self, trials: Iterable[Trial], objective: Objective) -> list[ColumnCheck]:
        """Read the search's checks from trials of one subject, in order; trials of other slices are skipped."""
        found = []
        for trial in trials:
            column = self._columns.get(trial.get(CapacityPoint))
            if column is not None:
                summary = trial.get(CapacitySummary)
                held = summary is not None and bool(summary.held) and trial.outcome is Outcome.OK
                load = _load(trial[CapacityPoint].size_bytes)
                found.append(ColumnCheck(column, Check(load, held, error_chance_of(trial, objective))))
        return found

    def frontier(self, subject: str, trials: Iterable[Trial], objective: Objective) -> Frontier:
        """Conclude the frontier of a subject from its trials."""

        def size(load: float | None) -> int | None:
            return None if load is None else _size(load)

        def place(step: FrontierStep) -> str:
            return f"{shown_size(_size(step.load))} at {self.axis.name(self.values[step.column])}"

        seen = self.checks((trial for trial in trials if trial.subject == subject), objective)
        points = [
            FrontierPoint(value or 0, size(found.held), size(found.holds_up_to), size(found.fails_from), found.doubtful)
            for value, found in zip(self.values, self.search.conclude(seen), strict=True)
        ]
        return Frontier(
            subject,
            self.axis,
            self.rest,
            points=tuple(sorted(points, key=lambda point: point.x)),
            trials=len(seen),
            grid_trials=len(self._columns),
            contradictions=tuple(
                f"{place(pair.held)} held, but {place(pair.failed)} did not, although it should be easier;"
                " both were repeated"
                for pair in self.search.contradictions(seen)
            ),
            exhausted=self.search.exhausted(seen),
        )


def slices(axes: Axes, *, repeat: int = 1) -> tuple[Slice, ...]:
    """Divide a grid into slices.

    They run along the axis with the most values, as a walk saves most there: round trip, link rate or delay; else
    concurrency, whose order is uncertain.
    """
    varied = {axis: tuple(dict.fromkeys(axes.values(axis))) for axis in (*_FRONTIER_AXES, QUEUE)}
    several = [axis for axis in varied if len(varied[axis]) > 1]
    rest = CONCURRENCY if CONCURRENCY in several else ROUND_TRIP
    axis = max(
        (axis for axis in several if axis in _FRONTIER_AXES[:-1]), key=lambda axis: len(varied[axis]), default=rest
    )
    # An unlimited link is the easiest.
    values = sorted(
        varied[axis],
        key=lambda value: float("inf") if value is None else value,
        reverse=axis not in _HARDER_UPWARDS,
    )
    others = [other for other in varied if other is not axis]
    sizes = tuple(sorted(set(axes.sizes_bytes)))
    made = []
    for grid in product(*(varied[other] for other in others)):
        at = dict(zip(others, grid, strict=True))
        changes: dict[str, Any] = {other.field: value for other, value in at.items()}
        rest_text = ", ".join(other.name(value) for other, value in at.items() if other in several)
        made.append(Slice(axis, tuple(values), sizes, replace(axes.point(0), **changes), rest_text, axes, repeat))
    return tuple(made)


def frontiers(trials: Sequence[Trial], axes: Axes, objective: str, *, repeat: int = 1) -> tuple[Frontier, ...]:
    """Return the frontier of each subject, in the order of their first trials.

    ``repeat`` multiplies the budget of trials.
    """
    required = parse_objective(objective)
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    grid = slices(refine_sizes(axes), repeat=repeat)
    return tuple(one.frontier(subject, trials, required) for subject in subjects for one in grid)


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
        axes = self.axes
        if self.frontier and (len(set(axes.sizes_bytes)) < _FEWEST_SIZES or axes.rps is None):
            raise InvalidValue("--frontier requires several sizes, like --size 0,50KiB,...,500KiB")
        varied = any(axes.round_trips_ns) or any(axes.rates_bits_per_s) or any(axes.queues_ns) or axes.loss
        if self.against is not None and (varied or not axes.link.direct):
            raise InvalidValue(
                f"--against {self.against} uses a real network and conflicts with --link, --rtt, --link-rate, --queue"
                " and --loss; leave them out, or the preset that sets them"
            )
        # The slowest point has the longest list of URLs.
        first, last = axes.point(0), axes.point(axes.count - 1)
        urls = timing_of(replace(last, rate_bits_per_s=axes.rates_bits_per_s[0]), self.duration_s).urls
        if urls > MOST_URLS:
            cure = "a smaller --rps or a shorter --duration" if axes.loop is Loop.OPEN else "less --concurrency"
            raise InvalidValue(
                f"capacity: a trial would need a list of {urls:,} URLs, and has at most {MOST_URLS:,}; give {cure}"
            )
        _ = self.condition(first), self.condition(last)

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
            return self._search(subjects)
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        return ListedPlan(plans, {"repeat": self.repeat})

    def _search(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan the search for the frontiers of several subjects.

        An unavailable subject has one trial with the reason. ``repeat`` multiplies the budget of trials that resolve
        doubt. If only two sizes are given, sizes in between are measured, too.
        """
        objective = parse_objective(self.slo)
        grid = slices(refine_sizes(self.axes), repeat=self.repeat)
        begins_with = self.condition(grid[0].point(0, grid[0].sizes_bytes[0]))

        def choose(_subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
            if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
                return None
            for one in grid:
                step = one.search.next(one.checks(seen, objective))
                if step is not None:
                    point = one.point(step.column, _size(step.load))
                    again = any(trial.get(CapacityPoint) == point for trial in seen)
                    why = "repeats a doubtful result" if again else "the boundary may lie here"
                    return NextTrial(self.condition(point), why)
            # One trial is evidence that a slice is impossible.
            return None if seen else NextTrial(begins_with, "cannot hold by the model: measures how far it gets")

        most = sum(one.search.budget for one in grid) * len(subjects)
        return SearchPlan(tuple(subjects), begins_with, most, choose, self.seed)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options of the experiment."""
        return {**self.axes.settings(), **settings_of(self)}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from its manifest."""
        with reading_settings():
            axes = Axes.restored(settings)
        return restored(cls, settings, webs, urls, axes=axes)


_WEB = "plain"
_LOOPS = {Loop.OPEN: "an open loop, on a schedule", Loop.CLOSED: "a closed loop"}


def begin_capacity(beginning: Beginning, names: Sequence[str], options: CapacityOptions) -> Begun:
    """Build the experiment from the options."""
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    experiment = make_capacity(options, chosen, beginning.place.engine, beginning.tell)
    trials = experiment.axes.count * len(chosen) * experiment.repeat
    if experiment.frontier:
        trials = experiment.plan(chosen).most
    check_extent(trials, trials * mean_trial_s(experiment.axes, experiment.duration_s), agreed=options.yes)
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
    there = (
        None
        if options.against is None
        else negotiate_web(options.against, engine, tell, web=_WEB, seed=options.seed, fixed=True)
    )
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    usual_timeout_s = (preset and preset.table.circumstances.timeout_s) or 10.0
    usual_s = 1.0 if options.quick else DEFAULT_DURATION_S
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
        quantity.axis: quantity.values(text)
        for quantity in QUANTITIES
        if (text := getattr(options, quantity.setting)) is not None
    }
    given |= {"rps": options.rps} if options.rps is not None else {}
    given |= {"loss": _loss(options.loss)} if options.loss is not None else {}
    given |= {"loop": parse_loop(options.loop, name="--loop")} if options.loop is not None else {}
    return replace(axes, **given)  # type: ignore[arg-type]  # each is of the type of its field


def _loss(text: str) -> float:
    try:
        return key_value(f"loss={text}")[1] / BILLION
    except LinkTextError as refused:
        raise InvalidValue(f"--{refused}") from None
