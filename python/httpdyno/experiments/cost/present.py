"""The metrics, tables and charts of the cost experiment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, product
from math import inf
from operator import itemgetter
from typing import Final

from httpdyno.experiments.cost.judge import UNCHECKED, Coding, CostPoint, CostSummary, RequestClock
from httpdyno.experiments.definition import Presentation, PresetRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.participants import ORIGIN
from httpdyno.experiments.published import circumstances_of
from httpdyno.experiments.report import usual_headline, usual_report
from httpdyno.judge import find_metric, rankable_trials, trial_table
from httpdyno.judge.figures import PEAK_MEMORY, Figure, metric, of_counter, of_record, wire_bytes
from httpdyno.judge.rankable import grouped
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
from httpdyno.report.sections.charts import ConditionTrials, memory_chart, ranking_charts, stacked_chart
from httpdyno.stats import median

_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL
_S: Final = 1e-9
_MS: Final = 1e-6
_cost: Final = partial(of_record, CostSummary)


def _seconds(name: str, figure: Figure, meaning: str, phrase: str) -> Metric:
    return Metric(Column(name, _DECIMAL, "s", meaning), figure, Direction.LOWER, 3, f"s {phrase}")


def _cpu_ms(name: str, meaning: str, phrase: str) -> Metric:
    figure, phrase = _cost(f"{name}_ns", _MS), f"ms of CPU time {phrase}"
    return metric(f"{name}_ms", figure, meaning, ColumnKind.TIME, "ms", Direction.LOWER, digits=6, phrase=phrase)


def _per_s(name: str, unit: str, figure: Figure, meaning: str, digits: int, phrase: str) -> Metric:
    return Metric(Column(name, _DECIMAL, unit, meaning), figure, Direction.HIGHER, digits, phrase)


RANKED_BY: Final = "cpu_per_document_ms"
COST_METRICS: Final = (
    metric("verified", _cost("verified"), "documents whose value was found right"),
    metric("caught", _cost("caught"), "wrong documents that were named as such", shown=False),
    # The published columns, under their names and in their unit.
    *(
        _seconds(name, of_counter(f"cpu_{name}_ns", _S), f"CPU time {mode}, of all processes", f"of CPU time {mode}")
        for name, mode in (("user", "in user mode"), ("system", "in the kernel"))
    ),
    _seconds("total", _cost("cpu_ns", _S), "both together", "of CPU time"),
    _seconds("real", _cost("real_ns", _S), "from exec to the end of the process", "from exec to the end"),
    _per_s("reqPerSec", "1/s", _cost("per_s"), "documents received per second of real", 1, "documents a second"),
    _per_s(
        *("mbPerSec", "MB/s", _cost("bytes_per_s", 1e-6)),
        "their content after decoding, in 10^6 bytes per second of real",
        *(2, "MB a second"),
    ),
    _cpu_ms("cpu_per_document", "CPU time per verified document, including start-up", "for each verified document"),
    _cpu_ms("steady_cpu_per_document", "CPU time per document in steady state", "for each document in steady state"),
    _cpu_ms(
        "cold_cpu_per_document", "CPU time per document over the first hundredth", "for each of the first documents"
    ),
    _cpu_ms("start_cpu", "CPU time until the first request", "until the first request"),
    metric("warm_up", _cost("warm_up_documents"), "documents before the cost of one had settled"),
    metric(
        *("warm_up_cpu_ms", _cost("warm_up_cpu_ns", _MS), "CPU time of those beyond what as many cost in steady state"),
        *(ColumnKind.TIME, "ms"),
        digits=6,
    ),
    PEAK_MEMORY,
    metric("connections", of_counter("connections"), "TCP connections that the origin accepted"),
    metric("wire_bytes", wire_bytes, "sent and received on the wire", ColumnKind.SIZE, "bytes", shown=False),
)
_figure: Final = {metric.name: metric.figure for metric in COST_METRICS}
_IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("condition", description="the setting, if there are several", shown=False),
)
_SETTINGS: Final = (
    Column("json_parser", description="JSON parser of the client"),
    Column("keepalive", ColumnKind.BOOLEAN, description="whether connections may be kept"),
    Column("gzip", ColumnKind.BOOLEAN, description="whether documents are offered compressed"),
    Column("documents", _INTEGER, description="documents that were to be fetched", shown=False),
    Column("peer", description="server of the documents", shown=False),
    Column("runtime", description="the language, as published tables call it", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_PUBLISHED: Final = ("verified", "user", "system", "total", "real", "reqPerSec", "mbPerSec", "wrong", "verdict")
_SPENT: Final = (
    "rank",
    RANKED_BY,
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
"""Columns that a narrow terminal hides, the last one first."""


def cost_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each subject and setting, as ``judge.trial_table`` does."""
    # Unlike other unverified answers, those of tools break no rule, and do not prevent the ranking of clients.
    trials = [replace(trial, broken_rules=()) if _is_unchecked(trial) else trial for trial in trials]
    table = trial_table(trials, COST_METRICS, RANKED_BY, _IDENTITY)
    by_row = grouped(trials)
    groups = [by_row[str(row["condition"]), str(row["subject"])] for row in table.records()]
    return Table.of_records(
        (*_IDENTITY, *_SETTINGS, *(column for column in table.columns if column not in _IDENTITY)),
        [record | _settings(group) for record, group in zip(table.records(), groups, strict=True)],
        table.title,
        _notes(table, groups),
    )


def cost_views(trials: Sequence[Trial], _: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Build two tables that fit a terminal: the cost of each document, and the published columns."""
    table = cost_table(trials)
    varied = [name for name in ("keepalive", "gzip") if len(set(table.values(name))) > 1]
    who, filled = ("language", "method", *varied), table.filled()
    names = [name for name in _SPENT if name in filled]
    spent = _picked(table, (*who, *names), ())
    # A subject that was not measured has a row in the second table, together with the reason.
    measured = [any(cell is not None for cell in row) for row in table.select(names).rows]
    spent = replace(spent, rows=tuple(compress(spent.rows, measured)))
    # Only formats for programs have the ends of the interval.
    notes = tuple(note for note in table.notes if not note.columns)
    published = _picked(table, (*who, "json_parser", *_PUBLISHED), notes)
    return spent.answering(usual_headline(PRESENTATION, trials, table)), published


def _picked(table: Table, names: Sequence[str], notes: tuple[Note, ...]) -> Table:
    return replace(table.select(names), title="", notes=notes).sparing(_SPARED)


def _settings(group: Sequence[Trial]) -> dict[str, Cell]:
    first, point = group[0], group[0].get(CostPoint)
    return {
        "json_parser": next((one.json_parser for one in records_of(CostSummary, group) if one.json_parser), None),
        "keepalive": first.keepalive,
        "gzip": None if point is None else point.coding is Coding.GZIP,
        "documents": None if point is None else point.documents,
        "peer": first.peer,
        "runtime": first.language,
        "client": first.method,
    }


def _notes(table: Table, groups: Sequence[Sequence[Trial]]) -> Iterator[Note]:
    yield from (note for note in table.notes if note.row is not None)
    for row, group in enumerate(groups):
        yield from (Note(text, row) for text in _remarks(group))
    yield from map(Note, dict.fromkeys(text for group in groups for text in _own_times(group)))
    yield from (note for note in table.notes if note.row is None)


def _is_unchecked(trial: Trial) -> bool:
    """Return whether a trial is of a tool, which verifies no document."""
    summary = trial.get(CostSummary)
    return summary is not None and summary.verified is None and trial.validity is Validity.UNVERIFIED


def _own_times(group: Sequence[Trial]) -> Iterator[str]:
    """Explain why start-up and steady state are computed from times that clients print."""
    for trial in group:
        summary = trial.get(CostSummary)
        if summary is None or summary.requests_timed_by is not RequestClock.CLIENT:
            continue
        if way := trial.counters.against:
            why = f"the clock of {way.url} is known to {format_time(way.clock_bound_ns or 0)} only"
        elif trial.peer == ORIGIN:
            why = "no request reached the origin"
        else:
            why = f"{trial.peer} records no time of its requests"
        yield f"start-up and steady state are computed from the clients' own times: {why}"
        return


def _remarks(group: Sequence[Trial]) -> Iterator[str]:
    well = [trial for trial in group if trial.outcome is Outcome.OK and trial.get(CostSummary)]
    if any(map(_is_unchecked, well)):
        yield f"{UNCHECKED}: shown, but not ranked"
    summaries = records_of(CostSummary, well)
    if caught := {summary.caught for summary in summaries if summary.caught}:
        counts = " to ".join(map(str, sorted({min(caught), max(caught)})))
        yield f"the web served wrong documents: {counts} were reported as wrong"
    moved = [drift for summary in summaries if abs(drift := summary.drift or 0.0) > 0.1]
    if 2 * len(moved) > len(well):
        worst = max(moved, key=abs)
        yield (
            f"its cost had not settled: a document of the last third cost {abs(100 * worst):.0f} % "
            f"{'less' if worst < 0 else 'more'} than one of the first; more --documents show where it ends"
        )
    refused = (summary.receive_steering_reason for summary in summaries if summary.receive_steering_reason)
    if reason := next(refused, None):
        yield f"packets were not received on its own CPUs: {reason}"


_AS_PUBLISHED: Final = "As published"
_CPU_SPENT: Final = "What was spent"
_TIMES: Final = ("user", "system")
_DATA: Final = ("user", "system", "total", "real", "mbPerSec")
_TONES: Final = (
    (Tone.HELD, "within 1.5x of the best", 1.5),
    (Tone.NEAR, "within 3x", 3.0),
    (Tone.PART, "within 10x", 10.0),
    (Tone.LITTLE, "more", inf),
)
_TOOLS: Final = "Load tools are shown with the clients, although they verify nothing."


def _charts(of: ConditionTrials) -> Iterator[Chart]:
    yield from ranking_charts(of)
    yield from (
        _interval_chart(of, "mbPerSec", "throughput", "Throughput", "10^6 bytes of content a second."),
        _interval_chart(of, "real", "real-time", "Real time", "From exec to the end of the process."),
        stacked_chart(
            "user-system-time",
            "User and system time (s)",
            {
                name: values
                for name, trials in of.well
                if None not in (values := [_median(trials, part) for part in _TIMES])
            },
            _TIMES,
            Axis("CPU time", "s"),
            caption=f"CPU time of all of a subject's processes, as the kernel counted it; medians. {_TOOLS}",
            section=_AS_PUBLISHED,
        ),
        _all_data(of),
        stacked_chart(
            "spending",
            "Where the CPU time went",
            {name: parts for name, trials in of.well if (parts := _spending(trials))},
            ("documents", "start", "warm-up"),
            Axis("share of CPU time", "%"),
            caption="Start: until the first request. Warm-up: the cost of the first documents beyond as many in steady "
            "state, as MSER-5 finds it. Documents: all the rest.",
            section=_CPU_SPENT,
        ),
        _course(of),
        memory_chart(of),
    )


def _counting(trials: Sequence[Trial]) -> Sequence[Trial]:
    return rankable_trials(trials) or trials


def _median(trials: Sequence[Trial], metric: str) -> float | None:
    return median(map(_figure[metric], _counting(trials)))


def _interval_chart(of: ConditionTrials, metric_name: str, name: str, title: str, caption: str) -> Chart:
    column = find_metric(COST_METRICS, metric_name).column
    series: list[Series] = []
    for subject, trials in of.well:
        if values := [value for trial in _counting(trials) if (value := _figure[metric_name](trial)) is not None]:
            dots = Series(subject, (subject,) * len(values), tuple(values), faint=True)
            series += (dots, Series(subject, (subject,), (median(values),)))
    return Chart(
        name=name,
        title=f"{title} ({column.unit})",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis(title.lower(), column.unit),
        series=tuple(series),
        caption=f"{caption} The large dot is the median of a subject's trials. {_TOOLS}",
        section=_AS_PUBLISHED,
        colours=of.colours,
    )


def _all_data(of: ConditionTrials) -> Chart:
    """Draw the medians as a table, each coloured by its ratio to the best."""
    tiles: list[Tile] = []
    medians = {name: {subject: _median(trials, name) for subject, trials in of.well} for name in _DATA}
    # Rows are stacked upwards, but the first subject must be at the top.
    for subject, name in product(reversed(medians[_DATA[0]]), _DATA):
        metric = find_metric(COST_METRICS, name)
        unit, value = metric.column.unit, medians[name][subject]
        if value is not None:
            known = [one for one in medians[name].values() if one is not None]
            best = (max if metric.better is Direction.HIGHER else min)(known)
            ratio = max(value / best, best / value) if value and best else 1.0
            tone = next(tone for tone, _, reach in _TONES if ratio <= reach)
            heading = f"{name} ({unit})" if unit == "s" else unit
            tiles.append(Tile("", heading, subject, tone, f"{value:,.2f}", f"{subject}, {name}: {value:,.3f} {unit}"))
    return Chart(
        name="all-data",
        title="All data",
        kind=ChartKind.TILES,
        x=Axis(""),
        y=Axis(""),
        series=(),
        caption="The published columns, and throughput: medians over the trials of each subject.",
        section=_AS_PUBLISHED,
        tiles=tuple(tiles),
        tones=tuple((tone, meaning) for tone, meaning, _ in _TONES),
    )


def _spending(trials: Sequence[Trial]) -> tuple[float, float, float] | None:
    """Return the CPU time of a subject for documents, start and warm-up in ms; None if unknown."""
    total, start, warm_up = (_median(trials, name) for name in ("total", "start_cpu_ms", "warm_up_cpu_ms"))
    if total is None or start is None:
        return None
    above = max(warm_up or 0.0, 0.0)
    return max(1000 * total - start - above, 0.0), start, above


def _course(of: ConditionTrials) -> Chart:
    """Draw the cost of a document over the trial, for each subject in the trial nearest to its median."""
    series: list[Series] = []
    for subject, trials in of.well:
        middle = _median(trials, RANKED_BY) or 0.0
        known = [(abs(value - middle), trial) for trial in _counting(trials) if (value := _figure[RANKED_BY](trial))]
        _, typical = min(known, key=itemgetter(0), default=(0.0, None))
        if typical and (steps := typical[CostSummary].steps):
            after = tuple(step.documents for step in steps)
            series.append(Series(subject, after, tuple(step.cpu_ns * 1e-3 or None for step in steps)))
    return Chart(
        name="course",
        title="The cost of a document over the trial",
        kind=ChartKind.LINES,
        x=Axis("documents"),
        y=Axis("CPU time for each document", "us", Scale.LOGARITHMIC),
        series=tuple(series),
        caption="For each subject, the trial nearest to its median. While a subject warms up, its line falls.",
        section=_CPU_SPENT,
        colours=of.colours,
    )


def _trial_result(trial: Trial) -> str | None:
    cost = trial.get(CostSummary)
    if cost is None or cost.cpu_per_document_ns is None:
        return None
    return f"{cost.answered:,} documents, {format_time(cost.cpu_per_document_ns)} of CPU time each"


def _preset_views(of: PresetRun) -> tuple[Table, ...]:
    """Compare the run with the publication's figures and with the throughput in its text."""
    published = published_table("cost-throughput")
    throughput = stacked(of.table, published, circumstances_of(of.run.manifest, of.trials))
    return *of.views, replace(throughput, notes=tuple(map(Note, published.remarks))), of.comparison


PRESENTATION: Final = Presentation(
    metrics=COST_METRICS,
    ranked_by=RANKED_BY,
    identity=_IDENTITY,
    tabulate=cost_table,
    compared_by=(RANKED_BY, "real", "peak_memory_bytes"),
    views=cost_views,
    trial_result=_trial_result,
    report=partial(usual_report, draw=_charts),
    preset_views=_preset_views,
)
