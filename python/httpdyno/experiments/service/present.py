"""The metrics, tables, charts and report of the service question, and its published form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.report import base_report
from httpdyno.experiments.service.figures import HELD_WITHIN, ServicePoint, ServiceSummary
from httpdyno.experiments.service.plan import Bounds, Variant, checks_of, to_be_tried
from httpdyno.judge import rank, rankable_trials, trial_notes, trial_table, worst_validity
from httpdyno.judge.figures import of_counter, of_record
from httpdyno.judge.wording import listed
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Direction,
    Loop,
    Metric,
    Note,
    Outcome,
    Report,
    Scale,
    Series,
    Table,
    Trial,
    Validity,
    counted,
    format_time,
    records_of,
)
from httpdyno.published import PublishedTable
from httpdyno.report.sections.headline import after_colon, ranked_headline
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import median
from httpdyno.stats.boundary import Check, DoublingSearch
from httpdyno.store import Manifest, Run

__all__ = [
    "IDENTITY",
    "PRESENTATION",
    "RANKED_BY",
    "SERVICE_METRICS",
    "published_form",
    "reach_table",
    "reaches",
    "service_answer",
    "service_charts",
    "service_report",
    "service_table",
    "service_views",
]

RANKED_BY: Final = "overhead_p99_ms"
_LOWER, _HIGHER = Direction.LOWER, Direction.HIGHER
_TIME, _DURATION, _SIZE = ColumnKind.TIME, ColumnKind.DURATION, ColumnKind.SIZE
_MS: Final = 1e-6
_figure: Final = partial(of_record, ServiceSummary)


SERVICE_METRICS: Final = (
    Metric(
        Column(RANKED_BY, _TIME, "ms", "99th percentile of how far response times are from the ideal"),
        _figure("overhead_p99_ns", _MS),
        _LOWER,
        4,
        endless=True,
        phrase="ms from the ideal at p99",
    ),
    Metric(
        Column("overhead_p50_ms", _TIME, "ms", "median of how far response times are from the ideal"),
        _figure("overhead_p50_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("overhead_p999_ms", _TIME, "ms", "99.9th percentile of the same; null of fewer than 1,000 requests"),
        _figure("overhead_p999_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(Column("requestsPerSec", ColumnKind.DECIMAL, "1/s", "right answers a second"), _figure("per_s"), _HIGHER, 2),
    Metric(
        Column("p99", _DURATION, "ms", "99th percentile of the response time"),
        _figure("p99_ns", _MS),
        _LOWER,
        2,
        endless=True,
    ),
    Metric(
        Column("slowest5", _DURATION, "ms", "mean of the slowest 5 %: what rewrk prints as 95 %"),
        _figure("slowest_5_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(
        Column("cpu_per_request_ms", _TIME, "ms", "CPU time of the server for each answer"),
        _figure("cpu_per_request_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("memory_per_open_bytes", _SIZE, "bytes", "memory that the load adds, for each request in flight"),
        _figure("memory_per_open_bytes"),
        _LOWER,
    ),
    Metric(
        Column("peak_memory_bytes", _SIZE, "bytes", "highest memory in use"), of_counter("peak_memory_bytes"), _LOWER
    ),
    Metric(
        Column("errors", ColumnKind.INTEGER, "", "requests that failed or got another status"),
        _figure("errors"),
        _LOWER,
    ),
    Metric(Column("p50", _DURATION, "ms", "median response time", shown=False), _figure("p50_ns", _MS), _LOWER, 2),
    Metric(
        Column("p95", _DURATION, "ms", "95th percentile of the response time", shown=False),
        _figure("p95_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(
        Column("p999", _DURATION, "ms", "99.9th percentile of the response time", shown=False),
        _figure("p999_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(Column("max", _DURATION, "ms", "longest response time", shown=False), _figure("max_ns", _MS), _LOWER, 2),
    Metric(Column("mean", _DURATION, "ms", "mean response time", shown=False), _figure("mean_ns", _MS), _LOWER, 2),
    Metric(
        Column("answers", ColumnKind.INTEGER, "", "right answers that the figures rest on", shown=False),
        _figure("answers"),
    ),
    Metric(
        Column("still_open", ColumnKind.INTEGER, "", "requests of them that were open at the end", shown=False),
        _figure("still_open"),
        _LOWER,
    ),
    Metric(
        Column("open", ColumnKind.DECIMAL, "", "requests in flight on average", shown=False),
        _figure("open_mean"),
        digits=1,
    ),
    Metric(
        Column("early", ColumnKind.INTEGER, "", "answers before the longest wait was over", shown=False),
        _figure("early"),
        _LOWER,
    ),
    Metric(
        Column("early_by_ms", _TIME, "ms", "how much too early the first of them was", shown=False),
        _figure("early_by_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("descriptors", ColumnKind.INTEGER, "", "most descriptors open at once", shown=False),
        _figure("descriptors_peak"),
        _LOWER,
    ),
    Metric(
        Column("ready", _DURATION, "ms", "from exec until it accepted a connection", shown=False),
        _figure("ready_ns", _MS),
        _LOWER,
        1,
    ),
)
"""In the order of the table, the one that ranks first."""


_OF_ITS_OWN = DoublingSearch(1, 1)


@dataclass(frozen=True, slots=True)
class Reach:
    """Connections that one server holds in one variant."""

    subject: str
    variant: Variant
    held: int | None
    """The most connections held without a failure below; None: the fewest measured already failed."""
    failed: int | None
    """The fewest connections that failed; None: it held all that were measured."""
    how: str
    """The failure in one line; empty if it held all."""
    doubtful: bool
    """Whether the machine or the generator may have caused the failure."""
    trials: int
    unfinished: bool = False
    """Whether its search stopped before it found the breaking point."""


def reaches(trials: Sequence[Trial], bounds: Bounds | None = None) -> tuple[Reach, ...]:
    """Return the connections that each server holds in each variant.

    ``bounds`` are those of a search, and mark unfinished ones; a grid has none.
    """
    groups: dict[tuple[str, Variant], list[Trial]] = {}
    for trial in trials:
        point = trial.get(ServicePoint)
        if point is not None and point.waits_ms:
            groups.setdefault((trial.subject, Variant.of(point)), []).append(trial)
    return tuple(_reach(*group, of, bounds) for group, of in groups.items())


def reach_of(trial: Trial, found: Sequence[Reach]) -> Reach | None:
    """Find the reach of a trial's server in its variant."""
    point = trial.get(ServicePoint)
    if point is None:
        return None
    key = (trial.subject, Variant.of(point))
    return next((one for one in found if (one.subject, one.variant) == key), None)


def decisive_trials(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return the trials of a point that show whether it is held; all trials if none does.

    A disturbed trial counts only if the point was held in spite of the disturbance.
    """
    return [trial for trial in trials if checks_of([trial], tries=2)] or trials


def is_held(trials: Sequence[Trial]) -> bool | None:
    """Return whether all decisive trials of a point held; None: unknown."""
    checks = checks_of(decisive_trials(_judged_trials(trials)), tries=1)
    return all(check.held for check in checks) if checks else None


def _reach(subject: str, variant: Variant, trials: Sequence[Trial], bounds: Bounds | None) -> Reach:
    measured = _judged_trials(trials)
    points: dict[int, list[Trial]] = {}
    for trial in measured:
        points.setdefault(trial[ServicePoint].connections, []).append(trial)
    known = {load: held for load, of in points.items() if (held := is_held(of)) is not None}
    broken = _OF_ITS_OWN.conclude([Check(float(load), held) for load, held in known.items()])
    there = points.get(broken.failed, []) if broken.failed is not None else []
    worst = [trial for trial in there if not ((summary := trial.get(ServiceSummary)) and summary.held)]
    how = _why_not_held(worst[-1]) if worst else ""
    doubtful = bool(worst) and all(trial.validity not in {Validity.VALID, None} for trial in worst)
    unfinished = bounds is not None and to_be_tried(bounds.search, trials) is not None
    return Reach(subject, variant, broken.held, broken.failed, how, doubtful, len(measured), unfinished)


def _judged_trials(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.outcome is not Outcome.UNAVAILABLE and _judged(trial)]


def _judged(trial: Trial) -> bool:
    """Return whether a trial has a result; a generator without percentiles gives none."""
    summary = trial.get(ServiceSummary)
    return trial.outcome is not Outcome.OK or (summary is not None and summary.held is not None)


def _why_not_held(trial: Trial) -> str:
    if trial.outcome is not Outcome.OK:
        return f"{trial.outcome}: {trial.reason}"
    summary = trial.get(ServiceSummary)
    return (summary.why_not if summary else None) or "not held"


def of_servers(trials: Sequence[Trial]) -> list[Note]:
    """Return the notes of each server, over all of its points."""
    subjects = dict.fromkeys(trial.subject for trial in trials)
    return [
        Note(f"{subject}: {text}")
        for subject in subjects
        for own in [[trial for trial in trials if trial.subject == subject]]
        for text in (*trial_notes(own), *_failed(own), *_too_early(own))
    ]


def _failed(trials: Sequence[Trial]) -> list[str]:
    """Describe the failures of one server in the trial with the most of them."""
    failing = [trial for trial in trials if (summary := trial.get(ServiceSummary)) and summary.failures]
    if not failing:
        return []
    worst = max(failing, key=lambda trial: trial[ServiceSummary].errors)
    rest = f", the most of {len(failing)} trials with failures" if len(failing) > 1 else ""
    return [f"requests failed with {worst.condition}: {worst[ServiceSummary].failures}{rest}"]


def _too_early(trials: Sequence[Trial]) -> list[str]:
    """Describe the early answers of one server, which prove that it did not wait."""
    known = [summary for summary in records_of(ServiceSummary, trials) if summary.early_by_ns]
    if not known:
        return []
    most = format_time(max(one.early_by_ns or 0.0 for one in known))
    counted = [one for one in known if one.early]
    early, answers = sum(one.early or 0 for one in counted), sum(one.answers for one in counted)
    whose = f"{early:,} of {answers:,} answers" if counted else "answers"
    return [f"{whose} came before the end of the longest wait, by up to {most}; an early answer counts like a late one"]


def of_figures(trials: Sequence[Trial]) -> list[Note]:
    """Return the notes on the figures of the whole table."""
    points = records_of(ServicePoint, trials)
    if not points:
        return []
    notes = []
    ideals = sorted({point.ideal_ns for point in points if point.ideal_ns})
    if ideals:
        waits = " and ".join(f"{ideal / 1e9:g} s" for ideal in ideals)
        notes.append(f"overhead: difference between a response time and the longest wait of a request, {waits}")
    if any(summary.at_least for summary in records_of(ServiceSummary, trials)):
        notes.append("p99 far beyond the ideal is a lower bound: requests were still open at the end (at_least)")
    if any(point.loop is Loop.OPEN for point in points):
        notes.append("open loop: response times count from the due time of a request")
    if any(
        trial.get(ServiceSummary)
        and trial[ServiceSummary].overhead_p99_ns is None
        and trial[ServiceSummary].claimed_answers
        for trial in trials
    ):
        notes.append(
            "no server is ranked: rewrk prints no percentiles. Rows are sorted by its mean of the slowest 5 %, which "
            "covers its whole run, including the simultaneous start of all connections, and leaves out requests that "
            "are still open at the end"
        )
    return [Note(text) for text in notes]


IDENTITY: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("language", shown=False),
    Column("method", description="common name of the framework or server", shown=False),
    Column("version", shown=False),
    Column("condition", description="the point: connections, loop, threads, CPUs", shown=False),
)
_POINT: Final = (
    Column("connections", ColumnKind.INTEGER, description="open loop: requests in flight of an ideal server"),
    Column("loop", description="closed: sent after an answer; open: sent on a schedule"),
    Column("threads", ColumnKind.INTEGER, description="of the server; null: its default"),
    Column("cpus", ColumnKind.INTEGER, description="of the server, where --server-cpus asks; null: those of --cpus"),
    Column("generator", description="program that sent the load", shown=False),
    Column("framework", description="as the publication calls the method", shown=False),
)
_REACHED: Final = (
    Column("held", ColumnKind.BOOLEAN, description="p99 < 1.1 x the longest wait; null: not known"),
    Column("breaks_at", ColumnKind.INTEGER, description="fewest connections that it did not hold; null: it held all"),
    Column("holds_up_to", ColumnKind.INTEGER, description="most connections that it held; null: none", shown=False),
    Column("at_least", ColumnKind.BOOLEAN, description="p99 is a lower bound: requests were open", shown=False),
    Column("why_not", description="why it is not held, with its figure", shown=False),
    Column("failures", description="failures of requests and their numbers, in one trial", shown=False),
    Column("trials", ColumnKind.INTEGER, description="number of trials", shown=False),
)


def service_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each server and point, ranked at each point by the overhead."""
    # A search jumps between points; the table sorts them.
    asked = sorted(
        (trial for trial in trials if trial.get(ServicePoint) is not None),
        key=lambda trial: trial[ServicePoint].connections,
    )
    table = trial_table(_counted(asked), SERVICE_METRICS, RANKED_BY, IDENTITY)
    found = reaches(asked)
    subjects, conditions = table.values("subject"), table.values("condition")
    verdict = [column.name for column in table.columns].index("wrong")
    rows = [
        (
            *row[: len(IDENTITY)],
            *_where(own[0]),
            *row[len(IDENTITY) : verdict],
            *_reached_cells(own, found),
            *row[verdict:],
        )
        for row, subject, condition in zip(table.rows, subjects, conditions, strict=True)
        for own in [[trial for trial in asked if (trial.subject, trial.condition) == (subject, condition)]]
    ]
    columns = table.columns
    shown = _several(asked)
    points = tuple(replace(column, shown=column.shown and column.name in shown) for column in _POINT)
    all_columns = (
        *(*columns[: len(IDENTITY)], *points, *columns[len(IDENTITY) : verdict]),
        *(*_REACHED, *columns[verdict:]),
    )
    return Table(
        all_columns,
        tuple(_placed(rows, [column.name for column in all_columns])),
        notes=(*of_servers(asked), *(note for note in table.notes if note.row is None), *of_figures(asked)),
    )


def _counted(trials: Sequence[Trial]) -> list[Trial]:
    """Drop disturbed trials that were repeated, if no trial of a point is valid."""
    points: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        points.setdefault((trial.subject, trial.condition), []).append(trial)
    return [trial for of in points.values() for trial in (of if rankable_trials(of) else decisive_trials(of))]


def _where(trial: Trial) -> tuple[Cell, ...]:
    """Return the cells of ``_POINT``."""
    point = trial.get(ServicePoint)
    assert point is not None, "others were left out"
    return (point.connections, point.loop.value, point.threads, point.cpus, point.generator, trial.method)


def _reached_cells(trials: Sequence[Trial], found: Sequence[Reach]) -> tuple[Cell, ...]:
    """Return the cells of ``_REACHED``, of the trials of one server at one point."""
    reach = reach_of(trials[0], found)
    known = records_of(ServiceSummary, trials)
    return (
        is_held(trials) if reach else None,
        reach.failed if reach else None,
        reach.held if reach else None,
        _at_least(known),
        next((one.why_not for one in known if one.why_not), None),
        next((one.failures for one in known if one.failures), None),
        len(trials),
    )


def _several(trials: Sequence[Trial]) -> set[str]:
    """Return the columns whose values differ between rows; shared values need no column."""
    points = records_of(ServicePoint, trials)
    variants = {Variant.of(point) for point in points}
    several = {name for name in Variant._fields if len({getattr(variant, name) for variant in variants}) > 1}
    return {"connections", *several}


def _at_least(known: Sequence[ServiceSummary]) -> bool | None:
    flags = [one.at_least for one in known if one.at_least is not None]
    return any(flags) if flags else None


def _placed(rows: Sequence[tuple[Cell, ...]], names: Sequence[str]) -> list[tuple[Cell, ...]]:
    """Sort the rows of each point by the mean of the slowest 5 %, if no row has an overhead."""
    point, slowest, ranked = names.index("condition"), names.index("slowest5"), names.index(RANKED_BY)
    if any(row[ranked] is not None for row in rows):
        return list(rows)
    points = list(dict.fromkeys(row[point] for row in rows))
    return sorted(rows, key=lambda row: (points.index(row[point]), row[slowest] is None, row[slowest] or 0))


_NUMBER: Final = ColumnKind.INTEGER


def service_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Build tables that fit a terminal; those of a search begin with the reach of each server."""
    table = service_table(trials)
    by_point = _narrow(table)
    bounds = Bounds.restored(settings)
    if bounds is None:
        return (by_point,)
    return (reach_table(reaches(trials, bounds), most=bounds.high), by_point)


def reach_table(found: Sequence[Reach], *, most: int | None = None) -> Table:
    """Return the connections that each server holds and where it breaks, the furthest reach first.

    ``most`` is the upper bound of the search.
    """
    variants = {one.variant for one in found}
    several = {name: len({getattr(variant, name) for variant in variants}) > 1 for name in Variant._fields}
    columns = (
        Column("server"),
        Column("loop", shown=several["loop"]),
        Column("threads", _NUMBER, shown=several["threads"]),
        Column("CPUs", _NUMBER, shown=several["cpus"]),
        Column("holds", _NUMBER, description="most connections that it held"),
        Column("breaks at", _NUMBER, description="fewest that it did not hold"),
        Column("how", description="what was not kept there"),
        Column("trials", _NUMBER),
    )
    ordered = sorted(found, key=lambda one: (-(one.held or 0), -(one.failed or 10**9), one.subject))
    rows: list[tuple[Cell, ...]] = [
        (one.subject, one.variant.loop.value, *one.variant[1:], one.held, one.failed, _how_it_ended(one), one.trials)
        for one in ordered
    ]
    return Table(
        columns,
        tuple(rows),
        title="up to how many connections each server holds",
        notes=tuple(map(Note, _reach_notes(found, most))),
    )


def _reach_notes(found: Sequence[Reach], most: int | None) -> list[str]:
    """Explain the rows, and those without a number of connections at which the server breaks."""
    notes = ["held: 99 % of the requests take less than 1.1 times the longest wait"]
    unfinished = any(one.unfinished for one in found)
    if most is not None and any(one.failed is None and one.held == most for one in found):
        finished = " and with a finished search" if unfinished else ""
        notes.append(
            f"a server without a number under 'breaks at'{finished} holds {most:,} connections, the most measured"
        )
    if unfinished:
        notes.append("the result of an unfinished search is provisional; --resume continues it")
    return notes


def _how_it_ended(one: Reach) -> str | None:
    parts = [f"{one.how} (the machine may have been at fault)" if one.doubtful else one.how]
    if one.unfinished:
        parts.append("the search was not finished")
    return "; ".join(filter(None, parts)) or None


_OF_RANKED: Final = frozenset({"rank", RANKED_BY, "overhead_p50_ms", "p99", "held", "breaks_at", "wrong"})
"""Columns that rest on single requests."""
_WIDE: Final = frozenset(
    {"overhead_p99_ms_low", "overhead_p99_ms_high", "slowest5", "peak_memory_bytes", "overhead_p999_ms"}
)
_SPARED: Final = frozenset({"threads", "overhead_p50_ms", "requestsPerSec", "p99", "memory_per_open_bytes"})
"""Columns hidden on a narrow terminal, the last one first."""
_WHERE_KNOWN: Final = frozenset({"rank", "held"})
"""Columns hidden there only if they are empty."""


def _narrow(table: Table) -> Table:
    """Hide columns that make rows too long for a terminal; programs and the report have them.

    Without a ranking, the mean of the slowest 5 % is shown, and empty columns are hidden.
    """
    known = frozenset(table.filled())
    aside = _WIDE if RANKED_BY in known or "slowest5" not in known else (_WIDE - {"slowest5"}) | (_OF_RANKED - known)
    columns = (replace(column, shown=False) if column.name in aside else column for column in table.columns)
    return replace(table, columns=tuple(columns)).sparing(_SPARED | (_WHERE_KNOWN - known))


_KIB: Final = 1024
_SECTION: Final = "Against the number of connections"
_ACROSS: Final = Axis("connections", "", Scale.LOGARITHMIC)
_FEWEST_MS: Final = 0.01
"""Least overhead on a logarithmic scale; smaller values are noise of the clock."""


def service_charts(trials: Sequence[Trial], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw the overhead of each server, and its cost of a request.

    Trials without figures are skipped. ``names`` maps ids of subjects to their names, in the order of the report.
    """
    drawn = [
        trial
        for trial in trials
        if trial.get(ServiceSummary) and trial.get(ServicePoint) and trial.outcome is Outcome.OK
    ]
    limits = {(HELD_WITHIN - 1) * point.ideal_ns * _MS for trial in drawn if (point := trial.get(ServicePoint))}
    limit = limits.pop() if len(limits) == 1 else None
    charts = (
        _chart(
            "overhead-p99",
            "What each server adds to the longest wait, at p99",
            Axis("p99 beyond the ideal", "ms", Scale.LOGARITHMIC),
            lambda one: _drawable_ms(one.overhead_p99_ns),
            "Beyond the dashed line p99 is more than 1.1 times the ideal. Medians are drawn; a point is held where "
            "every trial that counts stays below the line. Both scales are logarithmic.",
            (drawn, names),
            limit=limit,
        ),
        _chart(
            "overhead-p50",
            "What each server adds to the longest wait, in the middle",
            Axis("median beyond the ideal", "ms", Scale.LOGARITHMIC),
            lambda one: _drawable_ms(one.overhead_p50_ns),
            "Half of the requests took longer than this beyond the ideal.",
            (drawn, names),
        ),
        _chart(
            "cpu-per-request",
            "CPU time of the server for each answer",
            Axis("CPU time for each answer", "ms", Scale.LOGARITHMIC),
            lambda one: None if not one.cpu_per_request_ns else one.cpu_per_request_ns * _MS,
            "With few requests a second, what a server does besides counts as theirs: timers, collections of garbage.",
            (drawn, names),
        ),
        _chart(
            "memory-per-open-request",
            "Memory that the load adds, for each request in flight",
            Axis("memory for each request in flight", "KiB", Scale.LOGARITHMIC),
            lambda one: None if not one.memory_per_open_bytes else one.memory_per_open_bytes / _KIB,
            "Memory under load less that before it. Few connections share what grows but once, such as a pool.",
            (drawn, names),
        ),
    )
    return (chart for chart in charts if chart is not None)


def _drawable_ms(overhead_ns: float | None) -> float | None:
    return None if overhead_ns is None else max(overhead_ns * _MS, _FEWEST_MS)


def _chart(
    name: str,
    title: str,
    up: Axis,
    figure: Callable[[ServiceSummary], float | None],
    caption: str,
    of: tuple[Sequence[Trial], Mapping[str, str]],
    *,
    limit: float | None = None,
) -> Chart | None:
    trials, names = of
    panels = dict.fromkeys(_panel(trial) for trial in trials)
    series = [
        line
        for panel in panels
        for subject, shown in names.items()
        if (line := _line(shown, panel, figure, [one for one in trials if _is_of(one, subject, panel)])) is not None
    ]
    if not series:
        return None
    if len(panels) == 1:
        series = [Series(line.name, line.x, line.y) for line in series]
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.TRENDS,
        x=_ACROSS,
        y=up,
        series=tuple(series),
        caption=caption,
        section=_SECTION,
        colours=tuple(names.values()),
        reference=limit,
        reference_name="1.1 times the ideal" if limit else "",
    )


def _line(
    name: str, panel: str, figure: Callable[[ServiceSummary], float | None], trials: Sequence[Trial]
) -> Series | None:
    """Join the medians of a server's trials at each number of connections; None where there is none."""
    by_connections: dict[int, list[Trial]] = {}
    for trial in trials:
        if trial.get(ServicePoint):
            by_connections.setdefault(trial[ServicePoint].connections, []).append(trial)
    found = [(count, _median(figure, group)) for count, group in sorted(by_connections.items())]
    points = [(float(count), value) for count, value in found if value is not None]
    if not points:
        return None
    return Series(name, tuple(x for x, _ in points), tuple(y for _, y in points), panel=panel)


def _median(figure: Callable[[ServiceSummary], float | None], trials: Sequence[Trial]) -> float | None:
    counting = rankable_trials(trials) or decisive_trials(trials)
    return median(map(figure, records_of(ServiceSummary, counting)))


def _is_of(trial: Trial, subject: str, panel: str) -> bool:
    return trial.subject == subject and _panel(trial) == panel


def _panel(trial: Trial) -> str:
    """Name the loop, threads and CPUs of a trial; points that differ only in connections share a panel."""
    point = trial.get(ServicePoint)
    return "" if point is None else _words(point, trial.condition)


def _words(point: ServicePoint, condition: str) -> str:
    asked = [part for part in condition.split(", ") if part.endswith(("thread", "threads", "CPU", "CPUs"))]
    return ", ".join([f"{point.loop} loop", *asked])


_OF_CLIENTS: Final = frozenset({"URLs", "Timeout", "Web"})
_UNFINISHED: Final = "; the search was not finished"
_NOTHING: Final = "Nothing was measured: the run has no finished trial"


def service_report(run: Run, definition: Definition) -> Report:
    """Return the report of a service run, which may be partial or empty."""
    trials = run.records()
    metric = definition.presentation.ranking_metric
    points = {trial.condition: [one for one in trials if one.condition == trial.condition] for trial in trials}
    rankings = {point: rank(group, metric) for point, group in points.items()}
    table = definition.presentation.table(trials)
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, tuple(dict.fromkeys((*ranked, *map(str, table.values("subject"))))))
    said = [
        f"{point}: {after_colon(ranked_headline(points[point], one, metric, names))}" for point, one in rankings.items()
    ]
    bounds = Bounds.restored(run.manifest.settings)
    reached = _reached(reaches(trials, bounds), names)
    first, rest = (said, reached) if bounds is None else (reached, [])
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'server')}, {counted(len(points), 'point')}, {counted(len(trials), 'trial')}",
        # In a grid, each point lists the unranked servers with their reasons.
        headline=(_doubt(trials) if bounds else "") + first[0] if first else _NOTHING,
        table=table,
        charts=service_charts(trials, names),
        rankings=rankings.values(),
    )
    return replace(
        report,
        facts=(*_asked(run.manifest), *(fact for fact in report.facts if fact[0] not in _OF_CLIENTS)),
        figures="A row for each server at each point: medians of its trials.",
        findings=(*first[1:], *rest, *_failures(trials, names)),
    )


def service_answer(trials: Sequence[Trial], settings: Mapping[str, Setting], metric: Metric, table: Table) -> str:
    """Return the headline of a run: where servers break, or their overhead at the first point.

    ``table`` is that of the trials.
    """
    points = {trial.condition: [one for one in trials if one.condition == trial.condition] for trial in trials}
    rankings = {point: rank(group, metric) for point, group in points.items()}
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, tuple(dict.fromkeys((*ranked, *map(str, table.values("subject"))))))
    bounds = Bounds.restored(settings)
    if bounds is not None:
        found = _reached(reaches(trials, bounds), names)
        return _doubt(trials) + "; ".join(found) if found else _NOTHING
    if not rankings:
        return _NOTHING
    point, ranking = next(iter(rankings.items()))
    more = f". The table has {counted(len(points) - 1, 'more point')}" if len(points) > 1 else ""
    return f"{point}: {after_colon(ranked_headline(points[point], ranking, metric, names))}{more}"


def _doubt(trials: Sequence[Trial]) -> str:
    """Return the prefix of a search's headline if none of its trials is valid, with the worst validity."""
    worst = worst_validity(trials)
    if worst is None or any(trial.validity in {Validity.VALID, None} for trial in trials):
        return ""
    return f"No trial is VALID ({worst}): "


def _reached(found: Sequence[Reach], names: Mapping[str, str]) -> list[str]:
    """Describe where each server breaks; servers that hold everything share a sentence."""
    alike: dict[tuple[Variant, int | None, bool], list[str]] = {}
    for one in found:
        if one.failed is None:
            alike.setdefault((one.variant, one.held, one.unfinished), []).append(names[one.subject])
    return [
        *(_all_held(who, *what) for what, who in alike.items()),
        *(_broken(one, names[one.subject]) for one in found if one.failed is not None),
    ]


def _all_held(who: Sequence[str], variant: Variant, held: int | None, unfinished: bool) -> str:
    servers = f"{listed(who)}{_in_variant(variant)}"
    hold = "holds" if len(who) == 1 else "hold"
    known = f"{servers} {hold} every measured number, up to {held:,} connections" if held else f"{servers}: unknown"
    return known + (_UNFINISHED if unfinished else "")


def _broken(one: Reach, name: str) -> str:
    who = f"{name}{_in_variant(one.variant)}"
    doubt = ", though the machine may have been at fault" if one.doubtful else ""
    reason = f"{one.how}{doubt}{_UNFINISHED if one.unfinished else ''}"
    if one.held is None:
        return f"{who} does not hold {one.failed:,} connections: {reason}"
    return f"{who} holds {one.held:,} connections and breaks at {one.failed:,}: {reason}"


def _in_variant(variant: Variant) -> str:
    parts = [f" with {counted(variant.threads, 'thread')}"] if variant.threads is not None else []
    parts += [f" on {counted(variant.cpus, 'CPU')}"] if variant.cpus is not None else []
    return "".join([*parts, " in an open loop" if variant.loop is Loop.OPEN else ""])


def _failures(trials: Sequence[Trial], names: Mapping[str, str]) -> list[str]:
    """Describe the failures of servers, once for each server and outcome."""
    failed: dict[tuple[str, Outcome], str] = {}
    for trial in trials:
        if trial.outcome not in {Outcome.OK, Outcome.INTERRUPTED}:
            failed.setdefault((trial.subject, trial.outcome), f"{trial.condition}: {trial.reason}")
    return [f"{names[subject]} {outcome}: {reason}" for (subject, outcome), reason in failed.items()]


def _asked(manifest: Manifest) -> Iterator[tuple[str, str]]:
    settings = manifest.settings
    if settings.get("endpoint") == "workloads":
        yield "Each request", f"waits {settings.get('workloads_ms')} ms, all at once"
    else:
        yield "Each request", f"GET /{settings.get('endpoint')}"
    yield "Generator", str(settings.get("generator"))


_NOTES: Final = (
    "95%: the mean of the slowest 5 %, as rewrk computes it under that name",
    "req/s: published over a whole run of 30 s, in which all connections answer in step, 14 times 2 s: 14/30 a second"
    " each; measured ",
)


def published_form(manifest: Manifest, trials: Sequence[Trial], published: PublishedTable) -> Table:
    """Return a run in the published form: each measured server above its published figures."""
    figures = {(row["subject"], row["connections"]): (row["slowest5"], row["requestsPerSec"]) for row in published.rows}
    measured = {subject.id: (subject.method, subject.language.lower()) for subject in manifest.subjects}
    names = {str(row["subject"]): (row["framework"], row["language"]) for row in published.rows}
    points = {one.connections for one in records_of(ServicePoint, trials)}
    connections = sorted(points or {int(str(row["connections"])) for row in published.rows})
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, named in {**names, **measured, **names}.items():
        own = [trial for trial in trials if trial.subject == subject]
        if own:
            failed = next((trial for trial in own if trial.outcome is not Outcome.OK), None)
            if failed is not None:
                notes.append(Note(f"{failed.outcome}: {failed.reason}", len(rows)))
            rows.append((*named, "measured", *(_measured_cell(own, count) for count in connections), subject))
        if subject in names:
            there = (_cell(*figures.get((subject, count), (None, None))) for count in connections)
            rows.append((*named, "published", *there, subject))
    if any("≥" in str(cell) for row in rows for cell in row):
        notes.append(Note("≥: requests that were still open at the end count with their wait until then"))
    # Another generator reports figures of its whole run.
    claimed = any(one.claimed_answers is not None for one in records_of(ServiceSummary, trials))
    over = "over a whole run, too" if claimed else "in the steady stretch, where it is connections / 2"
    columns = (
        *map(Column, ("framework", "lang", "figures", *(f"{count} conns (95%, req/s)" for count in connections))),
        Column("subject", description="name of the subject's folder", shown=False),
    )
    title = "as published: framework, lang, 95 % and req/s"
    return Table(columns, tuple(rows), title, (*notes, Note(_NOTES[0]), Note(_NOTES[1] + over)))


def _measured_cell(trials: Sequence[Trial], connections: int) -> str:
    at_it = (t for t in trials if (point := t.get(ServicePoint)) and point.connections == connections)
    there = records_of(ServiceSummary, at_it)
    slowest = median([one.slowest_5_ns for one in there])
    cell = _cell(None if slowest is None else slowest / 1e6, median([one.per_s for one in there]))
    return f"≥ {cell}" if any(one.at_least for one in there) and slowest is not None else cell


def _cell(slowest_ms: Cell, per_s: Cell) -> str:
    if slowest_ms is None and per_s is None:
        return "---"
    first = "---" if slowest_ms is None else f"{slowest_ms:.2f}ms"
    return f"{first}, {'---' if per_s is None else f'{per_s:.2f}'}"


def service_result(trial: Trial) -> str | None:
    """Describe whether a point held."""
    summary = trial.get(ServiceSummary)
    if summary is None or summary.held is None:
        return None
    p99 = "" if summary.p99_ns is None else f": p99 {format_time(summary.p99_ns)}"
    return f"held{p99}" if summary.held else f"not held: {summary.why_not}"


def _answered_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    first, *others = service_views(trials, settings)
    return first.answering(
        service_answer(trials, settings, PRESENTATION.ranking_metric, service_table(trials))
    ), *others


PRESENTATION: Final = Presentation(
    metrics=SERVICE_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=service_table,
    views=_answered_views,
    trial_result=service_result,
    report=service_report,
    preset_views=lambda of: (*of.views, published_form(of.run.manifest, of.trials, of.published)),
)
