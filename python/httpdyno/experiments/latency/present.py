"""The metrics, tables, charts and report of the latency question, and its published form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.latency.judge import (
    Agreement,
    Content,
    LatencyPoint,
    LatencySummary,
    agreement,
    clock_tells,
    per_loop_text,
    timeit_text,
)
from httpdyno.experiments.latency.plan import published_points
from httpdyno.experiments.published import preset_of
from httpdyno.experiments.report import base_report, usual_headline
from httpdyno.judge import rank, rankable_trials, trial_notes, trial_table
from httpdyno.judge.figures import of_record
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
    Trial,
    counted,
    format_span,
    format_time,
    records_of,
)
from httpdyno.published import PublishedTable
from httpdyno.report.sections.charts import ConditionTrials, percentile_chart, response_times
from httpdyno.report.sections.headline import ranked_headline
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = [
    "IDENTITY",
    "LATENCY_METRICS",
    "PRESENTATION",
    "RANKED_BY",
    "latency_report",
    "latency_table",
    "latency_views",
    "published_blocks",
]

_MS: Final = 1e-6
_US: Final = 1e-3
_PERCENT: Final = 100.0
_LOWER: Final = Direction.LOWER
_EXACT: Final = 6
"""Decimals of a millisecond: nanoseconds."""
_figure: Final = partial(of_record, LatencySummary)


def _time(name: str, field: str, meaning: str, *, shown: bool = True) -> Metric:
    column = Column(name, ColumnKind.TIME, "ms", meaning, shown=shown)
    return Metric(column, _figure(field, _MS), _LOWER, _EXACT)


def _share(name: str, field: str, whose: str) -> Metric:
    def share(summary: LatencySummary) -> float | None:
        part: float | None = getattr(summary, field)
        return None if part is None or not summary.call_ns else part / summary.call_ns

    column = Column(name, ColumnKind.INTEGER, "%", f"share of a call's duration that is {whose}")
    return Metric(column, _figure(share, _PERCENT))


MEAN: Final = Metric(
    Column("mean", ColumnKind.TIME, "ms", "mean time of a loop: of all calls that are started at once", shown=False),
    _figure("mean_ns", _MS),
    _LOWER,
    _EXACT,
    "ms a loop",
)
LATENCY_METRICS: Final = (
    MEAN,
    Metric(
        Column("deviation", ColumnKind.NUMBER, "us", "standard deviation of the runs", shown=False),
        _figure("deviation_ns", _US),
        _LOWER,
        3,
    ),
    Metric(
        Column("runs", ColumnKind.INTEGER, description="runs of the figure", shown=False),
        _figure(lambda summary: len(summary.runs) or None),
    ),
    Metric(
        Column("loops", ColumnKind.INTEGER, description="loops of each run", shown=False),
        _figure("loops"),
    ),
    _time("p50", "p50_ns", "median duration of a call"),
    _time("p99", "p99_ns", "99th percentile of the durations"),
    _time("p999", "p999_ns", "99.9th percentile; empty for fewer than 1,000 calls"),
    _time("max", "max_ns", "longest duration", shown=False),
    _time("first", "first_ns", "duration of the first call of the cold process", shown=False),
    _time("cpu_per_call_ms", "cpu_per_call_ns", "CPU time of the subject for a call"),
    _share("client_share", "client_ns", "the client's own"),
    _share("wire_share", "wire_ns", "the bare network's"),
    _share("server_share", "server_ns", "the server's, as it stamped arrivals and answers"),
    Metric(
        Column("calls", ColumnKind.INTEGER, description="calls that the figures of single calls rest on", shown=False),
        _figure("calls"),
    ),
)
"""Metrics of a call, in the order of the table."""


RANKED_BY: Final = MEAN.name
IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("version", shown=False),
    Column("condition", description="the point, in words", shown=False),
)
_POINT: Final = (
    Column("workload", description="content of a call: 13 bytes of text, or a JSON document of 16 KiB"),
    Column("parallel", ColumnKind.INTEGER, description="calls started at once: a loop ends with the last of them"),
    Column("keepalive", ColumnKind.BOOLEAN, description="whether connections may be kept"),
    Column("peer", description="who answers", shown=False),
    Column("mode", description="timing of the figures: lines, or harness", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_LOOPS: Final = (
    Column("per_loop", description="time of a loop, as timeit writes it: from outside, where it was timed from there"),
    Column("in_process", description="the same as the client timed its own calls, where both were measured"),
    Column(
        "in_process_mean_ms", ColumnKind.TIME, "ms", "mean time of a loop that the client timed itself", shown=False
    ),
    Column("in_process_cpu_per_call_ms", ColumnKind.TIME, "ms", "CPU time of a call in that loop", shown=False),
    Column("agree", description="whether both agree within their intervals: in process over from outside"),
)
_BLOCK: Final = ("workload", "parallel", "keepalive")
_SHOWN: Final = (
    "rank",
    "per_loop",
    "loops",
    "in_process",
    "agree",
    "p50",
    "p99",
    "p999",
    "cpu_per_call_ms",
    "client_share",
    "wire_share",
    "server_share",
    "wrong",
    "verdict",
)
_SPARED: Final = frozenset({"language", "loops", "in_process", "agree", "p50", "p999", "wire_share", "server_share"})
"""Left out on a narrow terminal, the last of them first."""
_LOOP_TIMES: Final = ("per_loop", "in_process")
_END: Final = {**dict.fromkeys(_LOOP_TIMES, " per loop"), "agree": " ("}
WORDS: Final = {Content.PLAIN: "Plain text", Content.JSON: "JSON"}


@dataclass(frozen=True, slots=True)
class _Row:
    """Trials of one subject at one point."""

    point: LatencyPoint
    lines: Sequence[Trial]
    harness: Sequence[Trial]

    @property
    def ranked(self) -> Sequence[Trial]:
        """Trials with the figures of the row: from outside, unless only the client timed itself."""
        return self.lines or self.harness

    @property
    def agreement(self) -> Agreement | None:
        """Whether both ways of timing say the same."""
        return agreement(self.lines, self.harness)


def of_timeit(trial: Trial) -> bool:
    """Return whether the client timed its own calls in a trial."""
    return bool(trial.harness)


def latency_table(trials: Sequence[Trial]) -> Table:
    """Build one row for each subject and point: figures from its lines, and from its own timing.

    Ranks are among the subjects of one point. Where a client's lines were not measured, the figures are those of its
    own process.
    """
    groups = _groups(trials)
    ranked = [trial for row in groups.values() for trial in row.ranked]
    table = trial_table(ranked, LATENCY_METRICS, RANKED_BY, IDENTITY)
    keys = zip(table.values("condition"), table.values("subject"), strict=True)
    by_condition = {(row.ranked[0].condition, row.ranked[0].subject): row for row in groups.values()}
    rows = [by_condition[str(condition), str(subject)] for condition, subject in keys]
    width = len(IDENTITY)
    return Table(
        (*table.columns[:width], *_POINT, *_LOOPS, *table.columns[width:]),
        tuple(
            (*cells[:width], *_point(row), *_loops(row), *cells[width:])
            for cells, row in zip(table.rows, rows, strict=True)
        ),
        title=table.title,
        notes=tuple(_notes(table, rows)),
    )


def latency_views(
    trials: Sequence[Trial], settings: Mapping[str, Setting], answer: Callable[[Sequence[Trial]], str] | None = None
) -> tuple[Table, ...]:
    """Put trials into a table for each point that fits a terminal, as the seed has its blocks.

    ``answer`` says in a sentence what the trials of one point show, which stands above their table.
    """
    del settings
    table = latency_table(trials)
    blocks = dict.fromkeys(table.select(_BLOCK).rows)
    views = [_block(table, block) for block in blocks]
    if answer is not None:
        views = [view.answering(answer(_ranked_at(trials, block))) for view, block in zip(views, blocks, strict=True)]
    if not views:
        return (table,)
    whole = (*(note for note in table.notes if note.row is None), *_legend(table))
    return (*views[:-1], replace(views[-1], notes=(*views[-1].notes, *whole)))


def _ranked_at(trials: Sequence[Trial], block: tuple[Cell, ...]) -> list[Trial]:
    """Return the trials of one point that rank: from outside, else those timed in process."""
    own = [row.ranked for row in _groups(trials).values() if _point(row)[: len(_BLOCK)] == block]
    return [trial for ranked in own for trial in ranked]


def _block(table: Table, block: tuple[Cell, ...]) -> Table:
    """Return the rows of one point, and of their columns those that say something there."""
    points = table.select(_BLOCK).rows
    rows = [index for index, point in enumerate(points) if point == block]
    whole = Table(table.columns, tuple(table.rows[index] for index in rows))
    filled = whole.filled()
    shown = _in_short(whole.select(name for name in ("language", "method", *_SHOWN) if name in filled))
    workload, parallel, keepalive = block
    at_once = "one at a time" if parallel == 1 else f"{parallel} at once"
    notes = (Note(note.text, rows.index(note.row)) for note in table.notes if note.row in rows)
    return replace(
        shown,
        columns=tuple(_column(column) for column in shown.columns),
        title=f"{WORDS[Content(str(workload))]}, {at_once}, {'' if keepalive else 'no '}keep-alive",
        notes=tuple(notes),
    ).sparing(_SPARED)


def _column(column: Column) -> Column:
    """Show a column where people read; times with their deviation stand at the right, as numbers do."""
    return replace(column, shown=True, kind=ColumnKind.DECIMAL if column.name in _LOOP_TIMES else column.kind)


def _legend(table: Table) -> Iterator[Note]:
    """Return the note shared by the texts of all rows, as timeit writes it."""
    runs = sorted({int(count) for count in table.values("runs") if isinstance(count, int | float)})
    if runs:
        many = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
        yield Note(
            f"{', '.join(_LOOP_TIMES)}: mean ± std. dev. of {many} runs of so many loops each, as timeit has them"
        )


def _short(cell: Cell, name: str) -> Cell:
    """Leave out of a text what those of all rows have in common, and of an agreement its interval."""
    if not isinstance(cell, str):
        return cell
    end = _END.get(name)
    return cell.partition(end)[0] if end else cell


def page_table(table: Table) -> Table:
    """Put the columns of a ``latency_table`` into the order in which a page shows them, its texts in short."""
    first = ("subject", "language", "method", *_BLOCK, *_SHOWN)
    return _in_short(table.select(dict.fromkeys((*first, *(column.name for column in table.columns)))))


def _in_short(table: Table) -> Table:
    names = [column.name for column in table.columns]
    return replace(table, rows=tuple(tuple(map(_short, row, names)) for row in table.rows))


def seed_text(trials: Sequence[Trial]) -> str | None:
    """Write what a loop takes as timeit does: of several trials, the one in the middle; None when none went well."""
    believed = rankable_trials(trials) or [trial for trial in trials if trial.outcome is Outcome.OK]
    known = [summary for summary in records_of(LatencySummary, believed) if summary.mean_ns is not None]
    if not known:
        return None
    middle = sorted(known, key=lambda one: one.mean_ns or 0.0)[(len(known) - 1) // 2]
    return per_loop_text(middle.mean_ns or 0.0, middle.deviation_ns or 0.0, len(middle.runs), middle.loops or 0)


def _groups(trials: Sequence[Trial]) -> dict[tuple[str, LatencyPoint, bool], _Row]:
    groups: dict[tuple[str, LatencyPoint, bool], list[Trial]] = {}
    for trial in trials:
        if trial.get(LatencyPoint) is not None:
            groups.setdefault((trial.subject, trial[LatencyPoint], trial.keepalive), []).append(trial)
    return {
        key: _Row(key[1], [t for t in group if not of_timeit(t)], [t for t in group if of_timeit(t)])
        for key, group in groups.items()
    }


def _point(row: _Row) -> tuple[Cell, ...]:
    first = row.ranked[0]
    mode = "lines" if row.lines else "harness"
    return (row.point.workload.value, row.point.parallel, first.keepalive, first.peer, mode, first.method)


def _loops(row: _Row) -> tuple[Cell, ...]:
    timed = [
        trial[LatencySummary] for trial in row.harness if trial.get(LatencySummary) and trial.outcome is Outcome.OK
    ]
    means = [one.mean_ns for one in timed if one.mean_ns is not None]
    cpu = [one.cpu_per_call_ns for one in timed if one.cpu_per_call_ns is not None]
    found = row.agreement
    return (
        seed_text(row.ranked),
        seed_text(row.harness) if row.lines else None,
        _median_ms(means),
        _median_ms(cpu),
        found.text if found else None,
    )


def _median_ms(values: Sequence[float]) -> float | None:

    middle = median(values)
    return None if middle is None else round(middle * _MS, 6)


def _notes(table: Table, rows: Sequence[_Row]) -> Iterator[Note]:
    """Return the notes of the rows, what has to be added to them, and those of the whole."""
    yield from (note for note in table.notes if note.row is not None)
    for index, row in enumerate(rows):
        yield from (Note(text, index) for text in _remarks(row))
    yield from (note for note in table.notes if note.row is None)


def _remarks(row: _Row) -> Iterator[str]:
    if row.lines and row.harness:
        yield from (f"in its own process: {text}" for text in trial_notes(row.harness))
    well = (trial for trial in row.lines if trial.outcome is Outcome.OK)
    idle = [trial for trial in well if (summary := trial.get(LatencySummary)) and not summary.runs]
    if idle:
        calls = max(trial.tally.right for trial in idle if trial.tally) if any(trial.tally for trial in idle) else 0
        few = f"{calls:,} calls" if calls != 1 else "1 call"
        yield f"no time for seven warm runs: {few} in {_lasted(idle)}; give it more (--duration)"
    yield from _unknown_parts(row.lines)
    if row.point.workload is Content.JSON and not row.ranked[0].check:
        yield "it does not parse JSON by itself: its calls are of fetching alone"


def _unknown_parts(trials: Sequence[Trial]) -> Iterator[str]:
    """Describe why another machine's clock does not allow to divide the time of a call."""
    for trial in trials:
        bound_ns = trial.counters.against.clock_bound_ns if trial.counters.against else None
        call_ns = trial[LatencySummary].call_ns if trial.get(LatencySummary) else None
        if bound_ns is not None and call_ns is not None and not clock_tells(bound_ns, call_ns):
            clocks = (
                f"the other machine's clock is known to {format_time(bound_ns)}, a call takes {format_time(call_ns)}"
            )
            yield f"the client's part of the time is unknown: {clocks}"
            return


def _lasted(trials: Sequence[Trial]) -> str:
    """Describe how long the longest of them lasted."""
    return format_span(max((trial.counters.wall_ns or 0) for trial in trials) / 1e9)


_COLUMNS: Final = (
    Column("client", description="as it was published"),
    Column("measured", description="in its own process, as it was published"),
    Column("measured_from_outside", description="the same loop by the client's lines"),
    Column("published", description="each time that it was printed"),
)
_NOTE: Final = "mean ± std. dev. of 7 runs; loops of a run as timeit chooses them, published: as IPython's %timeit did"


def published_blocks(trials: Sequence[Trial], published: PublishedTable) -> tuple[Table, ...]:
    """Compare a run with its publication, one block for each published point; the last one has the notes."""
    *others, last = (_published_block(trials, published, point) for point in published_points(published))
    return (*others, replace(last, notes=(Note(_NOTE),)))


def _published_block(trials: Sequence[Trial], published: PublishedTable, point: LatencyPoint) -> Table:
    rows = []
    for subject, client in {row["subject"]: str(row["client"]) for row in published.rows}.items():
        there = [trial for trial in trials if (trial.subject, trial.get(LatencyPoint)) == (subject, point)]
        own, lines = [t for t in there if of_timeit(t)], [t for t in there if not of_timeit(t)]
        printed = [
            f"{timeit_text(float(str(row['mean'])) * 1e6)} ± {timeit_text(float(str(row['deviation'])) * 1e3)}"
            for row in published.rows
            if (row["subject"], row["workload"], row["parallel"]) == (subject, point.workload.value, point.parallel)
        ]
        if printed or there:
            texts = (_short_text(seed_text(own)), _short_text(seed_text(lines)), "; ".join(printed) or None)
            rows.append((client, *texts))
    at_once = f", parallel {point.parallel}" if point.parallel > 1 else ""
    return Table(_COLUMNS, tuple(rows), title=f"*** {WORDS[point.workload]}{at_once} ***")


def _short_text(text: str | None) -> str | None:
    """Strip the text shared by all cells of a table, except the loops."""
    if text is None:
        return None
    time, _, rest = text.partition(" per loop")
    return f"{time}, {rest.rpartition(', ')[2].removesuffix(' each)')}"


ITSELF: Final = "in process"
"""Suffix for a client that timed its own calls."""
_LOOPS_SECTION: Final = "Time of a loop"
_SHARES: Final = "Parts of the time"


def latency_charts(run: Run, blocks: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw each point: its loops, whose time its calls are, and how far their times spread.

    ``blocks`` has the trials of each point, by the point in words; ``names`` maps ids of subjects to their names. Both
    are in the order of the report.
    """
    for number, (point, trials) in enumerate(blocks.items()):
        drawn = (
            _loops_chart(trials, names, preset_of(run.manifest)),
            _shares(trials, names),
            _percentiles(run, trials, names),
        )
        for chart in filter(None, drawn):
            yield _of_point(chart, point, number)


def _of_point(chart: Chart, point: str, number: int) -> Chart:
    return replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}: {point}")


def _loops_chart(trials: Sequence[Trial], names: Mapping[str, str], published: PublishedTable | None) -> Chart | None:
    """Draw the mean of the runs of each client, over the runs: from outside, as it timed itself, as published."""
    series: list[Series] = []
    for subject, name in names.items():
        own = [trial for trial in trials if trial.subject == subject]
        for itself in (False, True):
            series += _runs([trial for trial in own if of_timeit(trial) is itself], name, itself=itself)
        if published is not None and own and own[0].get(LatencyPoint) is not None:
            series += _as_published(published, own[0], own[0][LatencyPoint])
    if not series:
        return None
    return Chart(
        name="loops",
        title="Time of a loop",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis("time of a loop", "ms"),
        series=tuple(series),
        caption=(
            "The large dot is the mean, the line one standard deviation of the runs to either side, as timeit has it; "
            f"the small dots are the runs. A row for the client's lines, and one {ITSELF}, as it timed its own calls"
            f"{'; then the published figures.' if published is not None else '.'}"
        ),
        section=_LOOPS_SECTION,
        colours=tuple(names.values()),
    )


def _runs(trials: Sequence[Trial], name: str, *, itself: bool) -> Iterator[Series]:
    known = _known(trials)
    mean = median([one.mean_ns for one in known])
    if mean is None:
        return
    deviation = median([one.deviation_ns for one in known]) or 0.0
    row = f"{ITSELF}: {name.removeprefix(trials[0].language).strip()}" if itself else name
    runs = tuple(run.loop_ns * _MS for one in known for run in one.runs)
    yield Series(row, (row,) * len(runs), runs, faint=True)
    ends = max(mean - deviation, 0.0) * _MS, (mean + deviation) * _MS
    yield Series(row, (row,), (mean * _MS,), (ends[0],), (ends[1],))


def _as_published(published: PublishedTable, of: Trial, point: LatencyPoint) -> Iterator[Series]:
    """Draw what was published of a client at a point: the first time that it was printed, over each of them."""
    wanted = (of.subject, point.workload.value, point.parallel)
    there = [row for row in published.rows if (row["subject"], row["workload"], row["parallel"]) == wanted]
    if not there:
        return
    row = f"published: {of.method}"
    means = [float(str(one["mean"])) for one in there]
    deviation = float(str(there[0]["deviation"])) / 1000
    yield Series(row, (row,) * len(means), tuple(means), faint=True)
    yield Series(row, (row,), (means[0],), (means[0] - deviation,), (means[0] + deviation,))


def _shares(trials: Sequence[Trial], names: Mapping[str, str]) -> Chart | None:
    """Draw the parts of the mean duration of a call; None if the server's part was not stamped."""
    lines = {
        name: _known([t for t in trials if t.subject == subject and not of_timeit(t)])
        for subject, name in names.items()
    }
    whole = {name: known for name, known in lines.items() if any(one.client_ns is not None for one in known)}
    if not whole:
        return None
    parts = (
        ("client", lambda one: one.client_ns),
        ("wire", lambda one: one.wire_ns),
        ("server", lambda one: one.server_ns),
    )
    series = [
        Series(part, tuple(whole), tuple((median(map(read, known)) or 0.0) * _MS for known in whole.values()))
        for part, read in parts
    ]
    return Chart(
        name="shares",
        title="Time of a call",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("time of a call", "ms"),
        series=tuple(series),
        caption=(
            "server: from the arrival of the request at the origin to the end of its answer; wire: the round trips of "
            "a call through the bare network, as measured; client: all else of the duration that the client claims."
        ),
        section=_SHARES,
        colours=tuple(part for part, _ in parts),
    )


def _percentiles(run: Run, trials: Sequence[Trial], names: Mapping[str, str]) -> Chart | None:
    lines = [trial for trial in trials if not of_timeit(trial)]
    by_name = {name: [trial for trial in lines if trial.subject == subject] for subject, name in names.items()}
    of = ConditionTrials("", by_name, tuple(names.values()))
    return percentile_chart(of, response_times(of, run.samples())) if lines else None


def _known(trials: Sequence[Trial]) -> list[LatencySummary]:
    believed = rankable_trials(trials) or trials
    return [summary for summary in records_of(LatencySummary, believed) if summary.mean_ns is not None]


_OF_POINTS = frozenset({"URLs"})


def latency_report(run: Run, definition: Definition) -> Report:
    """Return the report of a latency run, which may be partial or empty."""
    trials = run.records()
    blocks = _blocks(trials)
    metric = definition.presentation.ranking_metric
    rankings = {point: rank(_ranked(group), metric) for point, group in blocks.items()}
    table = latency_table(trials)
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, (*ranked, *map(str, table.values("subject"))))
    sentences = [
        f"{point}: {ranked_headline(_ranked(blocks[point]), ranking, metric, names)}"
        for point, ranking in rankings.items()
    ]
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(blocks), 'point')}, {counted(len(trials), 'trial')}",
        headline=sentences[0] if sentences else "Nothing was measured: the run has no finished trial",
        table=page_table(table),
        charts=latency_charts(run, blocks, names),
        rankings=rankings.values(),
    )
    return replace(
        report,
        facts=tuple((name, text) for name, text in report.facts if name not in _OF_POINTS),
        figures=(
            "A row for each client and point: medians of its trials. per_loop and in_process, mean ± std. dev. of "
            "seven runs, are those of the one in the middle."
        ),
        findings=(*sentences[1:], *_agreeing(trials)),
    )


def _blocks(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each point, from outside and in process, by its name."""
    blocks: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.get(LatencyPoint) is not None:
            kept = "keep-alive" if trial.keepalive else "no keep-alive"
            point = f"{trial[LatencyPoint].workload}, {trial[LatencyPoint].parallel} at once, {kept}"
            blocks.setdefault(point, []).append(trial)
    return blocks


def _ranked(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return the trials that rank: those timed from outside, if there are any."""
    return [trial for trial in trials if not of_timeit(trial)] or trials


def _agreeing(trials: Sequence[Trial]) -> list[str]:
    """Describe how many rows agree in both ways of timing."""
    found = [one.agrees for row in _groups(trials).values() if (one := row.agreement)]
    if not found:
        return []
    same, unknown = (found.count(agrees) for agrees in (True, None))
    doubt = f"; of {unknown} the intervals are too wide to tell" if unknown else ""
    return [f"Timed from outside and in process: {same} of {len(found)} agree within their intervals{doubt}"]


def latency_result(trial: Trial) -> str | None:
    """Describe what a loop took."""
    mean_ns = trial[LatencySummary].mean_ns if trial.get(LatencySummary) else None
    return None if mean_ns is None else f"{format_time(mean_ns)} a loop"


def _answer(trials: Sequence[Trial]) -> str:
    """Describe what the trials of one point show; its name stands in the title of its table."""
    trials = [replace(trial, condition="") for trial in trials]
    return usual_headline(PRESENTATION, trials, latency_table(trials))


PRESENTATION: Final = Presentation(
    metrics=LATENCY_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=latency_table,
    compared_by=(RANKED_BY, "p99", "cpu_per_call_ms"),
    views=partial(latency_views, answer=_answer),
    trial_result=latency_result,
    report=latency_report,
    preset_views=lambda run: (*run.views, *published_blocks(run.trials, run.published)),
)
