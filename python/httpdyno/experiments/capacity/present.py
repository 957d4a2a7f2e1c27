"""The metrics, tables, charts, headline and report of the capacity question."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import Axes, shown_size, shown_time
from httpdyno.experiments.capacity.figures import DEFAULT_OBJECTIVE, CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import TONES, Found, found, target_words
from httpdyno.experiments.capacity.limits import LimitKind, capacity_sentences
from httpdyno.experiments.capacity.plan import Frontier, FrontierAxis, FrontierPoint, frontiers
from httpdyno.experiments.capacity.published import grid_comparison, grid_rows, grid_views, published_charts
from httpdyno.experiments.definition import Definition, Presentation, PresetRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.report import base_report
from httpdyno.judge import trial_notes, worst_validity
from httpdyno.judge.figures import of_record
from httpdyno.judge.wording import listed, some_of
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Direction,
    Metric,
    Note,
    Outcome,
    Report,
    Series,
    Table,
    Tile,
    Tone,
    Trial,
    counted,
    format_exact,
    format_rate,
    format_time,
    records_of,
)
from httpdyno.published import Circumstances, PublishedTable
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import median
from httpdyno.store import Manifest, Run

__all__ = [
    "AXES",
    "CAPACITY_METRICS",
    "CONCURRENCY",
    "DELAY",
    "LINK_RATE",
    "PRESENTATION",
    "QUEUE",
    "ROUND_TRIP",
    "SIZE",
    "GridAxis",
    "Layout",
    "capacity_headline",
    "capacity_report",
    "capacity_views",
    "frontier_charts",
    "grid_chart",
    "point_table",
    "reach_legend",
    "reach_tables",
    "reached",
    "size_reached",
]

_MS: Final = 1e-6
_LOWER: Final = Direction.LOWER
_figure: Final = partial(of_record, CapacitySummary)


CAPACITY_METRICS: Final = (
    Metric(
        Column("right_per_s", ColumnKind.DECIMAL, "1/s", "right answers a second, over the steady stretch"),
        _figure("per_s"),
        Direction.HIGHER,
        1,
        "right answers a second",
    ),
    Metric(
        Column("mean", ColumnKind.DURATION, "ms", "mean time of an answer, from when its request was sent"),
        _figure("service_mean_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("p50", ColumnKind.DURATION, "ms", "median time, open loop: from when the request was due"),
        _figure("response_p50_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("p99", ColumnKind.DURATION, "ms", "99th percentile of that time"),
        _figure("response_p99_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("errors", ColumnKind.NUMBER, description="requests without a right answer among all, 0 to 1"),
        _figure("errors_share"),
        _LOWER,
        6,
    ),
)
"""In the order of their columns."""


Value = int | None
"""Value on an axis: bytes, nanoseconds, bits a second or requests; None for a link without such a limit."""
_Units = tuple[tuple[str, int], ...]
_SIZES: Final[_Units] = (("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TIMES: Final[_Units] = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_RATES: Final[_Units] = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3))
_UNLIMITED: Final = "no limit"


@dataclass(frozen=True, slots=True)
class GridAxis:
    """A variable of a grid."""

    title: str
    read: Callable[[CapacityPoint], Value]
    units: _Units
    """The largest first."""
    worded: Callable[[int], str]
    """Format one value for a sentence."""
    absent: str = ""
    """Text for a point without a value."""

    def values(self, points: Iterable[CapacityPoint]) -> tuple[Value, ...]:
        """Return the distinct values of the points in ascending order; None (no limit) comes last."""
        found = {self.read(point) for point in points}
        return (*sorted(value for value in found if value is not None), *([None] if None in found else []))

    def name(self, value: Value) -> str:
        """Format a value together with its axis: ``rtt 40 ms``."""
        return self.absent if value is None else self.worded(value)

    def unit(self, values: Iterable[Value]) -> tuple[str, int]:
        """Choose one unit for all values: the largest in which every value except 0 is at least 1.

        Return its name and factor, like ``("KiB", 1024)``. The name of a count is empty.
        """
        least = min((value for value in values if value), default=None)
        if least is None:
            return self.units[len(self.units) // 2]
        return next((unit for unit in self.units if unit[1] <= least), self.units[-1])

    def heading(self, values: Sequence[Value]) -> str:
        """Return the title with the unit of the values: ``rtt, ms``."""
        unit, _ = self.unit(values)
        return f"{self.title}, {unit}" if unit else self.title

    def labels(self, values: Sequence[Value]) -> list[str]:
        """Format the values without their unit; the heading has the unit."""
        _, factor = self.unit(values)
        return [_UNLIMITED if value is None else format_exact(float(f"{value / factor:.4g}")) for value in values]


def _in_flight(count: int) -> str:
    return f"{count:,} in flight"


SIZE: Final = GridAxis("size", lambda point: point.size_bytes, _SIZES, shown_size)
LINK_RATE: Final = GridAxis("link", lambda point: point.rate_bits_per_s, _RATES, format_rate, "a link without a limit")
ROUND_TRIP: Final = GridAxis("rtt", lambda point: point.round_trip_ns, _TIMES, lambda ns: f"rtt {shown_time(ns)}")
DELAY: Final = GridAxis("delay", lambda point: point.delay_ns, _TIMES, lambda ns: f"delay {shown_time(ns)}")
QUEUE: Final = GridAxis(
    "queue", lambda point: point.queue_ns, _TIMES, lambda ns: f"queue {shown_time(ns)}", "the usual queue"
)
CONCURRENCY: Final = GridAxis("in flight", lambda point: point.concurrency, (("", 1),), _in_flight)
FRONTIER_AXES: Final = {
    FrontierAxis.ROUND_TRIP: ROUND_TRIP,
    FrontierAxis.LINK_RATE: LINK_RATE,
    FrontierAxis.DELAY: DELAY,
    FrontierAxis.CONCURRENCY: CONCURRENCY,
}
"""Axes along which a frontier can run."""
AXES: Final = (SIZE, LINK_RATE, ROUND_TRIP, DELAY, QUEUE, CONCURRENCY)
"""In order of precedence: of the axes with the most values, the first becomes the vertical one."""


Place = tuple[str, tuple[Value, ...]]
"""A panel: a subject, and the values of the axes that make panels."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Roles of the axes of a grid.

    The two axes with the most values span the grid. If only one axis varies, the rows are subjects; if none varies, the
    grid has one column.
    """

    across: GridAxis
    up: GridAxis | None
    """None: the rows are subjects."""
    panels: tuple[GridAxis, ...]
    several_subjects: bool

    @classmethod
    def of(cls, points: Sequence[CapacityPoint], subjects: int) -> Self:
        """Choose the roles for these points."""
        counts = {axis: len(axis.values(points)) for axis in AXES}
        varied = [axis for axis in AXES if counts[axis] > 1]
        chosen = sorted(varied, key=lambda axis: -counts[axis])[:2]
        if len(chosen) < 2:
            return cls(chosen[0] if chosen else SIZE, None, (), subjects > 1)
        # Up runs the size, as in the question: up to which size?
        across, up = sorted(chosen, key=lambda axis: len(AXES) if axis is SIZE else AXES.index(axis))
        return cls(across, up, tuple(axis for axis in varied if axis not in chosen), subjects > 1)

    def panel(self, of: Found) -> Place:
        """Return the panel of a point."""
        subject = of.subject if self.up is not None else ""
        return subject, tuple(axis.read(of.point) for axis in self.panels)

    def panel_name(self, place: Place, names: Mapping[str, str]) -> str:
        """Return the name of a panel; empty if there is only one panel."""
        subject, values = place
        parts = [names[subject]] if subject and self.several_subjects else []
        return ", ".join([*parts, *(axis.name(value) for axis, value in zip(self.panels, values, strict=True))])

    def shared(self, points: Sequence[CapacityPoint]) -> str:
        """Describe the settings shared by all points, without zeros: ``delay 100 ms, 10 Gbit/s``."""
        roles = {self.across, self.up, *self.panels}
        rest = [(axis, axis.read(points[0])) for axis in AXES if axis not in roles] if points else []
        return ", ".join(axis.name(value) for axis, value in rest if value is not None and (value or axis is SIZE))


_FEWEST_SIZES: Final = 3
"""Fewest sizes of a grid with a frontier: two sizes that are far apart do not locate it."""


def is_search(settings: Mapping[str, Setting]) -> bool:
    """Return whether a run searched for the frontier instead of measuring a whole grid."""
    return bool(settings.get("frontier"))


def reached(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Frontier, ...]:
    """Return the frontier of each subject.

    Empty if the run varied no sizes, had no target rate, or if its settings do not define its grid.
    """
    points = records_of(CapacityPoint, trials)
    try:
        axes = Axes.restored(settings)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return ()
    sizes = len({point.size_bytes for point in points})
    if axes.rps is None or not points or not (is_search(settings) or sizes >= _FEWEST_SIZES):
        return ()
    objective, repeat = str(settings.get("slo") or DEFAULT_OBJECTIVE), settings.get("repeat")
    return frontiers(trials, axes, objective, repeat=repeat if isinstance(repeat, int) else 1)


def size_reached(point: FrontierPoint) -> int | None:
    """Return the largest size that a subject holds: the most likely one; if no size surely fails, the surely held one.

    If no size fails, the most likely boundary lies beyond all measured sizes and must not be claimed.
    """
    return point.holds_up_to_bytes if point.fails_from_bytes is None else point.size_bytes


_AT_THE_RIGHT: Final = ColumnKind.DECIMAL
"""Right-aligned, although cells hold words and shares: a narrow terminal repeats the leading text columns."""
_KIB: Final = 1024
_OR_MORE: Final = "\u2265"
_NONE: Final = "none"
_UNKNOWN: Final = "?"


def reach_tables(frontiers: Sequence[Frontier], target: str) -> list[Table]:
    """Build one table for each axis of the frontiers; other varied settings are part of the row's name.

    ``target`` is the rate to hold, in words.
    """
    axes = dict.fromkeys(one.axis for one in frontiers)
    return [_size_table([one for one in frontiers if one.axis is axis], target) for axis in axes]


def reach_legend(frontiers: Sequence[Frontier]) -> list[str]:
    """Explain the cells of the tables and give the number of trials."""
    points = [point for one in frontiers for point in one.points]
    notes = []
    without_end = [point for point in points if point.fails_from_bytes is None]
    if any(size_reached(point) is not None for point in without_end):
        notes.append(f"{_OR_MORE}: holds for sure; no larger size is known to fail")
    if any(size_reached(point) is None for point in without_end):
        notes.append(f"{_UNKNOWN}: unknown")
    bounded = [point for point in points if point.fails_from_bytes is not None]
    if any(point.doubtful for point in bounded if size_reached(point) is not None):
        notes.append("two sizes: the rate is held at the first, not at the second; the sizes in between are undecided")
    if any(size_reached(point) is None for point in bounded):
        notes.append(f"{_NONE}: the smallest measured size already fails")
    trials, grid = sum(one.trials for one in frontiers), sum(one.grid_trials for one in frontiers)
    if trials < grid:
        notes.append(f"{trials} trials; the grid has {grid} points")
    return [*notes, *search_notes(frontiers)]


def search_notes(frontiers: Sequence[Frontier]) -> list[str]:
    """Describe where the budget ended a search early, and results that contradict the order of the axis."""
    notes = []
    # A whole grid has no budget.
    ended = [one for one in frontiers if one.exhausted and one.trials < one.grid_trials]
    if ended:
        places = sum(point.doubtful for one in ended for point in one.points)
        subjects = ", ".join(dict.fromkeys(one.subject for one in ended))
        notes.append(
            f"the budget ended the search ({subjects}): {places}"
            f" {'boundary is' if places == 1 else 'boundaries are'} open; --repeat 2 allows twice as much"
        )
    return [*notes, *(f"{one.subject}: {line}" for one in frontiers for line in one.contradictions)]


def _size_table(frontiers: Sequence[Frontier], target: str) -> Table:
    axis = FRONTIER_AXES[frontiers[0].axis]
    values = list(dict.fromkeys(point.x for one in frontiers for point in one.points))
    settings = dict.fromkeys(one.rest for one in frontiers)
    several = len(settings) > 1
    rows: list[tuple[Cell, ...]] = []
    for one in sorted(frontiers, key=lambda one: list(settings).index(one.rest)):
        cells = {point.x: _size_cell(point) for point in one.points}
        named = (one.subject, one.rest) if several else (one.subject,)
        rows.append((*named, *(cells.get(value) for value in values)))
    across = f"across: {axis.heading(values)}"
    rest = "" if several or not frontiers[0].rest else f"; {frontiers[0].rest}"
    return Table(
        (
            Column("subject"),
            *((Column("at"),) if several else ()),
            *(Column(label, _AT_THE_RIGHT) for label in axis.labels(values)),
        ),
        tuple(rows),
        title=f"largest size at which {target} are held, KiB{rest}; {across}",
    )


def _size_cell(point: FrontierPoint) -> str:
    size = size_reached(point)
    if point.fails_from_bytes is None:
        return _UNKNOWN if size is None else f"{_OR_MORE} {_kib_text(size)}"
    if size is None:
        return _NONE
    if point.doubtful:
        return f"{_kib_text(point.holds_up_to_bytes or 0)} - {_kib_text(point.fails_from_bytes)}"
    return _kib_text(size)


def _kib_text(size_bytes: int) -> str:
    return format_exact(round(size_bytes / _KIB, 1))


_POINT: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("size", ColumnKind.SIZE, "bytes", "content of each answer"),
    Column("delay", ColumnKind.DURATION, "ms", "wait of the server before it answers"),
    Column("rtt", ColumnKind.DURATION, "ms", "round-trip time of the link"),
    Column("linkRate", ColumnKind.INTEGER, "bit/s", "rate of the link towards the subject; null: not limited"),
    Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
    Column("target", ColumnKind.DECIMAL, "1/s", "right answers a second to hold"),
)
"""Columns of the point."""
_JUDGED: Final = (
    Column("held", ColumnKind.BOOLEAN, description="whether the rate and the objective were kept; null: not known"),
    Column("limit", description="what limits the point: bandwidth, window, cpu, concurrency, origin, link, unknown"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
    Column("queue", ColumnKind.DURATION, "ms", "longest wait for the link's rate; null: the usual", shown=False),
    Column("loop", description="open: sent on a schedule; closed: sent when an answer came", shown=False),
    Column("limit_per_s", ColumnKind.DECIMAL, "1/s", "the most that this limit allows", shown=False),
    Column("why_not", description="what was not kept, with its figure", shown=False),
    Column("limit_text", description="the limit in one sentence", shown=False),
    Column("trials", ColumnKind.INTEGER, description="how often it was measured", shown=False),
)
_HELD: Final = {Tone.HELD: True, Tone.UNKNOWN: None}


def point_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each subject and point, in the order of the grid.

    Figures are medians over the trials of the row; ``held`` is null if the trials disagree.
    """
    groups: dict[tuple[str, object], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, trial.get(CapacityPoint)), []).append(trial)
    rows = list(groups.values())
    # A note that applies to many points is printed once for each subject.
    subjects = dict.fromkeys(subject for subject, _ in groups)
    own = {
        subject: [trial for (of, _), row in groups.items() if of == subject for trial in row] for subject in subjects
    }
    notes = [f"{subject}: {text}" for subject, of in own.items() for text in trial_notes(of)]
    metrics = tuple(metric.column for metric in CAPACITY_METRICS)
    return Table((*_POINT, *metrics, *_JUDGED), tuple(map(_row, rows)), notes=tuple(map(Note, notes)))


def _row(trials: Sequence[Trial]) -> tuple[Cell, ...]:
    (one,) = found(trials)
    point = one.point
    summaries = records_of(CapacitySummary, trials)
    return (
        one.subject,
        point.size_bytes,
        _ms(point.delay_ns),
        _ms(point.round_trip_ns),
        point.rate_bits_per_s,
        point.concurrency,
        point.target_per_s,
        *(_median(metric, trials) for metric in CAPACITY_METRICS),
        None if one.tone is Tone.DOUBTFUL else _HELD.get(one.tone, False),
        one.limit,
        _verdict(trials),
        None if point.queue_ns is None else _ms(point.queue_ns),
        point.loop.value,
        next((round(summary.limit_per_s, 1) for summary in summaries if summary.limit_per_s is not None), None),
        one.why,
        one.limit_text,
        one.trials,
    )


def _ms(time_ns: int) -> Cell:
    return round(time_ns * _MS, 6)


def _median(metric: Metric, trials: Sequence[Trial]) -> Cell:
    return metric.rounded(median(map(metric.figure, trials)))


def _verdict(trials: Sequence[Trial]) -> str:
    if failed := next((trial.outcome for trial in trials if trial.outcome is not Outcome.OK), None):
        return failed.value
    return worst_validity(trials) or ""


_OF_THE_POINT: Final = frozenset({LimitKind.BANDWIDTH, LimitKind.WINDOW, LimitKind.CPU, LimitKind.CONCURRENCY})
"""Limits of a subject; an exhausted origin or link limits the measurement instead."""


def capacity_headline(points: Sequence[Found], frontiers: Sequence[Frontier], names: Mapping[str, str]) -> str:
    """Return one sentence, without a full stop: the largest sizes at which the subjects hold the rate.

    ``frontiers`` is empty if sizes were not varied. ``names`` maps ids of subjects to their names.
    """
    if not points:
        return "Nothing was measured: the run has no finished trial"
    target = target_words(points)
    if not target:
        return f"{len(points)} points were measured, without a target rate"
    if frontiers:
        groups = _by_setting(frontiers)
        widest = max(groups, key=_largest_difference)
        shared = _shared(points, widest[0])
        describe = _compared if len(widest) > 1 else _reach
        return describe(widest, target, names, f" ({shared})" if shared else "") + _elsewhere(len(groups) - 1)
    return "; ".join(_counted(points, subject, target, name) for subject, name in names.items())


def _by_setting(frontiers: Sequence[Frontier]) -> list[list[Frontier]]:
    """Group frontiers that share their axis and all other settings."""
    settings = dict.fromkeys((one.axis, one.rest) for one in frontiers)
    return [[one for one in frontiers if (one.axis, one.rest) == setting] for setting in settings]


def _elsewhere(settings: int) -> str:
    return f"; the tables have {settings} more setting{'s' if settings > 1 else ''}" if settings else ""


def _largest_difference(group: Sequence[Frontier]) -> float:
    """Return the largest ratio between the subjects of one setting; for one subject, the size that it reaches."""
    return max((_span_of_sizes([_at(one, x) for one in group]) for x in _common(group)), default=0.0)


def _common(group: Sequence[Frontier]) -> set[int]:
    return set.intersection(*({point.x for point in one.points} for one in group))


def _shared(points: Sequence[Found], frontier: Frontier) -> str:
    """Name the settings shared by all points, except size and the axis of the frontier."""
    others = [axis for axis in AXES if axis not in {SIZE, FRONTIER_AXES[frontier.axis]}]
    values = [(axis, axis.values(one.point for one in points)) for axis in others]
    return ", ".join(axis.name(of[0]) for axis, of in values if len(of) == 1 and of[0])


def _reach(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], shared: str) -> str:
    """Describe the sizes that one subject holds at the easiest and at the hardest value of the axis."""
    first = frontiers[0]
    known = [point for point in first.points if size_reached(point) is not None]
    name, axis = names[first.subject], FRONTIER_AXES[first.axis]
    rest = (f", {first.rest}" if first.rest else "") + shared
    if not known:
        return f"{name} does not hold {target} at any measured size{rest}"
    easiest = max(known, key=_reached)
    hardest = min(known, key=_reached)
    ends = [axis.name(point.x) for point in (first.points[0], first.points[-1])]
    everywhere = len({_size(point) for point in first.points}) == 1 and ends[0] != ends[1]
    where = f"from {ends[0]} to {ends[1]}" if everywhere else f"at {axis.name(easiest.x)}"
    sentence = f"{name} holds {target} up to {_size(easiest)} {where}"
    if _reached(hardest) != _reached(easiest):
        sentence += f", up to {_size(hardest)} at {axis.name(hardest.x)}"
    nowhere = [
        axis.name(point.x) for point in first.points if point.fails_from_bytes is not None and point.size_bytes is None
    ]
    if nowhere:
        sentence += f", and no measured size at {some_of(nowhere)}"
    return sentence + rest


def _compared(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], shared: str) -> str:
    """Compare the subjects where they differ most; subjects whose intervals overlap there are a tie."""
    first = frontiers[0]
    common = _common(frontiers)
    if not common:
        return "; ".join(_reach([one], target, names, shared) for one in frontiers)
    at = max(sorted(common), key=lambda x: _span_of_sizes([_at(one, x) for one in frontiers]))
    order = sorted(frontiers, key=lambda one: -_reached(_at(one, at)))
    reached = [f"{names[one.subject]} up to {_size(_at(one, at))}" for one in order if _reached(_at(one, at)) >= 0]
    without = [names[one.subject] for one in order if _reached(_at(one, at)) < 0]
    where = FRONTIER_AXES[first.axis].name(at) + (f", {first.rest}" if first.rest else "") + shared
    nothing = f"; {listed(without)} at no measured size" if without else ""
    if not reached:
        return f"At {where}, {target} were not held at any measured size"
    return f"At {where}, {target} are held by {listed(reached)}{nothing}{_ties(order, at, names)}"


def _ties(order: Sequence[Frontier], at: int, names: Mapping[str, str]) -> str:
    """Name the pairs whose difference may be chance; without names if every pair is tied."""
    pairs = list(combinations(order, 2))
    tied = [(one, other) for one, other in pairs if _overlap(_at(one, at), _at(other, at))]
    if not tied:
        return ""
    if len(tied) == len(pairs):
        return "; the difference may be chance" if len(order) == 2 else "; the differences may be chance"
    pairs_named = some_of([f"{names[one.subject]} and {names[other.subject]}" for one, other in tied])
    return f"; between {pairs_named} the difference may be chance"


def _counted(points: Sequence[Found], subject: str, target: str, name: str) -> str:
    """Return how many points a subject holds, the least rate of the link that suffices, and the limit of the others."""
    own = [one for one in points if one.subject == subject]
    held = [one for one in own if one.holds]
    parts = [f"{name} holds {target} at {len(held)} of {len(own)} points"]
    least = _least_rate(own, held)
    if least:
        parts.append(least)
    failed = [one for one in own if not one.holds and one.tone is not Tone.UNKNOWN]
    limits = Counter(one.limit for one in failed if one.limit in _OF_THE_POINT)
    if limits:
        most, count = limits.most_common(1)[0]
        parts.append(f"{most} limits {count} of the others")
    unknown = sum(one.tone is Tone.UNKNOWN for one in own)
    if unknown:
        parts.append(f"{unknown} are unreliable" if unknown > 1 else "1 is unreliable")
    return ", ".join(parts)


def _least_rate(own: Sequence[Found], held: Sequence[Found]) -> str:
    rates = [rate for rate in LINK_RATE.values(one.point for one in own) if rate is not None]
    holding = [one.point.rate_bits_per_s for one in held if one.point.rate_bits_per_s is not None]
    return f"with {LINK_RATE.name(min(holding))} or more" if len(rates) > 1 and holding else ""


def _at(frontier: Frontier, x: int) -> FrontierPoint:
    return next(point for point in frontier.points if point.x == x)


def _reached(point: FrontierPoint) -> int:
    size = size_reached(point)
    return -1 if size is None else size


def _span_of_sizes(points: Sequence[FrontierPoint]) -> float:
    sizes = [_reached(point) for point in points]
    return (max(sizes) + 1) / (min(sizes) + 2)


def _overlap(one: FrontierPoint, other: FrontierPoint) -> bool:
    """Return whether both boundaries may be the same."""
    ends = [(point.holds_up_to_bytes or 0, point.fails_from_bytes) for point in (one, other)]
    low = max(start for start, _ in ends)
    return all(end is None or low < end for _, end in ends)


def _size(point: FrontierPoint) -> str:
    """Format the size reached, with its doubt: ``300 KiB``, ``400 KiB or more``, ``300 KiB (surely 250 KiB)``."""
    reached = size_reached(point) or 0
    size = shown_size(reached)
    if point.fails_from_bytes is None:
        return f"{size} or more"
    if point.doubtful and point.holds_up_to_bytes is not None and point.holds_up_to_bytes < reached:
        return f"{size} (surely {shown_size(point.holds_up_to_bytes)})"
    return size


_HELD_WORDS: Final = {Tone.HELD: "held", Tone.DOUBTFUL: "held?"}
_SUBJECT: Final = "subject"


def capacity_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Build tables of a capacity run that fit a terminal.

    There is one table for each subject and each value of the axes that are neither rows nor columns, and one table of
    the frontiers, if there are any. The first table has the headline; the last one has the legend.

    Trials without a point are skipped.
    """
    points = found(trials)
    names = {one.subject: one.subject for one in points}
    frontiers = reached(trials, settings)
    tables = [] if is_search(settings) and frontiers else _grids(points, names)
    notes = _legend(points) if tables else []
    if frontiers:
        tables += reach_tables(frontiers, target_words(points))
        notes += reach_legend(frontiers)
    notes += capacity_sentences(trials)
    tables = tables or [Table((Column(_SUBJECT),), ())]
    tables[0] = tables[0].answering(capacity_headline(points, frontiers, names))
    last = tables.pop()
    return (*tables, replace(last, notes=(*last.notes, *map(Note, notes))))


def _grids(points: Sequence[Found], names: Mapping[str, str]) -> list[Table]:
    if not points:
        return []
    layout = Layout.of([one.point for one in points], len(names))
    places = dict.fromkeys(layout.panel(one) for one in points)
    return [_table(layout, place, [one for one in points if layout.panel(one) == place], names) for place in places]


def _table(layout: Layout, place: Place, points: Sequence[Found], names: Mapping[str, str]) -> Table:
    columns = layout.across.values(one.point for one in points)
    rows = _view_rows(layout, points, names)
    cells = [(label, *(_cell(_found_at(layout.across, value, of)) for value in columns)) for label, of in rows]
    parts = [layout.panel_name(place, names), layout.shared([one.point for one in points])]
    if layout.up is not None:
        parts.append(f"down: {layout.up.heading(layout.up.values(one.point for one in points))}")
    parts.append(f"across: {layout.across.heading(columns)}")
    corner = _SUBJECT if layout.up is None else layout.up.title
    return Table(
        (Column(corner), *(Column(label, _AT_THE_RIGHT, toned=True) for label in layout.across.labels(columns))),
        tuple(cells),
        title="; ".join(part for part in parts if part),
    )


def _view_rows(layout: Layout, points: Sequence[Found], names: Mapping[str, str]) -> list[tuple[str, list[Found]]]:
    """Return the name of each row and its points."""
    up = layout.up
    if up is None:
        return [(name, [one for one in points if one.subject == subject]) for subject, name in names.items()]
    values = up.values(one.point for one in points)
    return [(label, _found_at(up, value, points)) for label, value in zip(up.labels(values), values, strict=True)]


def _found_at(axis: GridAxis, value: Value, points: Sequence[Found]) -> list[Found]:
    return [one for one in points if axis.read(one.point) == value]


def _cell(points: Sequence[Found]) -> str | None:
    """Describe the result at a point; None if there was no trial."""
    if not points:
        return None
    one = points[0]
    if one.tone in _HELD_WORDS:
        return _HELD_WORDS[one.tone]
    if one.tone is Tone.UNKNOWN and one.point.target_per_s is not None:
        return f"({one.word})" if one.word else "?"
    return f"{one.word} %" if one.word.isdecimal() and one.share is not None else one.word or "failed"


def _objective(points: Sequence[Found]) -> str:
    """Describe the objective, and the range of p99 of the points that are held."""
    asked = dict.fromkeys(one.point.objective for one in points if one.point.objective)
    required = f"and {' or '.join(asked)}" if asked else "and the objective"
    of_held = [one.p99_ns for one in points if one.tone in _HELD_WORDS and one.p99_ns is not None]
    ends = dict.fromkeys(format_time(end) for end in (min(of_held), max(of_held))) if of_held else ()
    return f"{required}; p99 there was {' to '.join(ends)}" if ends else required


def _legend(points: Sequence[Found]) -> list[str]:
    """Explain the words that occur in cells."""
    cells = {_cell([one]) or "" for one in points}
    words = {cell.strip("()") for cell in cells}
    target = target_words(points)
    notes = []
    if "held" in words or "held?" in words:
        notes.append(f"held: {target}, {_objective(points)}")
    if "held?" in words:
        notes.append("held?: only in some trials")
    if any(cell.endswith("%") for cell in words):
        notes.append(f"percentages: share of the {target}")
    if "slow" in words:
        notes.append("slow: the rate is held, but the response times miss the objective")
    if "errors" in words:
        notes.append("errors: the rate is held, but too many requests failed")
    if any(cell.startswith("(") or cell == "?" for cell in cells):
        notes.append("in brackets: unreliable; --format csv and the report give the reason")
    return notes


GRID: Final = "Where it holds"
FRONTIER: Final = "How far it reaches"
_FILLED: Final = 0.6
"""Least share of points for a grid chart: the scattered points of a search make no grid."""
_FRAMES: Final = 6
"""Most frames that a reader can compare; the table has a row for each setting."""
_NAMED: Final = {
    FrontierAxis.ROUND_TRIP: "round-trip time",
    FrontierAxis.LINK_RATE: "rate of the link",
    FrontierAxis.DELAY: "delay of the server",
    FrontierAxis.CONCURRENCY: "requests in flight",
}
_BITS: Final = 8


def grid_chart(points: Sequence[Found], names: Mapping[str, str]) -> Chart | None:
    """Draw one grid for each subject and each value of the axes that are neither rows nor columns.

    None if the points fill too little of the grid. ``names`` maps ids of subjects to their names, in the order of the
    report.
    """
    if not points:
        return None
    layout = Layout.of([one.point for one in points], len(names))
    columns = layout.across.values(one.point for one in points)
    rows = _chart_rows(layout, points, names)
    places = list(dict.fromkeys(layout.panel(one) for one in points))
    if len(points) < _FILLED * len(columns) * len(rows) * len(places):
        return None
    across = dict(zip(columns, layout.across.labels(columns), strict=True))
    placed = {(layout.panel(one), _chart_row(layout, one), layout.across.read(one.point)): one for one in points}
    titles = {place: layout.panel_name(place, names) for place in places}
    tiles = [
        Tile(titles[place], across[column], rows[row], one.tone, one.word, _words(one, layout, names))
        for place in places
        for row in rows
        for column in columns
        if (one := placed.get((place, row, column))) is not None
    ]
    shared = layout.shared([one.point for one in points])
    return Chart(
        name="grid",
        title=f"Where {target_words(points)} are held" if target_words(points) else "Answers a second",
        kind=ChartKind.TILES,
        x=Axis(layout.across.heading(columns)),
        y=Axis(layout.up.heading(layout.up.values(one.point for one in points)) if layout.up else ""),
        series=(),
        caption=_grid_caption(points, shared),
        section=GRID,
        tiles=tuple(tiles),
        tones=TONES,
    )


def frontier_charts(
    frontiers: Sequence[Frontier], points: Sequence[Found], names: Mapping[str, str]
) -> Iterator[Chart]:
    """Draw the frontiers of all subjects, one chart for each combination of the other settings, if these are few.

    ``points`` are of the same trials and give the target. ``names`` maps ids of subjects to their names.
    """
    frames = dict.fromkeys((one.axis, one.rest) for one in frontiers)
    for nth, (axis, rest) in enumerate(frames if len(frames) <= _FRAMES else ()):
        drawn = [one for one in frontiers if (one.axis, one.rest) == (axis, rest)]
        if max(len(one.points) for one in drawn) < len(("from", "to")):
            continue
        label = _NAMED[axis]
        unit, factor = FRONTIER_AXES[axis].unit([point.x for one in drawn for point in one.points])
        series = [_frontier(one, names[one.subject], factor) for one in drawn]
        if axis is FrontierAxis.LINK_RATE:
            series += _allowed(points, series, factor)
        yield Chart(
            name=f"frontier-{nth}" if nth else "frontier",
            title=f"Largest answers at which {target_words(points)} are held{f', {rest}' if rest else ''}",
            kind=ChartKind.STAIRS,
            x=Axis(label, unit),
            y=Axis("largest size that holds", "KiB"),
            series=tuple(series),
            caption=_frontier_caption(drawn, label),
            section=FRONTIER,
            colours=tuple(names.values()),
        )


def _chart_rows(layout: Layout, points: Sequence[Found], names: Mapping[str, str]) -> dict[int | str | None, str]:
    """Return the rows with their labels, the lowest first."""
    if layout.up is None:
        return dict(reversed(list(names.items())))
    values = layout.up.values(one.point for one in points)
    return dict(zip(values, layout.up.labels(values), strict=True))


def _chart_row(layout: Layout, one: Found) -> int | str | None:
    return layout.up.read(one.point) if layout.up else one.subject


def _words(one: Found, layout: Layout, names: Mapping[str, str]) -> str:
    """Describe a point: its position, result and limit."""
    where = [axis.name(axis.read(one.point)) for axis in (layout.up, layout.across) if axis is not None]
    subject = [] if layout.up else [names[one.subject]]
    parts = [", ".join(part for part in (*subject, *where) if part)]
    if one.per_s is not None:
        parts.append(f"{one.per_s:,.0f} a second" + (f", p99 {format_time(one.p99_ns)}" if one.p99_ns else ""))
    parts += [one.why] if one.why and one.tone is not Tone.HELD else []
    parts += [one.limit_text] if one.limit_text and one.tone is not Tone.HELD else []
    return "; ".join(parts)


def _grid_caption(points: Sequence[Found], shared: str) -> str:
    sentences = ["Each point shows the share of the rate that was reached, in per cent."]
    words = {one.word for one in points}
    if "slow" in words:
        sentences.append("slow: the rate was reached, but answers took longer than the objective allows.")
    if "errors" in words:
        sentences.append("errors: too many requests failed.")
    sentences.append("The line joins the last points that hold.")
    return " ".join([*sentences, *([f"All points: {shared}."] if shared else [])])


def _frontier(one: Frontier, name: str, factor: int) -> Series:
    return Series(
        name,
        tuple(point.x / factor for point in one.points),
        tuple(_kib(size_reached(point)) for point in one.points),
        tuple(_kib(point.holds_up_to_bytes) for point in one.points),
        tuple(_kib(point.fails_from_bytes) for point in one.points),
    )


def _kib(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / _KIB


def _allowed(points: Sequence[Found], reached: Sequence[Series], factor: int) -> list[Series]:
    """Draw the sizes that the rate of the link allows, up to the largest measured size."""
    targets = {one.point.target_per_s for one in points}
    target = targets.pop()
    if targets or target is None:
        return []
    across = [x for series in reached for x in series.x if not isinstance(x, str)]
    tried = max((SIZE.read(one.point) or 0) / _KIB for one in points)
    per_unit = factor / _BITS / target / _KIB
    ends = [(x, x * per_unit) for x in (min(across), min(max(across), 1.2 * tried / per_unit))]
    return [Series("limit of the link", tuple(x for x, _ in ends), tuple(y for _, y in ends), faint=True)]


def _frontier_caption(drawn: Sequence[Frontier], label: str) -> str:
    trials, grid = sum(one.trials for one in drawn), sum(one.grid_trials for one in drawn)
    sentences = [
        f"The line is the largest size that a subject holds; between two values of the {label} it stays at that of the"
        " harder one. Bars extend from the largest size that surely holds to the smallest that surely fails; the result"
        " in the shaded parts is unknown."
    ]
    if any(point.fails_from_bytes is None for one in drawn for point in one.points):
        sentences.append("Upward arrow: this size or more; no larger size is known to fail.")
    if any(point.fails_from_bytes and point.size_bytes is None for one in drawn for point in one.points):
        sentences.append("Downward arrow: the smallest measured size already fails.")
    if len(drawn) > 1:
        sentences.append("Lines that would overlap are drawn side by side.")
    if grid > trials:
        sentences.append(f"Found in {trials} trials; the grid has {grid} points.")
    return " ".join(sentences)


_OF_POINTS: Final = frozenset({"URLs", "Link"})


def capacity_report(run: Run, definition: Definition) -> Report:
    """Return the report of a capacity run, which may be partial or empty."""
    trials = run.records()
    points = found(trials)
    frontiers = reached(trials, run.manifest.settings)
    names = subject_names(trials, ())
    where = len({one.point for one in points})
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(where, 'point')}, {counted(len(trials), 'trial')}",
        headline=capacity_headline(points, frontiers, names),
        table=definition.presentation.table(trials),
        charts=_charts(run, trials, points, frontiers, names),
    )
    errors = replace(report.errors, title="Errors by name")
    return replace(
        report,
        facts=(*_asked(run.manifest), *_facts(report.facts)),
        errors=errors,
        figures="A row for each point: medians of its trials.",
        findings=(*capacity_sentences(trials), *search_notes(frontiers)),
        evidence=(*report.evidence, *([errors] if errors.rows else [])),
    )


def _charts(
    run: Run, trials: Sequence[Trial], points: Sequence[Found], frontiers: Sequence[Frontier], names: dict[str, str]
) -> Iterator[Chart]:
    yield from frontier_charts(frontiers, points, names)
    grid = grid_chart(points, names)
    if grid is not None:
        yield grid
    yield from published_charts(trials, run.manifest)


def _asked(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Return the objective and the scale of the grid."""
    settings = manifest.settings
    objective = settings.get("slo")
    if objective:
        yield "Objective", str(objective)
    if settings.get("scale") not in {None, "1"}:
        yield "Scale", f"{settings['scale']} of the published rates and numbers in flight"


def _facts(facts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Drop facts that vary by point: the links have a table, the number of URLs follows from the rate."""
    return ((name, text) for name, text in facts if name not in _OF_POINTS)


def capacity_result(trial: Trial) -> str | None:
    """Return whether a point was held; without a target rate, its figures."""
    summary = trial.get(CapacitySummary)
    if summary is None:
        return None
    per_s = "" if summary.per_s is None else f"{summary.per_s:,.0f} a second"
    p99 = "" if summary.response_p99_ns is None else f"p99 {format_time(summary.response_p99_ns)}"
    figures = ", ".join(filter(None, (per_s, p99)))
    if summary.held is None:
        return figures or "no answers"
    return f"held: {figures}" if summary.held else f"not held: {summary.why_not}"


class CapacityPresentation(Presentation):
    """Presentation of a grid; compared with a published grid, its rows are points."""

    __slots__ = ()

    def compare_with_published(
        self,
        manifest: Manifest,
        trials: Sequence[Trial],
        published: PublishedTable,
        here: Circumstances,
        *,
        for_programs: bool,
    ) -> Table:
        """Compare a grid with a published one, point by point."""
        del for_programs
        return grid_comparison(manifest, trials, published, here)

    def preset_rows(self, of: PresetRun, format_name: str) -> tuple[Table, ...]:
        """Return the grid for programs; CSV has the published columns."""
        return grid_rows(of, format_name)


PRESENTATION: Final = CapacityPresentation(
    metrics=CAPACITY_METRICS,
    ranked_by="right_per_s",
    identity=(
        Column("subject", description="name of the subject's folder"),
        Column("condition", description="the point: size, delay, link, requests in flight"),
    ),
    tabulate=point_table,
    views=capacity_views,
    trial_result=capacity_result,
    report=capacity_report,
    preset_views=grid_views,
)
