"""The metrics, tables and charts of the cost question."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from httpdyno.experiments.cost.judge import UNCHECKED, Coding, CostPoint, CostSummary, RequestClock
from httpdyno.experiments.definition import Definition, Presentation, PresetRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.participants import ORIGIN
from httpdyno.experiments.published import circumstances_of
from httpdyno.experiments.report import usual_headline, usual_report
from httpdyno.judge import find_metric, rankable_trials, trial_table
from httpdyno.judge.figures import of_counter, of_record, wire_bytes
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
    Ranking,
    Report,
    Scale,
    Series,
    Table,
    Tile,
    Tone,
    Trial,
    Validity,
    format_time,
    records_of,
)
from httpdyno.published import published_table, stacked
from httpdyno.report.sections.charts import ConditionTrials, memory_chart, ranking_chart, ratio_chart
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["COST_METRICS", "IDENTITY", "PRESENTATION", "RANKED_BY", "cost_charts", "cost_table", "cost_views"]

_INTEGER, _DECIMAL, _TIME = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.TIME
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_S: Final = 1e-9
_MS: Final = 1e-6
_MEGABYTE: Final = 1e-6
_cost: Final = partial(of_record, CostSummary)


COST_METRICS: Final = (
    Metric(Column("verified", _INTEGER, description="documents whose value was found right"), _cost("verified")),
    Metric(
        Column("caught", _INTEGER, description="wrong documents that were named as such", shown=False), _cost("caught")
    ),
    # The published columns, under their names and in their unit.
    Metric(
        Column("user", _DECIMAL, "s", "CPU time in user mode, of all processes"),
        of_counter("cpu_user_ns", _S),
        _LOWER,
        3,
        "s of CPU time in user mode",
    ),
    Metric(
        Column("system", _DECIMAL, "s", "CPU time in the kernel, of all processes"),
        of_counter("cpu_system_ns", _S),
        _LOWER,
        3,
        "s of CPU time in the kernel",
    ),
    Metric(Column("total", _DECIMAL, "s", "both together"), _cost("cpu_ns", _S), _LOWER, 3, "s of CPU time"),
    Metric(
        Column("real", _DECIMAL, "s", "from exec to the end of the process"),
        _cost("real_ns", _S),
        _LOWER,
        3,
        "s from exec to the end",
    ),
    Metric(
        Column("reqPerSec", _DECIMAL, "1/s", "documents that came, for each second of real"),
        _cost("per_s"),
        _HIGHER,
        1,
        "documents a second",
    ),
    Metric(
        Column("mbPerSec", _DECIMAL, "MB/s", "their content after decoding, in 10^6 bytes for each second of real"),
        _cost("bytes_per_s", _MEGABYTE),
        _HIGHER,
        2,
        "MB a second",
    ),
    Metric(
        Column("cpu_per_document_ms", _TIME, "ms", "CPU time for each verified document, start-up included"),
        _cost("cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each verified document",
    ),
    Metric(
        Column("steady_cpu_per_document_ms", _TIME, "ms", "that of a document once its cost had settled"),
        _cost("steady_cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each document in steady state",
    ),
    Metric(
        Column("cold_cpu_per_document_ms", _TIME, "ms", "that of the first hundredth of the documents"),
        _cost("cold_cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each of the first documents",
    ),
    Metric(
        Column("start_cpu_ms", _TIME, "ms", "CPU time until the first request"),
        _cost("start_cpu_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time until the first request",
    ),
    Metric(
        Column("warm_up", _INTEGER, description="documents before the cost of one had settled"),
        _cost("warm_up_documents"),
    ),
    Metric(
        Column("warm_up_cpu_ms", _TIME, "ms", "CPU time of those beyond what as many cost in steady state"),
        _cost("warm_up_cpu_ns", _MS),
        digits=6,
    ),
    Metric(
        Column("peak_memory_bytes", ColumnKind.SIZE, "bytes", "highest memory in use"),
        of_counter("peak_memory_bytes"),
        _LOWER,
    ),
    Metric(
        Column("connections", _INTEGER, description="TCP connections that the origin accepted"),
        of_counter("connections"),
    ),
    Metric(Column("wire_bytes", ColumnKind.SIZE, "bytes", "sent and received on the wire", shown=False), wire_bytes),
)


RANKED_BY: Final = "cpu_per_document_ms"
IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("condition", description="the setting, where there are several", shown=False),
)
_SETTINGS: Final = (
    Column("json_parser", description="what the client parses the documents with"),
    Column("keepalive", ColumnKind.BOOLEAN, description="whether connections may be kept"),
    Column("gzip", ColumnKind.BOOLEAN, description="whether documents are offered compressed"),
    Column("documents", ColumnKind.INTEGER, description="documents that were to be fetched", shown=False),
    Column("peer", description="who has the documents", shown=False),
    Column("runtime", description="the language, as published tables call it", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_VARIED: Final = ("keepalive", "gzip")
"""People are shown these where they differ."""
_PUBLISHED: Final = ("verified", "user", "system", "total", "real", "reqPerSec", "mbPerSec", "wrong", "verdict")
_SPENT: Final = (
    "rank",
    "cpu_per_document_ms",
    "steady_cpu_per_document_ms",
    "cold_cpu_per_document_ms",
    "start_cpu_ms",
    "warm_up",
    "peak_memory_bytes",
    "connections",
)
_SPARED: Final = frozenset(
    {"language", "cold_cpu_per_document_ms", "start_cpu_ms", "warm_up", "json_parser", "verified"}
)
"""Left out on a narrow terminal, the last of them first."""
_SETTLED: Final = 0.1
"""A cost that changes by more than this from the first to the last third had not settled."""


def cost_table(trials: Sequence[Trial]) -> Table:
    """Put trials into one row for each subject and setting, as ``judge.trial_table`` does; programs get all of it."""
    table = trial_table(trials, COST_METRICS, RANKED_BY, IDENTITY)
    groups = [
        _group(trials, str(subject), str(condition or ""))
        for subject, condition in zip(table.values("subject"), table.values("condition"), strict=True)
    ]
    width = len(IDENTITY)
    return Table(
        (*table.columns[:width], *_SETTINGS, *table.columns[width:]),
        tuple((*row[:width], *_settings(group), *row[width:]) for row, group in zip(table.rows, groups, strict=True)),
        title=table.title,
        notes=tuple(_notes(table, groups)),
    )


def cost_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Put trials into two tables that fit a terminal: what was published of each, and what each document cost."""
    del settings
    table = cost_table(trials)
    varied = [name for name in _VARIED if len(set(table.values(name))) > 1]
    who = ("language", "method", *varied)
    filled = table.filled()
    spent = _picked(table, (*who, *(name for name in _SPENT if name in filled)), ())
    # Who was not measured has a row in the second table, which says why.
    spent = replace(spent, rows=tuple(row for row in spent.rows if any(cell is not None for cell in row[len(who) :])))
    # Only programs get the ends of the interval.
    notes = tuple(note for note in table.notes if not note.text.startswith(f"{RANKED_BY}_low"))
    published = _picked(table, (*who, "json_parser", *_PUBLISHED), notes)
    return spent, published


def _picked(table: Table, names: Sequence[str], notes: tuple[Note, ...]) -> Table:
    """Return some columns, in that order."""
    return replace(table.select(names), title="", notes=notes).sparing(_SPARED)


def _group(trials: Sequence[Trial], subject: str, condition: str) -> list[Trial]:
    return [trial for trial in trials if trial.subject == subject and trial.condition == condition]


def _settings(group: Sequence[Trial]) -> tuple[Cell, ...]:
    parsers = [summary.json_parser for summary in records_of(CostSummary, group) if summary.json_parser]
    point = group[0].get(CostPoint)
    zipped = None if point is None else point.coding is Coding.GZIP
    first = group[0]
    asked = None if point is None else point.documents
    who = (first.language, first.method)
    return (parsers[0] if parsers else None, first.keepalive, zipped, asked, first.peer, *who)


def _notes(table: Table, groups: Sequence[Sequence[Trial]]) -> Iterator[Note]:
    """Return the notes of the rows, what has to be added to them, and those of the whole."""
    yield from (note for note in table.notes if note.row is not None)
    for row, group in enumerate(groups):
        yield from (Note(text, row) for text in _remarks(group))
    yield from map(Note, dict.fromkeys(text for group in groups for text in _own_times(group)))
    yield from (note for note in table.notes if note.row is None and UNCHECKED not in note.text)


def _own_times(group: Sequence[Trial]) -> Iterator[str]:
    """Describe why the split of start-up and steady state rests on what clients print: it does not show there."""
    for trial in group:
        summary = trial.get(CostSummary)
        if summary is None or summary.requests_timed_by is not RequestClock.CLIENT:
            continue
        way = trial.counters.against
        if way is None:
            ours = trial.peer == ORIGIN
            why = "no request reached the origin" if ours else f"{trial.peer} records no time of its requests"
        else:
            why = f"the clock of {way.url} is known to {format_time(way.clock_bound_ns or 0)} only"
        yield f"start-up and steady state rest on the clients' own times: {why}"
        return


def _remarks(group: Sequence[Trial]) -> Iterator[str]:
    well = [trial for trial in group if trial.outcome is Outcome.OK and trial.get(CostSummary)]
    if any(trial.validity is Validity.UNVERIFIED and trial.validity_reason == UNCHECKED for trial in well):
        yield f"{UNCHECKED}: shown, but not ranked"
    summaries = records_of(CostSummary, well)
    caught = sorted({summary.caught for summary in summaries if summary.caught})
    if caught:
        yield f"the web served wrong documents: {_counts(caught)} were named as such"
    moved = [drift for summary in summaries if abs(drift := summary.drift or 0.0) > _SETTLED]
    if 2 * len(moved) > len(well):
        worst = max(moved, key=abs)
        yield (
            f"its cost had not settled: a document of the last third cost {abs(100 * worst):.0f} % "
            f"{'less' if worst < 0 else 'more'} than one of the first; more --documents show where it ends"
        )
    refused = [summary.receive_steering_reason for summary in summaries if summary.receive_steering_reason]
    if refused:
        yield f"packets were not received on its own CPUs: {refused[0]}"


def _counts(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


PUBLISHED: Final = "As published"
_SPENT_SECTION: Final = "What was spent"
_PARTS: Final = ("documents", "start", "warm-up")
_COLUMNS: Final = ("user", "system", "total", "real", "mbPerSec")
_US: Final = 1e-3
_TONES: Final = (
    (Tone.HELD, "within 1.5x of the best"),
    (Tone.NEAR, "within 3x"),
    (Tone.PART, "within 10x"),
    (Tone.LITTLE, "more"),
)
_REACH: Final = (1.5, 3.0, 10.0)
_TOOLS: Final = "Load tools stand among the clients, though they verify nothing."

_Figure = Callable[[Trial], float | None]


def cost_charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    metric: Metric,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    """Draw the trials of one setting.

    ``verdicts`` are counts of verdicts by the number of a trial.
    """
    del run, verdicts
    drawn = (
        ranking_chart(of, ranking, metric, names),
        ratio_chart(of, ranking, names),
        _figures(of, "mbPerSec", "throughput", "Throughput", "throughput", "10^6 bytes of content a second."),
        _figures(of, "real", "real-time", "Real time", "real time", "From exec to the end of the process."),
        _sums(of, "user-system-time", "User and system time", PUBLISHED, (("user", "user"), ("system", "system")), "s"),
        _all_data(of),
        _spending(of),
        _course(of),
        memory_chart(of),
    )
    yield from (chart for chart in drawn if chart is not None)


def _counting(trials: Sequence[Trial]) -> Sequence[Trial]:
    return rankable_trials(trials) or trials


def _values(trials: Sequence[Trial], figure: _Figure) -> list[float]:
    return [value for trial in _counting(trials) if (value := figure(trial)) is not None]


def _figures(of: ConditionTrials, metric_name: str, name: str, title: str, axis: str, caption: str) -> Chart | None:
    """Draw a figure of each subject: the median over its trials, which stand behind it."""
    metric = find_metric(COST_METRICS, metric_name)
    series: list[Series] = []
    for subject, trials in of.well:
        values = _values(trials, metric.figure)
        if values:
            series.append(Series(subject, (subject,) * len(values), tuple(values), faint=True))
            series.append(Series(subject, (subject,), (median(values),)))
    if not series:
        return None
    return Chart(
        name=name,
        title=f"{title} ({metric.column.unit})",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis(axis, metric.column.unit),
        series=tuple(series),
        caption=f"{caption} The large dot is the median of a subject's trials. {_TOOLS}",
        section=PUBLISHED,
        colours=of.colours,
    )


def _sums(
    of: ConditionTrials, name: str, title: str, section: str, parts: Sequence[tuple[str, str]], unit: str
) -> Chart | None:
    """Draw what a sum consists of for each subject: medians over its trials."""
    rows = {
        subject: [median(_values(trials, find_metric(COST_METRICS, metric).figure)) for metric, _ in parts]
        for subject, trials in of.well
    }
    known = {subject: row for subject, row in rows.items() if None not in row}
    if not known:
        return None
    return Chart(
        name=name,
        title=f"{title} ({unit})",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("CPU time", unit),
        series=tuple(
            Series(label, tuple(known), tuple(row[place] for row in known.values()))
            for place, (_, label) in enumerate(parts)
        ),
        caption=f"CPU time of all of a subject's processes, as the kernel counted it; medians. {_TOOLS}",
        section=section,
        colours=tuple(label for _, label in parts),
    )


def _all_data(of: ConditionTrials) -> Chart | None:
    """Draw the figures themselves as a table, each in the tone of how far it is from the best."""
    metrics = [find_metric(COST_METRICS, name) for name in _COLUMNS]
    cells = {
        (subject, metric.name): value
        for subject, trials in of.well
        for metric in metrics
        if (value := median(_values(trials, metric.figure))) is not None
    }
    if not cells:
        return None
    best = {
        metric.name: (max if metric.name == "mbPerSec" else min)(
            value for (_, name), value in cells.items() if name == metric.name
        )
        for metric in metrics
        if any(name == metric.name for _, name in cells)
    }
    subjects = list(dict.fromkeys(subject for subject, _ in cells))
    tiles = [
        Tile(
            "",
            _heading(metric),
            subject,
            _tone(value, best[metric.name]),
            f"{value:,.2f}",
            f"{subject}, {metric.name}: {value:,.3f} {metric.column.unit}",
        )
        # Rows are stacked upwards: the first subject is to be at the top.
        for subject in reversed(subjects)
        for metric in metrics
        if (value := cells.get((subject, metric.name))) is not None
    ]
    return Chart(
        name="all-data",
        title="All data",
        kind=ChartKind.TILES,
        x=Axis(""),
        y=Axis(""),
        series=(),
        caption="The published columns, and throughput: medians over the trials of each subject.",
        section=PUBLISHED,
        tiles=tuple(tiles),
        tones=_TONES,
    )


def _heading(metric: Metric) -> str:
    unit = metric.column.unit
    return f"{metric.name} ({unit})" if unit == "s" else unit


def _tone(value: float, best: float) -> Tone:
    ratio = max(value / best, best / value) if value and best else 1.0
    return next((tone for (tone, _), reach in zip(_TONES, _REACH, strict=False) if ratio <= reach), Tone.LITTLE)


def _spending(of: ConditionTrials) -> Chart | None:
    """Draw how much of the CPU time was for the start, for the warm-up beyond the documents, and for documents."""
    rows: dict[str, tuple[float, float, float]] = {}
    for subject, trials in of.well:
        starts = _values(trials, _start_ms)
        excess = _values(trials, _warm_up_ms)
        totals = _values(trials, find_metric(COST_METRICS, "total").figure)
        start, warm_up, total = median(starts), median(excess), median(totals)
        if start is not None and total is not None:
            above = max(warm_up or 0.0, 0.0)
            rows[subject] = (max(1000 * total - start - above, 0.0), start, above)
    if not rows:
        return None
    return Chart(
        name="spending",
        title="Where the CPU time went",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("share of CPU time", "%"),
        series=tuple(
            Series(label, tuple(rows), tuple(row[place] for row in rows.values())) for place, label in enumerate(_PARTS)
        ),
        caption=(
            "Start: until the first request. Warm-up: what the first documents cost beyond as many in steady state, "
            "as MSER-5 finds it. Documents: all the rest."
        ),
        section=_SPENT_SECTION,
        colours=_PARTS,
    )


def _start_ms(trial: Trial) -> float | None:
    value = trial[CostSummary].start_cpu_ns if trial.get(CostSummary) else None
    return None if value is None else value * _MS


def _warm_up_ms(trial: Trial) -> float | None:
    value = trial[CostSummary].warm_up_cpu_ns if trial.get(CostSummary) else None
    return None if value is None else value * _MS


def _course(of: ConditionTrials) -> Chart | None:
    """Draw what a document cost over the trial, of the trial of each subject that is nearest to its median."""
    series: list[Series] = []
    for subject, trials in of.well:
        trial = _typical(_counting(trials))
        steps = trial[CostSummary].steps if trial and trial.get(CostSummary) else None
        if steps:
            after = tuple(step.documents for step in steps)
            series.append(Series(subject, after, tuple(step.cpu_ns * _US or None for step in steps)))
    if not series:
        return None
    return Chart(
        name="course",
        title="The cost of a document over the trial",
        kind=ChartKind.LINES,
        x=Axis("documents"),
        y=Axis("CPU time for each document", "us", Scale.LOGARITHMIC),
        series=tuple(series),
        caption="Of each subject the trial nearest to its median. What warms up falls, and then runs level.",
        section=_SPENT_SECTION,
        colours=of.colours,
    )


def _typical(trials: Sequence[Trial]) -> Trial | None:
    figure = find_metric(COST_METRICS, "cpu_per_document_ms").figure
    known = [(value, trial) for trial in trials if (value := figure(trial)) is not None]
    middle = median([value for value, _ in known])
    return None if middle is None else min(known, key=lambda one: abs(one[0] - middle))[1]


def cost_result(trial: Trial) -> str | None:
    """Describe how many documents were answered, and the CPU time of each."""
    cost = trial.get(CostSummary)
    if cost is None or cost.cpu_per_document_ns is None:
        return None
    return f"{cost.answered:,} documents, {format_time(cost.cpu_per_document_ns)} of CPU time each"


def cost_report(run: Run, definition: Definition) -> Report:
    """Return the usual page, with charts of what was spent."""
    return usual_report(run, definition, cost_charts)


def _answered_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    first, *others = cost_views(trials, settings)
    return first.answering(usual_headline(PRESENTATION, trials, cost_table(trials))), *others


def _preset_views(of: PresetRun) -> tuple[Table, ...]:
    """Put next to the run what the publication's text says of throughput; its source stands below the other table."""
    published = published_table("cost-throughput")
    throughput = stacked(of.table, published, circumstances_of(of.run.manifest, of.trials))
    return *of.views, replace(throughput, notes=tuple(map(Note, published.remarks))), of.comparison


PRESENTATION: Final = Presentation(
    metrics=COST_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=cost_table,
    compared_by=(RANKED_BY, "real", "peak_memory_bytes"),
    views=_answered_views,
    trial_result=cost_result,
    report=cost_report,
    preset_views=_preset_views,
)
