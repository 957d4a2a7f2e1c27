"""The metrics, tables, charts and report of the latency experiment, and its published form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.latency.judge import (
    Content,
    LatencyPoint,
    LatencySummary,
    agreement,
    agreement_text,
    agrees,
    per_loop_text,
    shows_shares,
    timeit_text,
)
from httpdyno.experiments.latency.plan import point_name, published_points
from httpdyno.experiments.published import preset_of
from httpdyno.experiments.report import base_report, usual_headline
from httpdyno.judge import rank, rankable_trials, trial_notes, trial_table
from httpdyno.judge.figures import metric, of_record
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
from httpdyno.report.sections.charts import ConditionTrials, response_time_charts, stacked_chart
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import ranked_headline
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import median
from httpdyno.store import Run

_MS: Final = 1e-6
_figure: Final = partial(of_record, LatencySummary)
_Key = TypeVar("_Key")


def _time(name: str, meaning: str, phrase: str = "", *, shown: bool = True) -> Metric:
    column = Column(name, ColumnKind.TIME, "ms", meaning, shown=shown)
    # Six decimals of a millisecond show nanoseconds.
    return Metric(column, _figure(f"{name.removesuffix('_ms')}_ns", _MS), Direction.LOWER, 6, phrase)


def _share(part: str, whose: str) -> Metric:
    def share(summary: LatencySummary) -> float | None:
        part_ns: float | None = getattr(summary, f"{part}_ns")
        return None if part_ns is None or not summary.call_ns else part_ns / summary.call_ns

    column = Column(f"{part}_share", ColumnKind.INTEGER, "%", f"share of a call's duration that is {whose}")
    return Metric(column, _figure(share, 100.0))


MEAN: Final = _time("mean", "mean time of a loop, which is all calls that start at once", "ms a loop", shown=False)
_METRICS: Final = (
    MEAN,
    metric(
        *("deviation", _figure("deviation_ns", 1e-3), "standard deviation of the runs"),
        *(ColumnKind.NUMBER, "us", Direction.LOWER),
        digits=3,
        shown=False,
    ),
    metric("runs", _figure(lambda summary: len(summary.runs) or None), "runs of the figure", shown=False),
    metric("loops", _figure("loops"), "loops of each run", shown=False),
    _time("p50", "median duration of a call"),
    _time("p99", "99th percentile of the durations"),
    _time("p999", "99.9th percentile; empty for fewer than 1,000 calls"),
    _time("max", "longest duration", shown=False),
    _time("first", "duration of the first call of the cold process", shown=False),
    _time("cpu_per_call_ms", "CPU time of the subject for a call"),
    _share("client", "the client's own"),
    _share("wire", "the bare network's"),
    _share("server", "the server's, as it stamped arrivals and answers"),
    metric("calls", _figure("calls"), "calls that the figures of single calls rest on", shown=False),
)
_IDENTITY: Final = (
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
    Column("peer", description="server of the answers", shown=False),
    Column("mode", description="timing of the figures: lines, or harness", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_LOOPS: Final = (
    Column("per_loop", description="time of a loop in timeit's form, timed from outside if possible"),
    Column("in_process", description="the same timed by the client itself, if both were measured"),
    Column("in_process_mean_ms", ColumnKind.TIME, "ms", "mean time of a loop, timed by the client itself", shown=False),
    Column("in_process_cpu_per_call_ms", ColumnKind.TIME, "ms", "CPU time of a call in that loop", shown=False),
    Column("agree", description="whether both agree within their intervals; ratio of in process to from outside"),
)
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
"""Columns that a narrow terminal hides, the last one first."""
_TIMEIT: Final = ("per_loop", "in_process")
_WORDS: Final = {Content.PLAIN: "Plain text", Content.JSON: "JSON"}


@dataclass(frozen=True, slots=True)
class _Row:
    trials: Sequence[Trial]

    @property
    def lines(self) -> Sequence[Trial]:
        return [trial for trial in self.trials if not trial.harness]

    @property
    def harness(self) -> Sequence[Trial]:
        return [trial for trial in self.trials if trial.harness]

    @property
    def ranked(self) -> Sequence[Trial]:
        """Trials with the figures of the row: timed from outside, unless only the client timed itself."""
        return self.lines or self.harness

    def cells(self, *, brief: bool) -> dict[str, Cell]:
        """Return the cells of ``_POINT`` and ``_LOOPS``; ``brief`` leaves out text that all rows share."""

        def per_loop(time: str, summary: LatencySummary) -> str:
            return time if brief else per_loop_text(time, len(summary.runs), summary.loops or 0)

        first, point, ratio = self.ranked[0], self.ranked[0][LatencyPoint], agreement(self.lines, self.harness)
        timed = records_of(LatencySummary, _successful(self.harness))
        return {
            "workload": point.workload.value,
            "parallel": point.parallel,
            "keepalive": first.keepalive,
            "peer": first.peer,
            "mode": "lines" if self.lines else "harness",
            "client": first.method,
            "per_loop": _timeit_cell(self.ranked, per_loop),
            "in_process": _timeit_cell(self.harness, per_loop) if self.lines else None,
            "in_process_mean_ms": MEAN.rounded(_median(timed, "mean_ns")),
            "in_process_cpu_per_call_ms": MEAN.rounded(_median(timed, "cpu_per_call_ns")),
            "agree": None if ratio is None else agreement_text(ratio, brief=brief),
        }

    def remarks(self) -> Iterator[str]:
        if self.lines and self.harness:
            yield from (f"in its own process: {text}" for text in trial_notes(self.harness))
        well = _successful(self.lines)
        if idle := [trial for trial in well if (summary := trial.get(LatencySummary)) and not summary.runs]:
            calls = max((trial.tally.right for trial in idle if trial.tally), default=0)
            lasted = format_span(max((trial.counters.wall_ns or 0) for trial in idle) / 1e9)
            yield f"no time for seven warm runs: {counted(calls, 'call')} in {lasted}; give it more (--duration)"
        clocks = [
            f"{format_time(way.clock_bound_ns)}, a call takes {format_time(summary.call_ns)}"
            for trial in self.lines
            if (way := trial.counters.against) and way.clock_bound_ns is not None
            if (summary := trial.get(LatencySummary)) and summary.call_ns is not None
            if not shows_shares(way.clock_bound_ns, summary.call_ns)
        ]
        if clocks:
            yield f"the client's part of the time is unknown: the other machine's clock is known to {clocks[0]}"
        if self.ranked[0][LatencyPoint].workload is Content.JSON and not self.ranked[0].check:
            yield "it does not parse JSON: its calls only fetch the document"


def latency_table(trials: Sequence[Trial], *, brief: bool = False) -> Table:
    """Build one row for each subject and point: figures from its lines, and from its own timing.

    Ranks are among the subjects of one point. If a client's lines were not measured, the figures are from its own
    timing. ``brief`` leaves out text that all rows share, and the interval of an agreement.
    """
    groups = _rows(trials)
    table = trial_table([trial for row in groups for trial in row.ranked], _METRICS, MEAN.name, _IDENTITY)
    by_name = {(row.ranked[0].condition, row.ranked[0].subject): row for row in groups}
    rows = [by_name[str(cells["condition"]), str(cells["subject"])] for cells in table.records()]
    notes = [
        *(note for note in table.notes if note.row is not None),
        *(Note(text, index) for index, row in enumerate(rows) for text in row.remarks()),
        *(note for note in table.notes if note.row is None),
    ]
    return Table.of_records(
        (*_IDENTITY, *_POINT, *_LOOPS, *(column for column in table.columns if column not in _IDENTITY)),
        [record | row.cells(brief=brief) for record, row in zip(table.records(), rows, strict=True)],
        table.title,
        notes,
    )


def latency_views(trials: Sequence[Trial], _: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Build a table for each point that fits a terminal, in the order of the published blocks, below its headline."""
    table = latency_table(trials)
    views = [_view(own) for own in _blocks(trials).values()]
    if not views:
        return (table,)
    whole = [note for note in table.notes if note.row is None]
    if runs := {int(count) for count in table.values("runs") if isinstance(count, int | float)}:
        many = " to ".join(map(str, sorted({min(runs), max(runs)})))
        text = f"mean ± std. dev. of {many} runs, each of the given number of loops, like timeit"
        whole.append(Note(f"{', '.join(_TIMEIT)}: {text}", columns=_TIMEIT))
    return (*views[:-1], replace(views[-1], notes=(*views[-1].notes, *whole)))


def _view(trials: Sequence[Trial]) -> Table:
    table = latency_table(trials, brief=True)
    filled = table.filled()
    shown = table.select(name for name in ("language", "method", *_SHOWN) if name in filled)
    point, keepalive = trials[0][LatencyPoint], trials[0].keepalive
    at_once = "one at a time" if point.parallel == 1 else f"{point.parallel} at once"
    # Times with their deviation are right-aligned like numbers.
    columns = (
        replace(column, shown=True, kind=ColumnKind.DECIMAL if column.name in _TIMEIT else column.kind)
        for column in shown.columns
    )
    view = replace(
        shown,
        columns=tuple(columns),
        title=f"{_WORDS[point.workload]}, {at_once}, {'' if keepalive else 'no '}keep-alive",
        notes=tuple(note for note in table.notes if note.row is not None),
    )
    ranked = [replace(trial, condition="") for row in _rows(trials) for trial in row.ranked]
    return view.sparing(_SPARED).answering(usual_headline(PRESENTATION, ranked, latency_table(ranked)))


def _timeit_cell(trials: Sequence[Trial], write: Callable[[str, LatencySummary], str]) -> str | None:
    """Write the time of a loop in timeit's form: of several trials, the median one; None without a result."""
    known = sorted(_known(_successful(trials)), key=lambda one: one.mean_ns or 0.0)
    if not known:
        return None
    middle = known[(len(known) - 1) // 2]
    return write(timeit_text(middle.mean_ns or 0.0, middle.deviation_ns or 0.0), middle)


def _known(trials: Sequence[Trial]) -> list[LatencySummary]:
    believed = rankable_trials(trials) or trials
    return [summary for summary in records_of(LatencySummary, believed) if summary.mean_ns is not None]


def _successful(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.outcome is Outcome.OK]


def _median(summaries: Sequence[LatencySummary], field: str) -> float | None:
    """Return the median of a time in ms."""
    middle = median(getattr(summary, field) for summary in summaries)
    return None if middle is None else middle * _MS


def _rows(trials: Sequence[Trial]) -> list[_Row]:
    groups = _grouped(trials, lambda trial: (trial.subject, trial[LatencyPoint], trial.keepalive))
    return list(map(_Row, groups.values()))


def _blocks(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each point, from outside and in process, by its name."""
    return _grouped(trials, lambda trial: point_name(trial[LatencyPoint], keepalive=trial.keepalive))


def _grouped(trials: Sequence[Trial], key: Callable[[Trial], _Key]) -> dict[_Key, list[Trial]]:
    groups: dict[_Key, list[Trial]] = {}
    for trial in trials:
        if trial.get(LatencyPoint) is not None:
            groups.setdefault(key(trial), []).append(trial)
    return groups


_PUBLISHED_COLUMNS: Final = (
    Column("client", description="name in the publication"),
    Column("measured", description="timed in its own process, in the published form"),
    Column("measured_from_outside", description="the same loop, timed by the client's lines"),
    Column("published", description="all printed figures"),
)
_NOTE: Final = "mean ± std. dev. of 7 runs; loops of a run chosen like timeit; published: by IPython's %timeit"


def published_blocks(trials: Sequence[Trial], published: PublishedTable) -> tuple[Table, ...]:
    """Compare a run with its publication, one block for each published point; the last block has the notes."""
    blocks = []
    for point in published_points(published):
        rows: list[tuple[Cell, ...]] = []
        for subject, client in {row["subject"]: row["client"] for row in published.rows}.items():
            own = _Row([trial for trial in trials if (trial.subject, trial.get(LatencyPoint)) == (subject, point)])
            printed = [timeit_text(ms * 1e6, us * 1e3) for ms, us in _printed(published, str(subject), point)]
            measured = [
                _timeit_cell(timed, lambda time, summary: f"{time}, {counted(summary.loops or 0, 'loop')}")
                for timed in (own.harness, own.lines)
            ]
            if printed or own.trials:
                rows.append((client, *measured, "; ".join(printed) or None))
        at_once = f", parallel {point.parallel}" if point.parallel > 1 else ""
        blocks.append(Table(_PUBLISHED_COLUMNS, tuple(rows), title=f"*** {_WORDS[point.workload]}{at_once} ***"))
    *others, last = blocks
    return (*others, replace(last, notes=(Note(_NOTE),)))


def _printed(published: PublishedTable, subject: str, point: LatencyPoint) -> list[tuple[float, float]]:
    """Return all printed means (ms) and deviations (us) of a subject at a point."""
    rows = published.rows_at(subject=subject, workload=point.workload.value, parallel=point.parallel)
    return [(float(str(row["mean"])), float(str(row["deviation"]))) for row in rows]


_IN_PROCESS: Final = "in process"
_PARTS: Final = ("client", "wire", "server")


def _charts(run: Run, blocks: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw the loops, the parts of the time and the percentiles of each point.

    ``blocks`` has the trials of each point, by its name; ``names`` maps ids of subjects to their names. Both are in the
    order of the report.
    """
    for number, (point, trials) in enumerate(blocks.items()):
        outside = _Row(trials).lines
        lines = {name: [t for t in outside if t.subject == subject] for subject, name in names.items()}
        of = ConditionTrials(outside, names, run.samples())
        known = {name: _known(own) for name, own in lines.items()}
        drawn = (
            _loops_chart(trials, names, preset_of(run.manifest)),
            stacked_chart(
                "shares",
                "Time of a call",
                {
                    name: [_median(own, f"{part}_ns") or 0.0 for part in _PARTS]
                    for name, own in known.items()
                    if any(one.client_ns is not None for one in own)
                },
                _PARTS,
                Axis("time of a call", "ms"),
                caption="server: from the arrival of the request at the origin to the end of its answer; wire: the "
                "round trips of a call through the bare network, as measured; client: all else of the duration that "
                "the client claims.",
                section="Parts of the time",
            ),
            response_time_charts(of)[0],
        )
        for chart in (chart for chart in drawn if chart.series):
            yield replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}: {point}")


def _loops_chart(trials: Sequence[Trial], names: Mapping[str, str], published: PublishedTable | None) -> Chart:
    """Draw the mean of the runs of each client, and its runs: from outside, in process, as published."""
    series: list[Series] = []
    methods = subject_names([replace(trial, language="") for trial in trials], names)
    for subject, name in names.items():
        own = _Row([trial for trial in trials if trial.subject == subject])
        in_process = f"{_IN_PROCESS}: {methods.get(subject, name)}"
        for row, timed in ((name, own.lines), (in_process, own.harness)):
            known = _known(timed)
            if (mean_ms := _median(known, "mean_ns")) is not None:
                runs_ms = [one.loop_ns * _MS for summary in known for one in summary.runs]
                series += _loop_series(row, mean_ms, _median(known, "deviation_ns") or 0.0, runs_ms)
        if published and own.trials and (printed := _printed(published, subject, own.trials[0][LatencyPoint])):
            (mean_ms, deviation_us), means = printed[0], [mean for mean, _ in printed]
            series += _loop_series(f"published: {own.trials[0].method}", mean_ms, deviation_us / 1000, means)
    return Chart(
        name="loops",
        title="Time of a loop",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis("time of a loop", "ms"),
        series=tuple(series),
        caption=(
            "The large dot is the mean, the line one standard deviation of the runs to either side, as timeit has it; "
            f"the small dots are the runs. A row for the client's lines, and one {_IN_PROCESS}, as it timed its own "
            f"calls{'; then the published figures.' if published is not None else '.'}"
        ),
        section="Time of a loop",
        colours=tuple(names.values()),
    )


def _loop_series(row: str, mean_ms: float, deviation_ms: float, runs_ms: Sequence[float]) -> tuple[Series, Series]:
    """Return the runs of a row, and their mean with one standard deviation to either side."""
    low = max(mean_ms - deviation_ms, 0.0)
    return (
        Series(row, (row,) * len(runs_ms), tuple(runs_ms), faint=True),
        Series(row, (row,), (mean_ms,), (low,), (mean_ms + deviation_ms,)),
    )


def latency_report(run: Run, definition: Definition) -> Report:
    """Return the report of a latency run, which may be partial or empty."""
    trials = run.records()
    blocks = _blocks(trials)
    # Trials timed from outside are ranked, if there are any.
    ranked = {point: _Row(own).ranked for point, own in blocks.items()}
    rankings = {point: rank(own, MEAN) for point, own in ranked.items()}
    table = latency_table(trials, brief=True)
    first = ("subject", "language", "method", "workload", "parallel", "keepalive", *_SHOWN)
    table = table.select(dict.fromkeys((*first, *(column.name for column in table.columns))))
    order = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, (*order, *map(str, table.values("subject"))))
    sentences = [
        f"{point}: {ranked_headline(ranked[point], ranking, MEAN, names)}" for point, ranking in rankings.items()
    ]
    agreeing: list[str] = []
    if found := [agrees(ratio) for row in _rows(trials) if (ratio := agreement(row.lines, row.harness))]:
        same, unknown = found.count(True), found.count(None)
        doubt = f"; of {unknown} the intervals are too wide to tell" if unknown else ""
        agreeing = [f"Timed from outside and in process: {same} of {len(found)} agree within their intervals{doubt}"]
    return base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(blocks), 'point')}, {counted(len(trials), 'trial')}",
        headline="".join(sentences[:1]),
        table=table,
        charts=_charts(run, blocks, names),
        rankings=rankings.values(),
        facts=tuple((name, text) for name, text in run_facts(run.manifest, trials) if name != "URLs"),
        figures=(
            "A row for each client and point: medians of its trials. per_loop and in_process, mean ± std. dev. of "
            "seven runs, are those of the one in the middle."
        ),
        findings=(*sentences[1:], *agreeing),
    )


def _trial_result(trial: Trial) -> str | None:
    summary = trial.get(LatencySummary)
    return None if summary is None or summary.mean_ns is None else f"{format_time(summary.mean_ns)} a loop"


PRESENTATION: Final = Presentation(
    metrics=_METRICS,
    ranked_by=MEAN.name,
    identity=_IDENTITY,
    tabulate=latency_table,
    compared_by=(MEAN.name, "p99", "cpu_per_call_ms"),
    views=latency_views,
    trial_result=_trial_result,
    report=latency_report,
    preset_views=lambda run: (*run.views, *published_blocks(run.trials, run.published)),
)
