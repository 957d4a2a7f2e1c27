"""The metrics, tables, charts, headline and report of the capacity question."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import combinations, product
from typing import Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import AXES, LINK_RATE, SIZE, Axes, Quantity, Value, shown_size
from httpdyno.experiments.capacity.figures import DEFAULT_OBJECTIVE, CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import TONES, Mark, PointResult, point_results, target_words, trials_by_point
from httpdyno.experiments.capacity.limits import LimitKind, capacity_sentences
from httpdyno.experiments.capacity.plan import CapacityPreset, Frontier, FrontierPoint, frontiers
from httpdyno.experiments.capacity.published import comparison_table, grid_views, in_form, published_charts, scale_of
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
    format_time,
    records_of,
)
from httpdyno.published import Circumstances, PublishedTable
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import median
from httpdyno.store import Manifest, Run

_MS: Final = 1e-6
_figure: Final = partial(of_record, CapacitySummary)


def _time(name: str, description: str, field: str) -> Metric:
    return Metric(Column(name, ColumnKind.DURATION, "ms", description), _figure(field, _MS), Direction.LOWER, 1)


CAPACITY_METRICS: Final = (
    Metric(
        Column("right_per_s", ColumnKind.DECIMAL, "1/s", "right answers a second, over the steady stretch"),
        _figure("per_s"),
        Direction.HIGHER,
        1,
        "right answers a second",
    ),
    _time("mean", "mean time of an answer, from when its request was sent", "service_mean_ns"),
    _time("p50", "median time, open loop: from when the request was due", "response_p50_ns"),
    _time("p99", "99th percentile of that time", "response_p99_ns"),
    Metric(
        Column("errors", ColumnKind.NUMBER, description="requests without a right answer among all, 0 to 1"),
        _figure("errors_share"),
        Direction.LOWER,
        6,
    ),
)
"""In the order of their columns."""
_Panel = tuple[str, tuple[Value, ...]]
"""A panel: a subject, and the values of the axes that make panels."""
_Row = Value | str


@dataclass(frozen=True, slots=True)
class Layout:
    """Roles of the axes of a grid.

    The two axes with the most values span the grid. If only one axis varies, the rows are subjects; if none varies, the
    grid has one column.
    """

    across: Quantity
    up: Quantity | None
    """None: the rows are subjects."""
    panels: tuple[Quantity, ...]
    several_subjects: bool

    @classmethod
    def of(cls, points: Sequence[CapacityPoint], subjects: int) -> Self:
        """Choose the roles for these points."""
        counts = {axis: len(axis.distinct(points)) for axis in AXES}
        varied = [axis for axis in AXES if counts[axis] > 1]
        chosen = sorted(varied, key=lambda axis: -counts[axis])[:2]
        if len(chosen) < 2:
            return cls(chosen[0] if chosen else SIZE, None, (), subjects > 1)
        # Up runs the size, as in the question: up to which size?
        across, up = sorted(chosen, key=lambda axis: len(AXES) if axis is SIZE else AXES.index(axis))
        return cls(across, up, tuple(axis for axis in varied if axis not in chosen), subjects > 1)

    def place(self, of: PointResult) -> tuple[_Panel, _Row, Value]:
        """Return the panel, the row and the column of a point."""
        panel = of.subject if self.up else "", tuple(axis.at(of.point) for axis in self.panels)
        return panel, self.up.at(of.point) if self.up else of.subject, self.across.at(of.point)

    def panel_name(self, panel: _Panel, names: Mapping[str, str]) -> str:
        """Return the name of a panel; empty if there is only one panel."""
        subject, values = panel
        parts = [names[subject]] if subject and self.several_subjects else []
        return ", ".join([*parts, *(axis.name(value) for axis, value in zip(self.panels, values, strict=True))])

    def columns(self, points: Sequence[PointResult]) -> tuple[str, Mapping[Value, str]]:
        """Return the heading of the columns, and the columns with their labels, in ascending order."""
        return self.across.labels(self.across.distinct(one.point for one in points))

    def rows(self, points: Sequence[PointResult], names: Mapping[str, str]) -> tuple[str, Mapping[_Row, str]]:
        """Return the heading of the rows, and the rows with their labels: subjects, or values in ascending order."""
        if self.up is None:
            return "", dict(names.items())
        heading, labels = self.up.labels(self.up.distinct(one.point for one in points))
        return heading, dict(labels.items())

    def shared(self, points: Sequence[CapacityPoint]) -> str:
        """Describe the settings shared by all points: ``delay 100 ms, 10 Gbit/s``."""
        return _shared(points, {self.across, self.up, *self.panels})


def _shared(points: Sequence[CapacityPoint], apart: Collection[Quantity | None]) -> str:
    """Describe the settings shared by all points, without zeros and without some axes."""
    values = [(axis, axis.distinct(points)) for axis in AXES if axis not in apart]
    return ", ".join(axis.name(of[0]) for axis, of in values if len(of) == 1 and (of[0] or axis is SIZE))


_FEWEST_SIZES: Final = 3
"""Fewest sizes of a grid with a frontier: two sizes that are far apart do not locate it."""


def find_frontiers(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Frontier, ...]:
    """Return the frontier of each subject.

    Empty if the run varied no sizes, had no target rate, or if its settings do not define its grid.
    """
    points = records_of(CapacityPoint, trials)
    try:
        axes = Axes.restored(settings)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return ()
    sizes = len({point.size_bytes for point in points})
    if axes.rps is None or not points or not (settings.get("frontier") or sizes >= _FEWEST_SIZES):
        return ()
    objective, repeat = str(settings.get("slo") or DEFAULT_OBJECTIVE), settings.get("repeat")
    return frontiers(trials, axes, objective, repeat=repeat if isinstance(repeat, int) else 1)


_AT_THE_RIGHT: Final = ColumnKind.DECIMAL
"""Right-aligned, although cells hold words and shares: a narrow terminal repeats the leading text columns."""
_KIB: Final = 1024
_OR_MORE: Final = "\u2265"


class _Reach(StrEnum):
    """Kinds of cells of a frontier that need an explanation."""

    AT_LEAST = f"{_OR_MORE}: holds for sure; no larger size is known to fail"
    UNKNOWN = "?: unknown"
    BETWEEN = "two sizes: the rate is held at the first, not at the second; the sizes in between are undecided"
    NONE = "none: the smallest measured size already fails"


def _size_cell(point: FrontierPoint) -> tuple[str, _Reach | None]:
    """Return the text of a cell, and its kind unless it is one size."""
    size, fails = point.reached_bytes, point.fails_from_bytes
    if fails is None:
        return ("?", _Reach.UNKNOWN) if size is None else (f"{_OR_MORE} {_kib_text(size)}", _Reach.AT_LEAST)
    if size is None:
        return "none", _Reach.NONE
    if point.doubtful:
        return f"{_kib_text(point.holds_up_to_bytes or 0)} - {_kib_text(fails)}", _Reach.BETWEEN
    return _kib_text(size), None


def _kib_text(size_bytes: int) -> str:
    return format_exact(round(size_bytes / _KIB, 1))


def reach_table(frontiers: Sequence[Frontier], target: str) -> Table:
    """Build the table of the frontiers; varied settings other than the axis are part of the row's name.

    ``target`` is the rate to hold, in words.
    """
    axis, values = frontiers[0].axis, [point.x for point in frontiers[0].points]
    settings = list(dict.fromkeys(one.rest for one in frontiers))
    several = len(settings) > 1
    rows = tuple(
        (one.subject, *([one.rest] if several else []), *(_size_cell(point)[0] for point in one.points))
        for one in sorted(frontiers, key=lambda one: settings.index(one.rest))
    )
    heading, labels = axis.labels(values)
    leading = (Column("subject"), *([Column("at")] if several else []))
    rest = "" if several or not settings[0] else f"; {settings[0]}"
    return Table(
        (*leading, *(Column(label, _AT_THE_RIGHT) for label in labels.values())),
        rows,
        title=f"largest size at which {target} are held, KiB{rest}; across: {heading}",
    )


def reach_legend(frontiers: Sequence[Frontier]) -> list[str]:
    """Explain the cells of the tables and give the number of trials."""
    kinds = {_size_cell(point)[1] for one in frontiers for point in one.points}
    notes = [kind.value for kind in _Reach if kind in kinds]
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


_POINT_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("size", ColumnKind.SIZE, "bytes", "content of each answer"),
    Column("delay", ColumnKind.DURATION, "ms", "wait of the server before it answers"),
    Column("rtt", ColumnKind.DURATION, "ms", "round-trip time of the link"),
    Column("linkRate", ColumnKind.INTEGER, "bit/s", "rate of the link towards the subject; null: not limited"),
    Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
    Column("target", ColumnKind.DECIMAL, "1/s", "right answers a second to hold"),
    *(metric.column for metric in CAPACITY_METRICS),
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
_HELD: Final = {Tone.HELD: True, Tone.DOUBTFUL: None, Tone.UNKNOWN: None}


def point_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each subject and point, in the order of the grid.

    Figures are medians over the trials of the row; ``held`` is null if the trials disagree.
    """
    groups = trials_by_point(trials)
    cells = [_point_cells(one, of) for one, of in zip(point_results(trials), groups.values(), strict=True)]
    # A note that applies to many points is printed once for each subject.
    own: dict[str, list[Trial]] = {}
    for (subject, _), of in groups.items():
        own.setdefault(subject, []).extend(of)
    notes = [Note(f"{subject}: {text}") for subject, of in own.items() for text in trial_notes(of)]
    rows = (tuple(row[column.name] for column in _POINT_COLUMNS) for row in cells)
    return Table(_POINT_COLUMNS, tuple(rows), notes=tuple(notes))


def _point_cells(one: PointResult, trials: Sequence[Trial]) -> Mapping[str, Cell]:
    point = one.point
    failed = next((trial.outcome for trial in trials if trial.outcome is not Outcome.OK), None)
    limits = (summary.limit_per_s for summary in records_of(CapacitySummary, trials))
    return {
        "subject": one.subject,
        "size": point.size_bytes,
        "delay": round(point.delay_ns * _MS, 6),
        "rtt": round(point.round_trip_ns * _MS, 6),
        "linkRate": point.rate_bits_per_s,
        "concurrency": point.concurrency,
        "target": point.target_per_s,
        **{metric.name: metric.rounded(median(map(metric.figure, trials))) for metric in CAPACITY_METRICS},
        "held": _HELD.get(one.tone, False),
        "limit": one.limit,
        "verdict": failed.value if failed else worst_validity(trials) or "",
        "queue": None if point.queue_ns is None else round(point.queue_ns * _MS, 6),
        "loop": point.loop.value,
        "limit_per_s": next((round(limit, 1) for limit in limits if limit is not None), None),
        "why_not": one.why,
        "limit_text": one.limit_text,
        "trials": one.trials,
    }


_OF_THE_POINT: Final = frozenset({LimitKind.BANDWIDTH, LimitKind.WINDOW, LimitKind.CPU, LimitKind.CONCURRENCY})
"""Limits of a subject; an exhausted origin or link limits the measurement instead."""


def capacity_headline(points: Sequence[PointResult], frontiers: Sequence[Frontier], names: Mapping[str, str]) -> str:
    """Return one sentence, without a full stop: the largest sizes at which the subjects hold the rate.

    ``frontiers`` is empty if sizes were not varied. ``names`` maps ids of subjects to their names.
    """
    if not points:
        return "Nothing was measured: the run has no finished trial"
    target = target_words(points)
    if not target:
        return f"{len(points)} points were measured, without a target rate"
    if not frontiers:
        return "; ".join(_counted(points, subject, target, name) for subject, name in names.items())
    groups: dict[str, list[Frontier]] = {}
    for one in frontiers:
        groups.setdefault(one.rest, []).append(one)
    rest, widest = max(groups.items(), key=lambda group: _widest(group[1])[0])
    shared = _shared([one.point for one in points], {SIZE, frontiers[0].axis})
    where = (f", {rest}" if rest else "") + (f" ({shared})" if shared else "")
    more = len(groups) - 1
    elsewhere = f"; the tables have {more} more setting{'s' if more > 1 else ''}" if more else ""
    describe = _compared if len(widest) > 1 else _reach
    return describe(widest, target, names, where) + elsewhere


def _reached(point: FrontierPoint) -> int:
    size = point.reached_bytes
    return -1 if size is None else size


def _widest(group: Sequence[Frontier]) -> tuple[float, int]:
    """Return the largest ratio between the subjects of one setting, and the index of its point.

    For one subject, the ratio is the size that it reaches.
    """
    sizes = [[_reached(point) for point in points] for points in zip(*(one.points for one in group), strict=True)]
    ratios = [(max(of) + 1) / (min(of) + 2) for of in sizes]
    return max(ratios), ratios.index(max(ratios))


def _reach(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], where: str) -> str:
    """Describe the sizes that one subject holds at the easiest and at the hardest value of the axis."""
    (first,) = frontiers
    known = [point for point in first.points if point.reached_bytes is not None]
    name, axis = names[first.subject], first.axis
    if not known:
        return f"{name} does not hold {target} at any measured size{where}"
    easiest, hardest = max(known, key=_reached), min(known, key=_reached)
    ends = [axis.name(point.x) for point in (first.points[0], first.points[-1])]
    everywhere = len({_size(point) for point in first.points}) == 1 and ends[0] != ends[1]
    along = f"from {ends[0]} to {ends[1]}" if everywhere else f"at {axis.name(easiest.x)}"
    sentence = f"{name} holds {target} up to {_size(easiest)} {along}"
    if _reached(hardest) != _reached(easiest):
        sentence += f", up to {_size(hardest)} at {axis.name(hardest.x)}"
    nowhere = [
        axis.name(point.x) for point in first.points if point.fails_from_bytes is not None and point.size_bytes is None
    ]
    if nowhere:
        sentence += f", and no measured size at {some_of(nowhere)}"
    return sentence + where


def _compared(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], where: str) -> str:
    """Compare the subjects where they differ most; subjects whose intervals overlap there are a tie."""
    _, index = _widest(frontiers)
    here = {names[one.subject]: one.points[index] for one in frontiers}
    here = dict(sorted(here.items(), key=lambda one: -_reached(one[1])))
    reached = [f"{name} up to {_size(point)}" for name, point in here.items() if _reached(point) >= 0]
    without = [name for name, point in here.items() if _reached(point) < 0]
    place = f"At {frontiers[0].axis.name(frontiers[0].points[index].x)}{where}"
    if not reached:
        return f"{place}, {target} were not held at any measured size"
    nothing = f"; {listed(without)} at no measured size" if without else ""
    return f"{place}, {target} are held by {listed(reached)}{nothing}{_ties(here)}"


def _ties(here: Mapping[str, FrontierPoint]) -> str:
    """Name the pairs whose difference may be chance; without names if every pair is tied."""
    pairs = list(combinations(here, 2))
    tied = [f"{one} and {other}" for one, other in pairs if _overlap(here[one], here[other])]
    if not tied:
        return ""
    if len(tied) == len(pairs):
        return f"; the difference{'' if len(pairs) == 1 else 's'} may be chance"
    return f"; between {some_of(tied)} the difference may be chance"


def _counted(points: Sequence[PointResult], subject: str, target: str, name: str) -> str:
    """Return how many points a subject holds, the least rate of the link that suffices, and the limit of the others."""
    own = [one for one in points if one.subject == subject]
    held = [one for one in own if one.tone is Tone.HELD]
    parts = [f"{name} holds {target} at {len(held)} of {len(own)} points"]
    rates = {one.point.rate_bits_per_s for one in own} - {None}
    holding = [one.point.rate_bits_per_s for one in held if one.point.rate_bits_per_s is not None]
    if len(rates) > 1 and holding:
        parts.append(f"with {LINK_RATE.name(min(holding))} or more")
    failed = [one for one in own if one.tone not in {Tone.HELD, Tone.UNKNOWN}]
    limits = Counter(one.limit for one in failed if one.limit in _OF_THE_POINT)
    if limits:
        most, count = limits.most_common(1)[0]
        parts.append(f"{most} limits {count} of the others")
    unknown = sum(one.tone is Tone.UNKNOWN for one in own)
    if unknown:
        parts.append(f"{unknown} are unreliable" if unknown > 1 else "1 is unreliable")
    return ", ".join(parts)


def _overlap(one: FrontierPoint, other: FrontierPoint) -> bool:
    """Return whether both boundaries may be the same."""
    ends = [(point.holds_up_to_bytes or 0, point.fails_from_bytes) for point in (one, other)]
    low = max(start for start, _ in ends)
    return all(end is None or low < end for _, end in ends)


def _size(point: FrontierPoint) -> str:
    """Format the size reached, with its doubt: ``300 KiB``, ``400 KiB or more``, ``300 KiB (surely 250 KiB)``."""
    reached = point.reached_bytes or 0
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
    the frontiers, if there are any; of a search, only the latter. The first table has the headline; the last one has
    the legend.

    Trials without a point are skipped.
    """
    points = point_results(trials)
    names = {one.subject: one.subject for one in points}
    frontiers = find_frontiers(trials, settings)
    tables = [] if settings.get("frontier") and frontiers else _grids(points, names)
    notes = _legend(points) if tables else []
    if frontiers:
        tables.append(reach_table(frontiers, target_words(points)))
        notes += reach_legend(frontiers)
    notes += capacity_sentences(trials)
    tables = tables or [Table((Column(_SUBJECT),), ())]
    tables[0] = tables[0].answering(capacity_headline(points, frontiers, names))
    last = tables.pop()
    return (*tables, replace(last, notes=(*last.notes, *map(Note, notes))))


def _grids(points: Sequence[PointResult], names: Mapping[str, str]) -> list[Table]:
    layout = Layout.of([one.point for one in points], len(names))
    panels: dict[_Panel, list[PointResult]] = {}
    for one in points:
        panels.setdefault(layout.place(one)[0], []).append(one)
    return [_table(layout, panel, of, names) for panel, of in panels.items()]


def _table(layout: Layout, panel: _Panel, points: Sequence[PointResult], names: Mapping[str, str]) -> Table:
    placed = {layout.place(one): one for one in points}
    (across, columns), (down, rows) = layout.columns(points), layout.rows(points, names)
    cells = [(label, *(_cell(placed.get((panel, row, column))) for column in columns)) for row, label in rows.items()]
    parts = [layout.panel_name(panel, names), layout.shared([one.point for one in points])]
    parts += [f"down: {down}" if down else "", f"across: {across}"]
    corner = _SUBJECT if layout.up is None else layout.up.title
    return Table(
        (Column(corner), *(Column(label, _AT_THE_RIGHT, toned=True) for label in columns.values())),
        tuple(cells),
        title="; ".join(part for part in parts if part),
    )


def _cell(one: PointResult | None) -> str | None:
    """Describe the result at a point; None if there was no trial."""
    if one is None:
        return None
    if one.tone in _HELD_WORDS:
        return _HELD_WORDS[one.tone]
    if one.tone is Tone.UNKNOWN and one.point.target_per_s is not None:
        return f"({one.word})" if one.word else "?"
    return f"{one.word} %" if one.mark is Mark.SHARE else one.word or "failed"


def _objective(points: Sequence[PointResult]) -> str:
    """Describe the objective, and the range of p99 of the points that are held."""
    asked = dict.fromkeys(one.point.objective for one in points if one.point.objective)
    required = f"and {' or '.join(asked)}" if asked else "and the objective"
    of_held = [one.p99_ns for one in points if one.tone in _HELD_WORDS and one.p99_ns is not None]
    ends = dict.fromkeys(format_time(end) for end in (min(of_held), max(of_held))) if of_held else ()
    return f"{required}; p99 there was {' to '.join(ends)}" if ends else required


def _legend(points: Sequence[PointResult]) -> list[str]:
    """Explain the words that occur in cells."""
    target = target_words(points)
    tones = {one.tone for one in points}
    marks = {one.mark for one in points if one.tone not in _HELD_WORDS}
    reliable = {one.mark for one in points if one.tone not in {*_HELD_WORDS, Tone.UNKNOWN}}
    notes = {
        f"held: {target}, {_objective(points)}": not tones.isdisjoint(_HELD_WORDS),
        "held?: only in some trials": Tone.DOUBTFUL in tones,
        f"percentages: share of the {target}": Mark.SHARE in reliable,
        "slow: the rate is held, but the response times miss the objective": Mark.SLOW in marks,
        "errors: the rate is held, but too many requests failed": Mark.ERRORS in marks,
        "in brackets: unreliable; --format csv and the report give the reason": target and Tone.UNKNOWN in tones,
    }
    return [note for note, applies in notes.items() if applies]


_FILLED: Final = 0.6
"""Least share of points for a grid chart: the scattered points of a search make no grid."""
_FRAMES: Final = 6
"""Most frames that a reader can compare; the table has a row for each setting."""


def grid_chart(points: Sequence[PointResult], names: Mapping[str, str]) -> Chart | None:
    """Draw one grid for each subject and each value of the axes that are neither rows nor columns.

    None if the points fill too little of the grid. ``names`` maps ids of subjects to their names, in the order of the
    report.
    """
    if not points:
        return None
    layout = Layout.of([one.point for one in points], len(names))
    (across, columns), (up, rows) = layout.columns(points), layout.rows(points, names)
    if layout.up is None:
        # Rows are stacked upwards.
        rows = dict(reversed([*rows.items()]))
    placed = {layout.place(one): one for one in points}
    panels = {panel: layout.panel_name(panel, names) for panel in dict.fromkeys(panel for panel, _, _ in placed)}
    if len(points) < _FILLED * len(columns) * len(rows) * len(panels):
        return None
    tiles = [
        Tile(panels[panel], columns[column], rows[row], one.tone, one.word, _words(one, layout, names))
        for panel, row, column in product(panels, rows, columns)
        if (one := placed.get((panel, row, column))) is not None
    ]
    target, shared = target_words(points), layout.shared([one.point for one in points])
    marks = {one.mark for one in points}
    caption = {
        "Each point shows the share of the rate that was reached, in per cent.": True,
        "slow: the rate was reached, but answers took longer than the objective allows.": Mark.SLOW in marks,
        "errors: too many requests failed.": Mark.ERRORS in marks,
        "The line joins the last points that hold.": True,
        f"All points: {shared}.": shared,
    }
    return Chart(
        name="grid",
        title=f"Where {target} are held" if target else "Answers a second",
        kind=ChartKind.TILES,
        x=Axis(across),
        y=Axis(up),
        series=(),
        caption=" ".join(sentence for sentence, applies in caption.items() if applies),
        section="Where it holds",
        tiles=tuple(tiles),
        tones=TONES,
    )


def _words(one: PointResult, layout: Layout, names: Mapping[str, str]) -> str:
    """Describe a point: its position, result and limit."""
    axes = [axis for axis in (layout.up, layout.across) if axis is not None]
    where = [*([] if layout.up else [names[one.subject]]), *(axis.name(axis.at(one.point)) for axis in axes)]
    parts = [", ".join(filter(None, where))]
    if one.per_s is not None:
        parts.append(f"{one.per_s:,.0f} a second" + (f", p99 {format_time(one.p99_ns)}" if one.p99_ns else ""))
    if one.tone is not Tone.HELD:
        parts += filter(None, (one.why, one.limit_text))
    return "; ".join(parts)


def frontier_charts(
    frontiers: Sequence[Frontier], points: Sequence[PointResult], names: Mapping[str, str]
) -> Iterator[Chart]:
    """Draw the frontiers of all subjects, one chart for each combination of the other settings, if these are few.

    ``points`` are of the same trials and give the target. ``names`` maps ids of subjects to their names.
    """
    frames = dict.fromkeys(one.rest for one in frontiers)
    for nth, rest in enumerate(frames if len(frames) <= _FRAMES else ()):
        drawn = [one for one in frontiers if one.rest == rest]
        axis = drawn[0].axis
        if len(drawn[0].points) < len(("from", "to")):
            continue
        unit, factor = axis.unit([point.x for one in drawn for point in one.points])
        series = [_series(one, names[one.subject], factor) for one in drawn]
        if axis is LINK_RATE:
            series += _allowed(points, series, factor)
        yield Chart(
            name=f"frontier-{nth}" if nth else "frontier",
            title=f"Largest answers at which {target_words(points)} are held{f', {rest}' if rest else ''}",
            kind=ChartKind.STAIRS,
            x=Axis(axis.label, unit),
            y=Axis("largest size that holds", "KiB"),
            series=tuple(series),
            caption=_frontier_caption(drawn, axis.label),
            section="How far it reaches",
            colours=tuple(names.values()),
        )


def _series(one: Frontier, name: str, factor: int) -> Series:
    def sizes(size: Callable[[FrontierPoint], int | None]) -> tuple[float | None, ...]:
        return tuple(None if (found := size(point)) is None else found / _KIB for point in one.points)

    return Series(
        name,
        tuple(point.x / factor for point in one.points),
        sizes(lambda point: point.reached_bytes),
        sizes(lambda point: point.holds_up_to_bytes),
        sizes(lambda point: point.fails_from_bytes),
    )


def _allowed(points: Sequence[PointResult], reached: Sequence[Series], factor: int) -> list[Series]:
    """Draw the sizes that the rate of the link allows, up to the largest measured size."""
    targets = {one.point.target_per_s for one in points}
    target = targets.pop()
    if targets or target is None:
        return []
    across = [x for series in reached for x in series.x if not isinstance(x, str)]
    tried = max(one.point.size_bytes for one in points) / _KIB
    per_unit = factor / 8 / target / _KIB
    ends = [(x, x * per_unit) for x in (min(across), min(max(across), 1.2 * tried / per_unit))]
    return [Series("limit of the link", tuple(x for x, _ in ends), tuple(y for _, y in ends), faint=True)]


def _frontier_caption(drawn: Sequence[Frontier], label: str) -> str:
    trials, grid = sum(one.trials for one in drawn), sum(one.grid_trials for one in drawn)
    points = [point for one in drawn for point in one.points]
    sentences = {
        f"The line is the largest size that a subject holds; between two values of the {label} it stays at that of the"
        " harder one. Bars extend from the largest size that surely holds to the smallest that surely fails; the result"
        " in the shaded parts is unknown.": True,
        "Upward arrow: this size or more; no larger size is known to fail.": any(
            point.fails_from_bytes is None for point in points
        ),
        "Downward arrow: the smallest measured size already fails.": any(
            point.fails_from_bytes and point.size_bytes is None for point in points
        ),
        "Lines that would overlap are drawn side by side.": len(drawn) > 1,
        f"Found in {trials} trials; the grid has {grid} points.": grid > trials,
    }
    return " ".join(sentence for sentence, applies in sentences.items() if applies)


_OF_POINTS: Final = frozenset({"URLs", "Link"})
"""Facts that vary by point: the links have a table, the number of URLs follows from the rate."""


def capacity_report(run: Run, definition: Definition) -> Report:
    """Return the report of a capacity run, which may be partial or empty."""
    trials, settings = run.records(), run.manifest.settings
    points = point_results(trials)
    frontiers = find_frontiers(trials, settings)
    names = subject_names(trials, ())
    where = len({one.point for one in points})
    grid = grid_chart(points, names)
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(where, 'point')}, {counted(len(trials), 'trial')}",
        headline=capacity_headline(points, frontiers, names),
        table=definition.presentation.table(trials),
        charts=(
            *frontier_charts(frontiers, points, names),
            *([grid] if grid else []),
            *published_charts(trials, run.manifest),
        ),
    )
    errors = replace(report.errors, title="Errors by name")
    facts = [("Objective", str(settings["slo"]))] if settings.get("slo") else []
    if settings.get("scale") not in {None, "1"}:
        facts.append(("Scale", f"{settings['scale']} of the published rates and numbers in flight"))
    return replace(
        report,
        facts=(*facts, *(fact for fact in report.facts if fact[0] not in _OF_POINTS)),
        errors=errors,
        figures="A row for each point: medians of its trials.",
        findings=(*capacity_sentences(trials), *search_notes(frontiers)),
        evidence=(*report.evidence, *([errors] if errors.rows else [])),
    )


def _result(trial: Trial) -> str | None:
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
        """Compare a grid with a published one; rows are points, of all subjects."""
        del for_programs
        table = comparison_table(trials, CapacityPreset(published), scale_of(manifest))
        lines = [f"machine: published: {published.circumstances.machine}; measured: {here.machine}"]
        if here.versions:
            versions = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
            lines.append(f"versions: measured: {versions}; published: unknown")
        return replace(table, notes=(*table.notes, *map(Note, lines)))

    def preset_rows(self, of: PresetRun, format_name: str) -> tuple[Table, ...]:
        """Return the grid for programs; CSV has the published columns, so that it can replace the published file."""
        return (in_form(of.trials, CapacityPreset(of.published)) if format_name == "csv" else of.table,)


PRESENTATION: Final = CapacityPresentation(
    metrics=CAPACITY_METRICS,
    ranked_by="right_per_s",
    identity=(
        Column("subject", description="name of the subject's folder"),
        Column("condition", description="the point: size, delay, link, requests in flight"),
    ),
    tabulate=point_table,
    views=capacity_views,
    trial_result=_result,
    report=capacity_report,
    preset_views=grid_views,
)
