"""The metrics, tables and report of the capacity question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Final

from httpdyno.experiments.capacity.charts import frontier_charts, grid_chart
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.capacity.frontier import Frontier, FrontierPoint, find_frontiers
from httpdyno.experiments.capacity.headline import capacity_headline
from httpdyno.experiments.capacity.limits import capacity_sentences
from httpdyno.experiments.capacity.points import Layout, Mark, Panel, PointResult, point_results, target_words
from httpdyno.experiments.capacity.published import comparison_table, grid_views, in_form, published_charts, scale_of
from httpdyno.experiments.definition import Definition, Presentation, PresetRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.report import base_report
from httpdyno.judge import trial_notes, worst_validity
from httpdyno.judge.figures import of_record, record_metric
from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Direction,
    Metric,
    Note,
    Outcome,
    Report,
    Table,
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
_RIGHT: Final = Column("right_per_s", ColumnKind.DECIMAL, "1/s", "right answers a second, over the steady stretch")
_metric: Final = partial(record_metric, CapacitySummary, better=Direction.LOWER)
_time: Final = partial(_metric, kind=ColumnKind.DURATION, unit="ms", scale=_MS, digits=1)
CAPACITY_METRICS: Final = (
    Metric(_RIGHT, of_record(CapacitySummary, "per_s"), Direction.HIGHER, 1, "right answers a second"),
    _time("mean", "mean time of an answer, from when its request was sent", figure="service_mean_ns"),
    _time("p50", "median time, open loop: from when the request was due", figure="response_p50_ns"),
    _time("p99", "99th percentile of that time", figure="response_p99_ns"),
    _metric(
        *("errors", "requests without a right answer among all, 0 to 1", ColumnKind.NUMBER),
        figure="errors_share",
        digits=6,
    ),
)
"""In the order of their columns."""
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
    size, fails = point.reached, point.fails_from
    if fails is None:
        return ("?", _Reach.UNKNOWN) if size is None else (f"{_OR_MORE} {_kib_text(size)}", _Reach.AT_LEAST)
    if size is None:
        return "none", _Reach.NONE
    if point.doubtful:
        return f"{_kib_text(point.holds_up_to or 0)} - {_kib_text(fails)}", _Reach.BETWEEN
    return _kib_text(size), None


def _kib_text(size_bytes: int) -> str:
    return format_exact(round(size_bytes / _KIB, 1))


def reach_table(frontiers: Sequence[Frontier], target: str) -> Table:
    """Build the table of the frontiers; varied settings other than the axis are part of the row's name.

    ``target`` is the rate to hold, in words.
    """
    settings = list(dict.fromkeys(one.rest for one in frontiers))
    several = len(settings) > 1
    heading, labels = frontiers[0].axis.labels([point.x for point in frontiers[0].points])
    rows = tuple(
        (one.subject, *([one.rest] if several else []), *(_size_cell(point)[0] for point in one.points))
        for one in sorted(frontiers, key=lambda one: settings.index(one.rest))
    )
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
    Column("queue", ColumnKind.DURATION, "ms", "longest wait for the link's rate; null: the default", shown=False),
    Column("loop", description="open: sent on a schedule; closed: sent when an answer arrived", shown=False),
    Column("limit_per_s", ColumnKind.DECIMAL, "1/s", "the highest rate that this limit allows", shown=False),
    Column("why_not", description="the requirement that was not met, with its figure", shown=False),
    Column("limit_text", description="the limit in one sentence", shown=False),
    Column("trials", ColumnKind.INTEGER, description="number of trials", shown=False),
)
_HELD: Final = {Tone.HELD: True, Tone.DOUBTFUL: None, Tone.UNKNOWN: None}


def point_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each subject and point, in the order of the grid.

    Figures are medians over the trials of the row; ``held`` is null if the trials disagree.
    """
    results = point_results(trials)
    # A note that applies to many points is printed once for each subject.
    own: dict[str, list[Trial]] = {}
    for one in results:
        own.setdefault(one.subject, []).extend(one.trials)
    notes = (Note(f"{subject}: {text}") for subject, of in own.items() for text in trial_notes(of))
    return Table.of_records(_POINT_COLUMNS, map(_point_cells, results), notes=notes)


def _point_cells(one: PointResult) -> Mapping[str, Cell]:
    point = one.point
    failed = next((trial.outcome for trial in one.trials if trial.outcome is not Outcome.OK), None)
    limits = (summary.limit_per_s for summary in records_of(CapacitySummary, one.trials))
    return {
        "subject": one.subject,
        "size": point.size_bytes,
        "delay": round(point.delay_ns * _MS, 6),
        "rtt": round(point.round_trip_ns * _MS, 6),
        "linkRate": point.rate_bits_per_s,
        "concurrency": point.concurrency,
        "target": point.target_per_s,
        **{metric.name: metric.rounded(median(map(metric.figure, one.trials))) for metric in CAPACITY_METRICS},
        "held": _HELD.get(one.tone, False),
        "limit": one.limit,
        "verdict": failed.value if failed else worst_validity(one.trials) or "",
        "queue": None if point.queue_ns is None else round(point.queue_ns * _MS, 6),
        "loop": point.loop.value,
        "limit_per_s": next((round(limit, 1) for limit in limits if limit is not None), None),
        "why_not": one.why,
        "limit_text": one.limit_text,
        "trials": len(one.trials),
    }


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
    layout = Layout.of([one.point for one in points])
    panels: dict[Panel, list[PointResult]] = {}
    for one in () if settings.get("frontier") and frontiers else points:
        panels.setdefault(layout.place(one)[0], []).append(one)
    tables = [_table(layout, panel, of, names) for panel, of in panels.items()]
    notes = _legend(points) if tables else []
    if frontiers:
        tables.append(reach_table(frontiers, target_words(points)))
        notes += reach_legend(frontiers)
    notes += capacity_sentences(trials)
    tables = tables or [Table((Column(_SUBJECT),), ())]
    tables[0] = tables[0].answering(capacity_headline(points, frontiers, names))
    last = tables.pop()
    return (*tables, replace(last, notes=(*last.notes, *map(Note, notes))))


def _table(layout: Layout, panel: Panel, points: Sequence[PointResult], names: Mapping[str, str]) -> Table:
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


def _legend(points: Sequence[PointResult]) -> list[str]:
    target = target_words(points)
    objectives = dict.fromkeys(one.point.objective for one in points if one.point.objective)
    required = f"and {' or '.join(objectives)}" if objectives else "and the objective"
    of_held = [one.p99_ns for one in points if one.tone in _HELD_WORDS and one.p99_ns is not None]
    if of_held:
        ends = dict.fromkeys(format_time(end) for end in (min(of_held), max(of_held)))
        required += f"; p99 there was {' to '.join(ends)}"
    tones = {one.tone for one in points}
    marks = {one.mark for one in points if one.tone not in _HELD_WORDS}
    reliable = {one.mark for one in points if one.tone not in {*_HELD_WORDS, Tone.UNKNOWN}}
    notes = {
        f"held: {target}, {required}": not tones.isdisjoint(_HELD_WORDS),
        "held?: only in some trials": Tone.DOUBTFUL in tones,
        f"percentages: share of the {target}": Mark.SHARE in reliable,
        "slow: the rate is held, but the response times miss the objective": Mark.SLOW in marks,
        "errors: the rate is held, but too many requests failed": Mark.ERRORS in marks,
        "in brackets: unreliable; --format csv and the report give the reason": target and Tone.UNKNOWN in tones,
    }
    return [note for note, applies in notes.items() if applies]


_POINT_FACTS: Final = frozenset({"URLs", "Link"})
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
        facts=(*facts, *(fact for fact in report.facts if fact[0] not in _POINT_FACTS)),
        errors=errors,
        figures="A row for each point: medians of its trials.",
        findings=(*capacity_sentences(trials), *search_notes(frontiers)),
        evidence=(*report.evidence, *([errors] if errors.rows else [])),
    )


def _result(trial: Trial) -> str | None:
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
        table = comparison_table(trials, published, scale_of(manifest))
        lines = [f"machine: published: {published.circumstances.machine}; measured: {here.machine}"]
        if here.versions:
            versions = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
            lines.append(f"versions: measured: {versions}; published: unknown")
        return replace(table, notes=(*table.notes, *map(Note, lines)))

    def preset_rows(self, of: PresetRun, format_name: str) -> tuple[Table, ...]:
        """Return the grid for programs; its CSV has the published columns, so it can replace the published file."""
        return (in_form(of.trials, of.published) if format_name == "csv" else of.table,)


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
