"""The metrics, tables, charts and report of the service experiment, and its published form."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Final

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.report import NOTHING_MEASURED, base_report, rank_subjects
from httpdyno.experiments.service.figures import HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.experiments.service.plan import Variant, checks_of, restored_search, to_be_tried
from httpdyno.judge import rankable_trials, trial_notes, trial_table, worst_validity
from httpdyno.judge.figures import PEAK_MEMORY, record_metric
from httpdyno.judge.rankable import grouped
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
    Ranking,
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
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import ranked_headline
from httpdyno.stats import median
from httpdyno.stats.boundary import Check, DoublingSearch
from httpdyno.store import Manifest, Run

RANKED_BY: Final = "overhead_p99_ms"
_INTEGER: Final = ColumnKind.INTEGER
_MS: Final = 1e-6
_SMALL: Final = 4


_metric: Final = partial(record_metric, ServiceSummary, better=Direction.LOWER)


def _time(name: str, description: str, digits: int = 2, *, shown: bool = True, figure: str = "") -> Metric:
    """Return the metric of a time: ``p99`` and ``early_by_ms`` are the fields ``p99_ns`` and ``early_by_ns``.

    Short times have four digits.
    """
    field = figure or f"{name.removesuffix('_ms')}_ns"
    kind = ColumnKind.TIME if digits == _SMALL else ColumnKind.DURATION
    return _metric(name, description, kind, "ms", digits=digits, shown=shown, figure=field, scale=_MS)


SERVICE_METRICS: Final = (
    replace(
        _time(RANKED_BY, "99th percentile of the distance of response times from the ideal", _SMALL),
        endless=True,
        phrase="ms from the ideal at p99",
    ),
    _time("overhead_p50_ms", "median distance of response times from the ideal", _SMALL),
    _time("overhead_p999_ms", "99.9th percentile of that distance; null for fewer than 1,000 requests", _SMALL),
    _metric(
        *("requestsPerSec", "right answers a second", ColumnKind.DECIMAL, "1/s"),
        better=Direction.HIGHER,
        digits=2,
        figure="per_s",
    ),
    replace(_time("p99", "99th percentile of the response time"), endless=True),
    _time("slowest5", "mean of the slowest 5 %, which rewrk prints as 95 %", figure="slowest_5_ns"),
    _time("cpu_per_request_ms", "CPU time of the server per answer", _SMALL),
    _metric("memory_per_open_bytes", "memory that the load adds, per request in flight", ColumnKind.SIZE, "bytes"),
    PEAK_MEMORY,
    _metric("errors", "requests that failed or got another status"),
    _time("p50", "median response time", shown=False),
    _time("p95", "95th percentile of the response time", shown=False),
    _time("p999", "99.9th percentile of the response time", shown=False),
    _time("max", "longest response time", shown=False),
    _time("mean", "mean response time", shown=False),
    _metric("answers", "right answers from which the figures are computed", better=Direction.NEITHER, shown=False),
    _metric("still_open", "requests of the steady stretch that were open at the end", shown=False),
    _metric(
        *("open", "requests in flight on average", ColumnKind.DECIMAL),
        better=Direction.NEITHER,
        digits=1,
        shown=False,
        figure="open_mean",
    ),
    _metric("early", "answers before the longest wait was over", shown=False),
    _time("early_by_ms", "how much too early the first of them was", _SMALL, shown=False),
    _metric("descriptors", "peak number of open descriptors", shown=False, figure="descriptors_peak"),
    _time("ready", "time from exec to the first accepted connection", digits=1, shown=False),
)
"""The metrics in the order of the table, the ranking one first."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Connections that one server holds in one variant."""

    subject: str
    variant: Variant
    held: int | None
    """The largest number of connections that was held, with no failure below it; None: already the smallest failed."""
    failed: int | None
    """The smallest number of connections that failed; None: all measured numbers were held."""
    how: str
    """The failure in one line; empty if there was none."""
    doubtful: bool
    """Whether the machine or the generator may have caused the failure."""
    trials: int
    unfinished: bool = False
    """Whether its search stopped before it found the breaking point."""


def reaches(trials: Sequence[Trial], search: DoublingSearch | None = None) -> tuple[Reach, ...]:
    """Return the connections that each server holds in each variant.

    ``search`` marks unfinished searches; a grid has none.
    """
    groups: dict[tuple[str, Variant], list[Trial]] = {}
    for trial in trials:
        if (point := trial.get(ServicePoint)) and point.waits_ms:
            groups.setdefault((trial.subject, Variant.of(point)), []).append(trial)
    return tuple(_reach(*group, of, search) for group, of in groups.items())


def decisive_trials(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return the trials of a point that show whether it is held; all trials if none does.

    A disturbed trial counts only if the point was held despite the disturbance.
    """
    return [trial for trial in trials if checks_of([trial], tries=2)] or trials


def is_held(trials: Sequence[Trial]) -> bool | None:
    """Return whether all decisive trials of a point held; None: unknown."""
    checks = checks_of(decisive_trials([trial for trial in trials if _has_result(trial)]), tries=1)
    return all(check.held for check in checks) if checks else None


def _reach(subject: str, variant: Variant, trials: Sequence[Trial], search: DoublingSearch | None) -> Reach:
    points: dict[int, list[Trial]] = {}
    for trial in filter(_has_result, trials):
        points.setdefault(trial[ServicePoint].connections, []).append(trial)
    checks = [Check(float(load), held) for load, of in points.items() if (held := is_held(of)) is not None]
    broken = DoublingSearch(1, 1).conclude(checks)
    there = points[broken.failed] if broken.failed is not None else []
    worst = [trial for trial in there if not ((summary := trial.get(ServiceSummary)) and summary.held)]
    how = ""
    if worst:
        summary = worst[-1].get(ServiceSummary)
        failure = f"{worst[-1].outcome}: {worst[-1].reason}"
        how = failure if worst[-1].outcome is not Outcome.OK else (summary and summary.why_not) or "not held"
    return Reach(
        subject,
        variant,
        broken.held,
        broken.failed,
        how,
        doubtful=bool(worst) and all(trial.validity not in {Validity.VALID, None} for trial in worst),
        trials=sum(map(len, points.values())),
        unfinished=search is not None and to_be_tried(search, trials) is not None,
    )


def _has_result(trial: Trial) -> bool:
    """Return whether a trial shows if a point is held; a generator without percentiles does not."""
    summary = trial.get(ServiceSummary)
    if trial.outcome is Outcome.OK:
        return summary is not None and summary.held is not None
    return trial.outcome is not Outcome.UNAVAILABLE


def _server_notes(trials: Sequence[Trial]) -> Iterator[Note]:
    for subject in dict.fromkeys(trial.subject for trial in trials):
        own = [trial for trial in trials if trial.subject == subject]
        texts = list(trial_notes(own))
        if failing := [trial for trial in own if (summary := trial.get(ServiceSummary)) and summary.failures]:
            worst = max(failing, key=lambda trial: trial[ServiceSummary].errors)
            rest = f", the most of {len(failing)} trials with failures" if len(failing) > 1 else ""
            texts.append(f"requests failed with {worst.condition}: {worst[ServiceSummary].failures}{rest}")
        # Early answers prove that a server did not wait.
        if known := [summary for summary in records_of(ServiceSummary, own) if summary.early_by_ns]:
            most = format_time(max(one.early_by_ns or 0.0 for one in known))
            counts = [(one.early, one.answers) for one in known if one.early]
            early, answers = sum(one for one, _ in counts), sum(one for _, one in counts)
            whose = f"{early:,} of {answers:,} answers" if counts else "answers"
            texts.append(
                f"{whose} arrived before the longest wait was over, by up to {most}; an early answer "
                "counts like a late one"
            )
        yield from (Note(f"{subject}: {text}") for text in texts)


def _figure_notes(trials: Sequence[Trial]) -> Iterator[Note]:
    points, summaries = records_of(ServicePoint, trials), records_of(ServiceSummary, trials)
    ideals = sorted({point.ideal_ns for point in points if point.ideal_ns})
    if ideals:
        waits = " and ".join(f"{ideal / 1e9:g} s" for ideal in ideals)
        yield Note(f"overhead: difference between a response time and the longest wait of a request, {waits}")
    if any(summary.at_least for summary in summaries):
        yield Note("p99 far beyond the ideal is a lower bound: requests were still open at the end (at_least)")
    if any(point.loop is Loop.OPEN for point in points):
        yield Note("open loop: response times count from the due time of a request")
    if any(summary.overhead_p99_ns is None and summary.claimed_answers for summary in summaries):
        yield Note(
            "no server is ranked: rewrk prints no percentiles. Rows are sorted by its mean of the slowest 5 %, which "
            "covers its whole run, including the simultaneous start of all connections, and leaves out requests that "
            "are still open at the end"
        )


IDENTITY: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("language", shown=False),
    Column("method", description="common name of the framework or server", shown=False),
    Column("version", shown=False),
    Column("condition", description="the point: connections, loop, threads, CPUs", shown=False),
)
_POINT: Final = (
    Column("connections", _INTEGER, description="open loop: requests in flight of an ideal server"),
    Column("loop", description="closed: sent after an answer; open: sent on a schedule"),
    Column("threads", _INTEGER, description="of the server; null: its default"),
    Column("cpus", _INTEGER, description="of the server, if --server-cpus is given; null: those of --cpus"),
    Column("generator", description="program that sent the load", shown=False),
    Column("framework", description="name of the method in the publication", shown=False),
)
_REACHED: Final = (
    Column("held", ColumnKind.BOOLEAN, description="p99 < 1.1 x the longest wait; null: not known"),
    Column("breaks_at", _INTEGER, description="smallest number of connections that it did not hold; null: it held all"),
    Column("holds_up_to", _INTEGER, description="largest number of connections that it held; null: none", shown=False),
    Column("at_least", ColumnKind.BOOLEAN, description="p99 is a lower bound: requests were open", shown=False),
    Column("why_not", description="why the point is not held, with the figure", shown=False),
    Column("failures", description="failed requests by cause, in one trial", shown=False),
    Column("trials", _INTEGER, description="number of trials", shown=False),
)


def service_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each server and point, ranked at each point by the overhead."""
    # A search jumps between points; the table sorts them.
    asked = sorted(
        (trial for trial in trials if trial.get(ServicePoint) is not None),
        key=lambda trial: trial[ServicePoint].connections,
    )
    points = grouped(asked)
    # If a disturbed trial was repeated, it does not count, even if no trial of the point is valid.
    counting = [trial for of in points.values() for trial in (of if rankable_trials(of) else decisive_trials(of))]
    table = trial_table(counting, SERVICE_METRICS, RANKED_BY, IDENTITY)
    found = {(one.subject, one.variant): one for one in reaches(asked)}
    rows = [row | _own_cells(points[str(row["condition"]), str(row["subject"])], found) for row in table.records()]
    shown = {"connections", *_differing({Variant.of(point) for point in records_of(ServicePoint, asked)})}
    point_columns = (replace(column, shown=column.shown and column.name in shown) for column in _POINT)
    rest = [column for column in table.columns if column not in IDENTITY]
    figures = list(takewhile(lambda column: column.name != "wrong", rest))
    notes = (*_server_notes(asked), *(note for note in table.notes if note.row is None), *_figure_notes(asked))
    if not any(row[RANKED_BY] is not None for row in rows):
        # The mean of the slowest 5 % sorts the rows of each point; points keep their order.
        order = list(dict.fromkeys(table.values("condition")))
        rows.sort(key=lambda row: (order.index(row["condition"]), row["slowest5"] is None, row["slowest5"] or 0))
    columns = (*IDENTITY, *point_columns, *figures, *_REACHED, *rest[len(figures) :])
    return Table.of_records(columns, rows, notes=notes)


def _own_cells(trials: Sequence[Trial], found: Mapping[tuple[str, Variant], Reach]) -> dict[str, Cell]:
    """Return the cells of ``_POINT`` and ``_REACHED`` for the trials of one server at one point."""
    point = trials[0][ServicePoint]
    reach = found.get((trials[0].subject, Variant.of(point)))
    known = records_of(ServiceSummary, trials)
    bounds = [one.at_least for one in known if one.at_least is not None]
    return {
        "connections": point.connections,
        "loop": point.loop.value,
        "threads": point.threads,
        "cpus": point.cpus,
        "generator": point.generator,
        "framework": trials[0].method,
        "held": is_held(trials) if reach else None,
        "breaks_at": reach.failed if reach else None,
        "holds_up_to": reach.held if reach else None,
        "at_least": any(bounds) if bounds else None,
        "why_not": next((one.why_not for one in known if one.why_not), None),
        "failures": next((one.failures for one in known if one.failures), None),
        "trials": len(trials),
    }


def _differing(variants: set[Variant]) -> set[str]:
    """Return the fields in which variants differ; shared values need no column."""
    return {name for name in Variant._fields if len({getattr(variant, name) for variant in variants}) > 1}


def service_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Build tables that fit a terminal, the first with the headline; a search begins with the reach of each server."""
    table, search = service_table(trials), restored_search(settings)
    _, _, answers, _ = _answers(trials, table, search)
    if search is not None:
        reach = reach_table(reaches(trials, search), most=search.high)
        return reach.answering("; ".join(answers) or NOTHING_MEASURED), _narrow(table)
    more = len(answers) - 1
    rest = f". The table has {counted(more, 'more point')}" if more > 0 else ""
    return (_narrow(table).answering(answers[0] + rest if answers else NOTHING_MEASURED),)


def reach_table(found: Sequence[Reach], *, most: int | None = None) -> Table:
    """Return the connections that each server holds, and where it breaks; the largest reach first.

    ``most`` is the upper bound of the search.
    """
    shown = _differing({one.variant for one in found})
    columns = (
        Column("server"),
        Column("loop", shown="loop" in shown),
        Column("threads", _INTEGER, shown="threads" in shown),
        Column("CPUs", _INTEGER, shown="cpus" in shown),
        Column("holds", _INTEGER, description="largest number of connections that it held"),
        Column("breaks at", _INTEGER, description="smallest number that it did not hold"),
        Column("how", description="failure at that number"),
        Column("trials", _INTEGER),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in sorted(found, key=lambda one: (-(one.held or 0), -(one.failed or 10**9), one.subject)):
        doubt = " (the machine may have been at fault)" if one.doubtful else ""
        how = "; ".join(filter(None, (f"{one.how}{doubt}", "the search was not finished" if one.unfinished else "")))
        loop, *settings = one.variant
        rows.append((one.subject, loop.value, *settings, one.held, one.failed, how or None, one.trials))
    notes = ["held: 99 % of the requests take less than 1.1 times the longest wait"]
    unfinished = any(one.unfinished for one in found)
    if most is not None and any(one.failed is None and one.held == most for one in found):
        finished = " and with a finished search" if unfinished else ""
        notes.append(
            f"a server without a number under 'breaks at'{finished} holds {most:,} connections, the most measured"
        )
    if unfinished:
        notes.append("the result of an unfinished search is provisional; --resume continues it")
    title = "up to how many connections each server holds"
    return Table(columns, tuple(rows), title, tuple(map(Note, notes)))


_OF_RANKED: Final = frozenset({"rank", RANKED_BY, "overhead_p50_ms", "p99", "held", "breaks_at", "wrong"})
"""Columns that need single requests, which other generators do not record."""
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


_FEWEST_MS: Final = 0.01
"""Least overhead on the logarithmic scale; smaller values are noise of the clock."""


def _drawable_ms(overhead_ns: float | None) -> float | None:
    return None if overhead_ns is None else max(overhead_ns * _MS, _FEWEST_MS)


_CHARTS: Final[Sequence[tuple[str, str, Axis, Callable[[ServiceSummary], float | None], str]]] = (
    (
        "overhead-p99",
        "Overhead of each server over the longest wait, at p99",
        Axis("p99 beyond the ideal", "ms", Scale.LOGARITHMIC),
        lambda one: _drawable_ms(one.overhead_p99_ns),
        "Beyond the dashed line p99 is more than 1.1 times the ideal. Medians are drawn; a point is held if "
        "every trial that counts stays below the line. Both scales are logarithmic.",
    ),
    (
        "overhead-p50",
        "Overhead of each server over the longest wait, median",
        Axis("median beyond the ideal", "ms", Scale.LOGARITHMIC),
        lambda one: _drawable_ms(one.overhead_p50_ns),
        "Half of the requests exceeded the ideal by more than this.",
    ),
    (
        "cpu-per-request",
        "CPU time of the server per answer",
        Axis("CPU time per answer", "ms", Scale.LOGARITHMIC),
        lambda one: None if not one.cpu_per_request_ns else one.cpu_per_request_ns * _MS,
        "With few requests a second, other work of the server counts, too: timers, garbage collections.",
    ),
    (
        "memory-per-open-request",
        "Memory that the load adds, per request in flight",
        Axis("memory per request in flight", "KiB", Scale.LOGARITHMIC),
        lambda one: None if not one.memory_per_open_bytes else one.memory_per_open_bytes / 1024,
        "Memory under load minus memory before it. With few connections, fixed parts such as a pool count, too.",
    ),
)
"""Name, title, vertical axis, figure and caption of each chart."""


def service_charts(trials: Sequence[Trial], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw the overhead of each server, and its cost of a request.

    Trials without figures are skipped. ``names`` maps ids of subjects to their names, in the order of the report.
    """
    lines = _lines(trials)
    panels = dict.fromkeys(panel for panel, _ in lines)
    drawn = [trial for line in lines.values() for group in line.values() for trial in group]
    limits = {(HELD_WITHIN - 1) * point.ideal_ns * _MS for point in records_of(ServicePoint, drawn)}
    for name, title, axis, figure, caption in _CHARTS:
        limit = next(iter(limits)) if len(limits) == 1 and name == "overhead-p99" else None
        series = []
        for panel, (subject, shown) in ((panel, item) for panel in panels for item in names.items()):
            medians = {count: _median(figure, group) for count, group in lines.get((panel, subject), {}).items()}
            points = {float(count): value for count, value in sorted(medians.items()) if value is not None}
            if points:
                place = panel if len(panels) > 1 else ""
                series.append(Series(shown, tuple(points), tuple(points.values()), panel=place))
        if series:
            yield Chart(
                name=name,
                title=title,
                kind=ChartKind.TRENDS,
                x=Axis("connections", "", Scale.LOGARITHMIC),
                y=axis,
                series=tuple(series),
                caption=caption,
                section="Against the number of connections",
                colours=tuple(names.values()),
                reference=limit,
                reference_name="1.1 times the ideal" if limit else "",
            )


def _lines(trials: Sequence[Trial]) -> dict[tuple[str, str], dict[int, list[Trial]]]:
    """Group successful trials by panel and subject, then by connections.

    A panel is a loop with a number of threads and CPUs. If no server has several numbers of threads, all share a panel,
    because a preset gives some servers their own number.
    """
    drawn = [trial for trial in trials if trial.outcome is Outcome.OK and trial.get(ServiceSummary)]
    points = [(trial, trial[ServicePoint]) for trial in drawn if trial.get(ServicePoint)]
    threads = Counter(point.threads for _, point in points)
    of_subjects = {(trial.subject, point.threads) for trial, point in points}
    vary = len(of_subjects) > len({subject for subject, _ in of_subjects})
    lines: dict[tuple[str, str], dict[int, list[Trial]]] = {}
    for trial, point in points:
        counts = {"thread": point.threads if vary else threads.most_common(1)[0][0], "CPU": point.cpus}
        settings = [counted(count, noun) for noun, count in counts.items() if count is not None]
        line = lines.setdefault((", ".join([f"{point.loop} loop", *settings]), trial.subject), {})
        line.setdefault(point.connections, []).append(trial)
    return lines


def _median(figure: Callable[[ServiceSummary], float | None], trials: Sequence[Trial]) -> float | None:
    counting = rankable_trials(trials) or decisive_trials(trials)
    return median(map(figure, records_of(ServiceSummary, counting)))


_UNFINISHED: Final = "; the search was not finished"


def _answers(
    trials: Sequence[Trial], table: Table, search: DoublingSearch | None
) -> tuple[Mapping[str, str], Sequence[Ranking], list[str], list[str]]:
    """Return the names of subjects, the ranked ones first, the rankings, the headlines, and further findings.

    The headline of a grid is the ranking at each point, that of a search the breaking points.
    """
    metric = PRESENTATION.ranking_metric
    points, rankings, names = rank_subjects(PRESENTATION, trials, table)
    reached = _reached(reaches(trials, search), names)
    if search is None:
        by_point = (
            f"{point}: {ranked_headline(points[point], ranking, metric, names, after_colon=True)}"
            for point, ranking in rankings.items()
        )
        return names, tuple(rankings.values()), list(by_point), reached
    worst = worst_validity(trials)
    if reached and worst is not None and all(trial.validity not in {Validity.VALID, None} for trial in trials):
        reached[0] = f"No trial is VALID ({worst}): {reached[0]}"
    return names, tuple(rankings.values()), reached, []


def service_report(run: Run, definition: Definition) -> Report:
    """Return the report of a service run, which may be partial or empty."""
    trials, settings = run.records(), run.manifest.settings
    search = restored_search(settings)
    table = definition.presentation.table(trials)
    names, rankings, answers, findings = _answers(trials, table, search)
    servers, points = counted(len(names), "server"), counted(len(rankings), "point")
    endpoint = settings.get("endpoint")
    waits = f"waits {settings.get('workloads_ms')} ms, in parallel"
    asked = (
        ("Each request", waits if endpoint == Endpoint.WORKLOADS.value else f"GET /{endpoint}"),
        ("Generator", str(settings.get("generator"))),
    )
    return base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{servers}, {points}, {counted(len(trials), 'trial')}",
        # In a grid, each point lists the unranked servers with their reasons.
        headline="".join(answers[:1]),
        table=table,
        charts=service_charts(trials, names),
        rankings=rankings,
        facts=(*asked, *run_facts(run.manifest, trials, urls=False)),
        figures="A row for each server at each point: medians of its trials.",
        findings=(*answers[1:], *findings, *_failures(trials, names)),
    )


def _reached(found: Sequence[Reach], names: Mapping[str, str]) -> list[str]:
    """Describe where each server breaks; servers that hold everything share a sentence."""
    alike: dict[tuple[Variant, int | None, bool], list[str]] = {}
    for one in found:
        if one.failed is None:
            alike.setdefault((one.variant, one.held, one.unfinished), []).append(names[one.subject])
    sentences = []
    for (variant, held, unfinished), servers in alike.items():
        who, hold = f"{listed(servers)}{_in_variant(variant)}", "holds" if len(servers) == 1 else "hold"
        known = f"{who} {hold} every measured number, up to {held:,} connections" if held else f"{who}: unknown"
        sentences.append(known + (_UNFINISHED if unfinished else ""))
    for one in found:
        if one.failed is not None:
            who = f"{names[one.subject]}{_in_variant(one.variant)}"
            doubt = ", although the machine may have been at fault" if one.doubtful else ""
            reason = f"{one.how}{doubt}{_UNFINISHED if one.unfinished else ''}"
            breaks = f"does not hold {one.failed:,} connections"
            if one.held is not None:
                breaks = f"holds {one.held:,} connections and breaks at {one.failed:,}"
            sentences.append(f"{who} {breaks}: {reason}")
    return sentences


def _in_variant(variant: Variant) -> str:
    parts = [f" with {counted(variant.threads, 'thread')}"] if variant.threads is not None else []
    parts += [f" on {counted(variant.cpus, 'CPU')}"] if variant.cpus is not None else []
    return "".join([*parts, " in an open loop" if variant.loop is Loop.OPEN else ""])


def _failures(trials: Sequence[Trial], names: Mapping[str, str]) -> list[str]:
    failed: dict[tuple[str, Outcome], str] = {}
    for trial in trials:
        if trial.outcome not in {Outcome.OK, Outcome.INTERRUPTED}:
            failed.setdefault((trial.subject, trial.outcome), f"{trial.condition}: {trial.reason}")
    return [f"{names[subject]} {outcome}: {reason}" for (subject, outcome), reason in failed.items()]


_NO_FIGURES: Final = "---"


def _published_cell(slowest_ms: Cell, per_s: Cell, *, at_least: bool = False) -> str:
    """Return figures in the published form; ``at_least``: ``slowest_ms`` is a lower bound."""
    if slowest_ms is None and per_s is None:
        return _NO_FIGURES
    slowest = _NO_FIGURES if slowest_ms is None else f"{slowest_ms:.2f}ms"
    return f"{'≥ ' if at_least else ''}{slowest}, {_NO_FIGURES if per_s is None else f'{per_s:.2f}'}"


def published_form(manifest: Manifest, trials: Sequence[Trial], published: PublishedTable) -> Table:
    """Return a run in the published form: each measured server above its published figures."""
    there = {
        (str(row["subject"]), int(str(row["connections"]))): _published_cell(row["slowest5"], row["requestsPerSec"])
        for row in published.rows
    }
    groups: dict[tuple[str, int], list[ServiceSummary]] = {}
    for trial in trials:
        if point := trial.get(ServicePoint):
            groups.setdefault((trial.subject, point.connections), []).extend(records_of(ServiceSummary, [trial]))
    here, bounded = {}, False
    for key, known in groups.items():
        slowest_ns = median(one.slowest_5_ns for one in known)
        at_least = slowest_ns is not None and any(one.at_least for one in known)
        slowest_ms = None if slowest_ns is None else slowest_ns / 1e6
        here[key] = _published_cell(slowest_ms, median(one.per_s for one in known), at_least=at_least)
        bounded = bounded or at_least
    connections = sorted({count for _, count in here or there})
    names = {str(row["subject"]): (row["framework"], row["language"]) for row in published.rows}
    ours = {subject.id: (subject.method, subject.language.lower()) for subject in manifest.subjects}
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, named in {**names, **ours, **names}.items():
        own = [trial for trial in trials if trial.subject == subject]
        failed = next((trial for trial in own if trial.outcome is not Outcome.OK), None)
        if failed is not None:
            notes.append(Note(f"{failed.outcome}: {failed.reason}", len(rows)))
        for kind, cells, present in (("measured", here, bool(own)), ("published", there, subject in names)):
            if present:
                figures = (cells.get((subject, count), _NO_FIGURES) for count in connections)
                rows.append((*named, kind, *figures, subject))
    if bounded:
        notes.append(Note("≥: requests that were still open at the end count with the time that they had waited"))
    notes.append(Note("95%: the mean of the slowest 5 %, which rewrk prints under that name"))
    # Another generator reports figures of its whole run.
    claimed = any(one.claimed_answers is not None for one in records_of(ServiceSummary, trials))
    over = "over a whole run, too" if claimed else "in the steady stretch, where it is connections / 2"
    notes.append(
        Note(
            "req/s: published over a whole run of 30 s, in which all connections answer in step, 14 times 2 s: 14/30 "
            f"a second each; measured {over}"
        )
    )
    columns = (
        *map(Column, ("framework", "lang", "figures", *(f"{count} conns (95%, req/s)" for count in connections))),
        Column("subject", description="name of the subject's folder", shown=False),
    )
    return Table(columns, tuple(rows), "as published: framework, lang, 95 % and req/s", tuple(notes))


def _result(trial: Trial) -> str | None:
    summary = trial.get(ServiceSummary)
    if summary is None or summary.held is None:
        return None
    p99 = "" if summary.p99_ns is None else f": p99 {format_time(summary.p99_ns)}"
    return f"held{p99}" if summary.held else f"not held: {summary.why_not}"


PRESENTATION: Final = Presentation(
    metrics=SERVICE_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=service_table,
    views=service_views,
    trial_result=_result,
    report=service_report,
    preset_views=lambda of: (*of.views, published_form(of.run.manifest, of.trials, of.published)),
)
