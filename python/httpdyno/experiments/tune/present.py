"""The tables and the report of the search for the best concurrency."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.present import rate_text
from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.report import base_report
from httpdyno.experiments.tune.plan import SearchResult, observed, searches_of
from httpdyno.judge import ceiling_notes, find_metric, worst_validity
from httpdyno.judge.limit import limited_by
from httpdyno.judge.notes import asked_version_notes, labelled_notes
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Mark,
    Note,
    Outcome,
    Report,
    Scale,
    Series,
    Table,
    Trial,
    Verdict,
    counted,
)
from httpdyno.report.cell import figure_text
from httpdyno.report.sections.charts import (
    ConditionTrials,
    cost_chart,
    outcome_charts,
    response_time_charts,
    verdict_counts,
)
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import NotEnoughPoints, Point, ScalabilityLaw, Standing, median
from httpdyno.store import Run

_INTEGER: Final = ColumnKind.INTEGER
_RATE: Final = find_metric(CRAWL_METRICS, "right_per_s").column
_MEDIANS: Final = tuple(
    find_metric(CRAWL_METRICS, name)
    for name in ("p50_ms", "p99_ms", "cpu_user_ms", "cpu_system_ms", "peak_memory_bytes")
)
_IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("concurrency", _INTEGER, description="requests in flight at most"),
)
_COLUMNS: Final = (
    *_IDENTITY,
    Column("http_version", description="requested HTTP version; empty: the client's default", shown=False),
    Column("verdict", description="result of the search: chosen, no better, worse, raises faults, or failed"),
    Column("right_per_s", _RATE.kind, _RATE.unit, "right answers a second: geometric mean of the trials"),
    Column(
        "right_per_s_low", _RATE.kind, _RATE.unit, "lower end of its interval of 95 %, by the spread of all repeats"
    ),
    Column("right_per_s_high", _RATE.kind, _RATE.unit, "upper end"),
    Column(
        "errors", _INTEGER, description="wrong answers in all its trials, including known failures, without late ones"
    ),
    Column("late", _INTEGER, description="answers after the timeout in all its trials"),
    Column("trials", _INTEGER),
    *(metric.column for metric in _MEDIANS),
    Column("limited_by", description="limit of the rate: concurrency, CPU, origin, link or web; in most of its trials"),
    Column("wrong", _INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("validity", description="validity of its worst trial"),
    Column("chosen", ColumnKind.BOOLEAN, description="whether it is the best concurrency", shown=False),
)
_VIEW: Final = (
    Column("subject"),
    Column("in flight", _INTEGER),
    Column("verdict"),
    Column("right/s", _RATE.kind),
    Column("errors", _INTEGER),
    Column("late", _INTEGER),
    Column("p50", ColumnKind.DURATION, dispensable=True),
    Column("p99", ColumnKind.DURATION, dispensable=True),
    Column("MiB", _INTEGER, dispensable=True),
    Column("limited_by"),
    Column("validity", toned=True),
)


def tune_table(trials: Sequence[Trial], *, brief: bool = False) -> Table:
    """Build a table with one row for each subject and concurrency, the subject with the best rate first.

    ``brief`` leaves out the notes on the best concurrencies, which the headline has.
    """
    searches = searches_of(trials)
    rows: list[dict[str, Cell]] = []
    notes: list[str] = []
    for subject, result in searches.items():
        points = result.points
        groups = [[trial for trial in result.trials if trial.concurrency == point.load] for point in points]
        rows += map(_row, points, groups)
        best = [] if brief and result.best else [_best_text(result.best)]
        own_notes = (*_reasons(groups), *best, result.law_text)
        notes += [f"{subject}: {text}" if len(searches) > 1 else text for text in own_notes]
    notes += [*asked_version_notes(trials), *ceiling_notes(trials)]
    columns = (replace(_COLUMNS[0], shown=len(searches) > 1), *_COLUMNS[1:])
    return Table.of_records(columns, rows, notes=map(Note, notes))


def tune_views(trials: Sequence[Trial], settings: Mapping[str, object]) -> tuple[Table, ...]:
    """Build the table that fits a terminal: rate, cost and limit of each concurrency."""
    answer = "; ".join(f"{name}: {_best_text(result.best)}" for name, result in searches_of(trials).items())
    if not trials:
        answer = "Nothing was measured: the run has no finished trial"
    elif settings.get("quick") is True:
        answer = f"A quick look, with few and short trials: {answer}"
    table = tune_table(trials, brief=True)
    rows: list[dict[str, Cell]] = []
    for row in table.records():
        memory, rate = row["peak_memory_bytes"], (row[f"right_per_s{end}"] for end in ("", "_low", "_high"))
        shown = {"in flight": row["concurrency"], "right/s": rate_text(*rate), "p50": row["p50_ms"]}
        mib = round(memory / 2**20) if isinstance(memory, int | float) else None
        rows.append(row | shown | {"p99": row["p99_ms"], "MiB": mib})
    columns = (replace(_VIEW[0], shown=table.columns[0].shown), *_VIEW[1:])
    return (Table.of_records(columns, rows, notes=table.notes).answering(answer),)


def _best_text(best: Point | None) -> str:
    if best is None:
        return "works at no concurrency"
    interval = best.interval
    spread = f" ({100 * interval.level:g} %: {interval.low:.1f} to {interval.high:.1f})" if interval else ""
    return f"best with {best.load} in flight: {best.value:.1f} right answers a second{spread}"


def _row(point: Point, trials: Sequence[Trial]) -> dict[str, Cell]:
    interval, standing = point.interval, point.standing
    failures = [trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK]
    tallies = [trial.tally for trial in trials if trial.tally]
    late = sum(tally.late for tally in tallies)
    (limit, _), *_ = Counter(map(limited_by, trials)).most_common(1)
    return {
        "subject": trials[0].subject,
        "concurrency": point.load,
        "http_version": trials[0].http_version,
        "verdict": failures[0] if standing is Standing.FAILED and failures else standing.value,
        "right_per_s": round(point.value, 1),
        "right_per_s_low": round(interval.low, 1) if interval else None,
        "right_per_s_high": round(interval.high, 1) if interval else None,
        "errors": point.faults - late,
        "late": late,
        "trials": point.trials,
        **{metric.name: metric.rounded(median(map(metric.figure, trials))) for metric in _MEDIANS},
        "limited_by": limit.value if limit else None,
        "wrong": max((tally.wrong for tally in tallies if not tally.unverified), default=None),
        "validity": worst_validity(trials),
        "chosen": standing is Standing.CHOSEN,
    }


def _reasons(groups: Sequence[Sequence[Trial]]) -> Iterator[str]:
    """Describe failures and invalid figures: the first of each kind, and the other concurrencies with the same."""
    found: dict[str, list[tuple[int, str]]] = {}
    for group in groups:
        for label, text in labelled_notes(group):
            found.setdefault(label, []).append((group[0].concurrency, text))
    for (load, text), *others in found.values():
        more = f" (and with {', '.join(str(other) for other, _ in others)})" if others else ""
        yield f"{load} in flight{more}: {text}"


_MARKED: Final = 6
"""Names above the chart take a line each."""
_CURVE_POINTS: Final = 120
_UNUSED: Final = frozenset({Standing.RAISES_FAULTS, Standing.FAILED})
_TRIED, _LAW, _RAISES = "as measured", "the law that fits", "more errors or late answers"
_DOTS: Final = "Large dots are means of the trials, with intervals of 95 %; small dots are the trials"


def tuning_report(run: Run, definition: Definition) -> Report:
    """Return the report of a search, whole, partial or empty."""
    trials, subjects = run.records(), run.manifest.subjects
    searches = searches_of(trials)
    several = len(subjects) > 1
    # In the report of one client, concurrencies take the place of subjects.
    names = subject_names(trials, searches) if several else {}
    by_load = "{}, {}" if several else "{1} in flight"
    apart = [
        replace(trial, subject=by_load.format(names.get(trial.subject), trial.concurrency), condition="")
        for trial in trials
    ]
    loads = {trial.subject: trial.subject for trial in sorted(apart, key=lambda trial: trial.concurrency)}
    if several:
        counts, headline = counted(len(searches), "subject"), _headline_of_several(searches, names)
        charts = [_searches_chart(searches, names)]
    else:
        result = next(iter(searches.values()), SearchResult.of(()))
        own = subjects[0].concurrency if subjects else None
        counts = f"{trials[0].language} {trials[0].method}".strip() if trials else "no client"
        headline = _headline(result, own)
        charts = list(_charts(run, result, own, apart, loads, definition)) if trials else []
    report = base_report(
        run,
        definition,
        apart,
        loads,
        counts=f"{counts}, {counted(len(trials), 'trial')}",
        headline=headline,
        table=tune_table(trials),
        charts=charts,
    )
    return replace(
        report,
        facts=run_facts(run.manifest, trials, blocks=several),
        subjects=tuple(names.items()),
        figures="Of all trials at each concurrency: geometric means, sums of errors and of late answers, else medians.",
    )


def _headline_of_several(searches: Mapping[str, SearchResult], names: Mapping[str, str]) -> str:
    """Return the best rate of each subject, the highest first; the table has the intervals."""
    results = [
        f"{names[subject]} {figure_text(best.value)} with {best.load}"
        for subject, result in searches.items()
        if (best := result.best)
    ]
    if not results:
        return "No subject works at any concurrency" if searches else "Nothing was measured"
    return f"Right answers a second at the best number in flight: {'; '.join(results)}"


def _headline(result: SearchResult, own: int | None) -> str:
    best, there = result.best, result.at(own)
    if not result.trials:
        return "Nothing was measured: the run has no finished trial"
    if best is None:
        return "No concurrency was found at which it works"
    interval, spread = best.interval, ""
    if interval is not None:
        spread = f" ({100 * interval.level:g} %: {figure_text(interval.low)} to {figure_text(interval.high)})"
    parts = [f"{best.load} in flight is best: {figure_text(best.value)} right answers a second{spread}"]
    if there is not None and there.load != best.load:
        parts.append(f"its own {own} gives {figure_text(there.value)}")
    if result.contention_begins is not None:
        parts.append(f"contention begins at about {result.contention_begins:.0f}")
    return "; ".join(parts)


def _charts(
    run: Run,
    result: SearchResult,
    own: int | None,
    trials: Sequence[Trial],
    loads: Mapping[str, str],
    definition: Definition,
) -> Iterator[Chart]:
    yield _tuning_chart(result, own)
    # The list of a search is longer than any trial.
    verdicts = {
        trial: {name: count for name, count in counts.items() if name != Verdict.NOT_REACHED.value}
        for trial, counts in verdict_counts(run.samples()).items()
    }
    of = ConditionTrials(trials, loads, run.samples(), verdicts)
    cost = find_metric(CRAWL_METRICS, "cpu_per_right_ms")
    yield response_time_charts(of)[0]
    yield from outcome_charts(of)
    yield cost_chart(of, definition.presentation.ranking_metric, cost)


def _searches_chart(searches: Mapping[str, SearchResult], names: Mapping[str, str]) -> Chart:
    """Draw right answers a second over requests in flight, a colour for each client, and mark the best."""
    series: list[Series] = []
    marks: list[Mark] = []
    for subject, result in searches.items():
        name, best = names[subject], result.best
        series.append(_trial_dots(name, [trial for trial in result.trials if observed(trial).value > 0]))
        if used := [point for point in result.points if point.standing not in _UNUSED and point.value > 0]:
            series.append(_mean_dots(name, used))
        series += _law_curve(name, result)
        if best is not None:
            limits = {limited_by(trial) for trial in result.trials if trial.concurrency == best.load}
            (limit,) = limits if len(limits) == 1 else (None,)
            marks.append(Mark(f"{name}: {best.load}{f', limited by {limit}' if limit else ''}", best.load, faint=True))
    caption = (
        f"{_DOTS}, and where there is no large one there were more errors or late answers. The curves are Gunther's"
        " Universal Scalability Law."
    )
    return _rate_chart(series, caption, tuple(names.values()), marks if len(marks) <= _MARKED else ())


def _tuning_chart(result: SearchResult, own: int | None) -> Chart:
    """Draw throughput over concurrency with the law that fits, and mark the best and the subject's own concurrency."""
    series: list[Series] = []
    for name, unused in ((_TRIED, False), (_RAISES, True)):
        if points := [p for p in result.points if (p.standing in _UNUSED) is unused and p.value > 0]:
            loads = {point.load for point in points}
            tried = [trial for trial in result.trials if trial.concurrency in loads]
            series += [_trial_dots(name, tried), _mean_dots(name, points)]
    series += _law_curve(_LAW, result)
    return _rate_chart(series, f"{_DOTS}. {_law_caption(result.law)}", (_TRIED, _LAW, _RAISES), _marks(result, own))


def _law_caption(law: ScalabilityLaw | NotEnoughPoints) -> str:
    if isinstance(law, NotEnoughPoints):
        return f"There is {law}."
    return (
        f"The curve is Gunther's Universal Scalability Law with {figure_text(law.rate)} a second for one in flight,"
        f" contention {law.contention:.2g} and coherency {law.coherency:.2g}; it misses the trials by"
        f" {100 * law.residual:.0f} %. Contention begins where one more in flight adds half of the rate of the first"
        " one."
    )


def _marks(result: SearchResult, own: int | None) -> Iterator[Mark]:
    best, begins = result.best, result.contention_begins
    if best is not None:
        same = ", as in subject.toml" if best.load == own else ""
        yield Mark(f"chosen: {best.load}{same}", best.load)
    if own is not None and (best is None or best.load != own):
        yield Mark(f"subject.toml: {own}", own, faint=True)
    if begins is not None:
        yield Mark(f"contention begins: {begins:.0f}", begins, faint=True)


def _trial_dots(name: str, trials: Sequence[Trial]) -> Series:
    rates = [(float(t.concurrency), t.summary.right_per_s) for t in trials if t.summary]
    known = [(load, rate) for load, rate in rates if rate is not None]
    return Series(name, tuple(load for load, _ in known), tuple(rate for _, rate in known), faint=True)


def _mean_dots(name: str, points: Sequence[Point]) -> Series:
    intervals = [point.interval for point in points]
    return Series(
        name,
        tuple(float(point.load) for point in points),
        tuple(point.value for point in points),
        tuple(interval.low if interval else None for interval in intervals),
        tuple(interval.high if interval else None for interval in intervals),
    )


def _law_curve(name: str, result: SearchResult) -> Iterator[Series]:
    law, loads = result.law, result.fitted_loads
    if isinstance(law, ScalabilityLaw):
        across = [float(load) for load in np.geomspace(loads[0], loads[-1], _CURVE_POINTS)]
        x, y = ([float(f"{value:.5g}") for value in axis] for axis in (across, map(law.throughput, across)))
        yield Series(name, tuple(x), tuple(y))


def _rate_chart(series: Sequence[Series], caption: str, colours: tuple[str, ...], marks: Iterable[Mark]) -> Chart:
    return Chart(
        name="tune",
        title="Right answers a second by concurrency",
        kind=ChartKind.FITTED,
        x=Axis("requests in flight", scale=Scale.LOGARITHMIC),
        y=Axis("right answers a second"),
        series=tuple(series),
        caption=caption,
        section="Concurrency",
        colours=colours,
        marks=tuple(marks),
    )


PRESENTATION: Final = Presentation(
    metrics=CRAWL_METRICS,
    ranked_by="right_per_s",
    identity=_IDENTITY,
    tabulate=tune_table,
    views=tune_views,
    report=tuning_report,
)
