"""The tables and the report of the search for the best concurrency."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.present import rate_text
from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.report import base_report
from httpdyno.experiments.tune.plan import concluded, contention_begins, law_of, law_words, lawful, searches_of
from httpdyno.judge import ceiling_notes, find_metric, trial_notes, worst_validity
from httpdyno.judge.limit import limited_by
from httpdyno.judge.notes import asked_version_notes
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Mark,
    Metric,
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
from httpdyno.report.sections.charts import (
    ConditionTrials,
    cost_chart,
    percentile_chart,
    response_times,
    status_chart,
    verdict_chart,
    verdict_counts,
)
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import figure_text
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import Conclusion, NotEnoughPoints, Point, ScalabilityLaw, Standing, median
from httpdyno.store import Manifest, Run

__all__ = ["tune_table", "tune_views", "tuning_report"]

_CURVE_POINTS: Final = 120
_UNUSED: Final = frozenset({Standing.RAISES_FAULTS, Standing.FAILED})


def rate_chart(series: Sequence[Series], *, caption: str, colours: Sequence[str], marks: Sequence[Mark]) -> Chart:
    """Return a chart of right answers a second over requests in flight."""
    return Chart(
        name="tune",
        title="Right answers a second by concurrency",
        kind=ChartKind.FITTED,
        x=Axis("requests in flight", scale=Scale.LOGARITHMIC),
        y=Axis("right answers a second"),
        series=tuple(series),
        caption=caption,
        section="Concurrency",
        colours=tuple(colours),
        marks=tuple(marks),
    )


def points_used(conclusion: Conclusion) -> list[Point]:
    """Return the candidate concurrencies."""
    return [point for point in conclusion.points if point.standing not in _UNUSED and point.value > 0]


def points_unused(conclusion: Conclusion) -> list[Point]:
    """Return those that more errors or late answers ruled out."""
    return [point for point in conclusion.points if point.standing in _UNUSED and point.value > 0]


def with_intervals(name: str, points: Sequence[Point]) -> Series:
    """Return means with their intervals."""
    intervals = [point.interval for point in points]
    return Series(
        name,
        tuple(float(point.load) for point in points),
        tuple(point.value for point in points),
        tuple(interval.low if interval else None for interval in intervals),
        tuple(interval.high if interval else None for interval in intervals),
    )


def law_curve(name: str, law: ScalabilityLaw, conclusion: Conclusion) -> Series:
    """Return a law over the concurrencies that it can speak of."""
    loads = [point.load for point in conclusion.points if lawful(point)]
    across = [float(load) for load in np.geomspace(min(loads), max(loads), _CURVE_POINTS)]
    return Series(name, tuple(map(_short, across)), tuple(_short(law.throughput(load)) for load in across))


def _short(value: float) -> float:
    """Keep as many digits as a drawing can show."""
    return float(f"{value:.5g}")


_INTEGER: Final = ColumnKind.INTEGER
_RATE: Final = find_metric(CRAWL_METRICS, "right_per_s").column
_MEDIANS: Final = tuple(
    find_metric(CRAWL_METRICS, name)
    for name in ("p50_ms", "p99_ms", "cpu_user_ms", "cpu_system_ms", "peak_memory_bytes")
)
_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("concurrency", _INTEGER, description="requests in flight at most"),
    Column("http_version", description="HTTP version that was asked for; empty: the client's default", shown=False),
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
_ANSWER: Final = "best with "
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


def tune_table(trials: Sequence[Trial]) -> Table:
    """Build a table with one row for each subject and concurrency, the subject with the best rate first."""
    searches = searches_of(trials)
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, own in searches.items():
        of = f"{subject}: " if len(searches) > 1 else ""
        conclusion = concluded(own)
        groups = [[trial for trial in own if trial.concurrency == point.load] for point in conclusion.points]
        rows += map(_row, conclusion.points, groups)
        found = (chosen_text(conclusion.best), law_words(law_of(own, conclusion), conclusion))
        notes += [Note(f"{of}{text}") for text in (*_reasons(conclusion.points, groups), *found)]
    notes += map(Note, (*asked_version_notes(trials), *ceiling_notes(trials)))
    columns = (replace(_COLUMNS[0], shown=len(searches) > 1), *_COLUMNS[1:])
    return Table(columns, tuple(rows), notes=tuple(notes))


def tune_answer(trials: Sequence[Trial], *, quick: bool = False) -> str:
    """Return the headline: the best concurrency of each client; ``quick``: a quick look."""
    if not trials:
        return "Nothing was measured: the run has no finished trial"
    found = "; ".join(f"{name}: {chosen_text(concluded(own).best)}" for name, own in searches_of(trials).items())
    return f"A quick look, with few and short trials: {found}" if quick else found


def tune_views(trials: Sequence[Trial], settings: Mapping[str, object]) -> tuple[Table, ...]:
    """Build the table that fits a terminal: rate, cost and limit of each concurrency."""
    table = tune_table(trials).answering(tune_answer(trials, quick=settings.get("quick") is True))
    # The answer is said above.
    answers = {note for note in table.notes if note.row is None and _ANSWER in note.text}
    table = replace(table, notes=tuple(note for note in table.notes if note not in answers))
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    columns = (replace(_VIEW[0], shown=table.columns[0].shown), *_VIEW[1:])
    return (replace(table, columns=columns, rows=tuple(map(_cells, rows))),)


def _cells(row: Mapping[str, Cell]) -> tuple[Cell, ...]:
    memory = row["peak_memory_bytes"]
    return (
        row["subject"],
        row["concurrency"],
        row["verdict"],
        rate_text(row["right_per_s"], row["right_per_s_low"], row["right_per_s_high"]),
        row["errors"],
        row["late"],
        row["p50_ms"],
        row["p99_ms"],
        round(memory / 2**20) if isinstance(memory, int | float) else None,
        row["limited_by"],
        row["validity"],
    )


def chosen_text(best: Point | None) -> str:
    """Describe in words what was found."""
    if best is None:
        return "works at no concurrency"
    interval = best.interval
    spread = f" ({100 * interval.level:g} %: {interval.low:.1f} to {interval.high:.1f})" if interval else ""
    return f"{_ANSWER}{best.load} in flight: {best.value:.1f} right answers a second{spread}"


def _row(point: Point, trials: Sequence[Trial]) -> tuple[Cell, ...]:
    interval = point.interval
    tallies = [trial.tally for trial in trials if trial.tally]
    verified = [tally.wrong for tally in tallies if not tally.unverified]
    late = sum(tally.late for tally in tallies)
    return (
        trials[0].subject,
        point.load,
        trials[0].http_version,
        _verdict(point.standing, trials),
        round(point.value, 1),
        round(interval.low, 1) if interval else None,
        round(interval.high, 1) if interval else None,
        point.faults - late,
        late,
        point.trials,
        *(_median(trials, metric) for metric in _MEDIANS),
        _limit(trials),
        max(verified, default=None),
        worst_validity(trials),
        point.standing is Standing.CHOSEN,
    )


def _limit(trials: Sequence[Trial]) -> str | None:
    (limit, _), *_ = Counter(map(limited_by, trials)).most_common(1)
    return None if limit is None else limit.value


def _median(trials: Sequence[Trial], metric: Metric) -> Cell:
    return metric.rounded(median(map(metric.figure, trials)))


def _verdict(standing: Standing, trials: Sequence[Trial]) -> str:
    if standing is Standing.FAILED:
        return next((trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK), standing.value)
    return standing.value


def _reasons(points: Sequence[Point], groups: Sequence[Sequence[Trial]]) -> list[str]:
    """Say why figures are not what they should be: of each kind the first, and where else it is so."""
    found: dict[str, list[tuple[int, str]]] = {}
    for point, group in zip(points, groups, strict=True):
        for text in trial_notes(group):
            found.setdefault(text.partition(":")[0], []).append((point.load, text))
    return [_first_of(many) for many in found.values()]


def _first_of(many: Sequence[tuple[int, str]]) -> str:
    (load, text), *others = many
    more = f" (and with {', '.join(str(other) for other, _ in others)})" if others else ""
    return f"{load} in flight{more}: {text}"


_MARKED: Final = 6
"""Names above the chart take a line each."""
_CAPTION: Final = (
    "Large dots are means of the trials, with intervals of 95 %; small dots are the trials, and where there is no large"
    " one there were more errors or late answers. The curves are Gunther's Universal Scalability Law."
)


def searches_report(run: Run, definition: Definition) -> Report:
    """Return what the searches of several clients found, and what that rests on."""
    trials = run.records()
    searches = searches_of(trials)
    names = subject_names(trials, searches)
    apart = [replace(trial, subject=f"{names[trial.subject]}, {trial.concurrency}", condition="") for trial in trials]
    loads = {trial.subject: trial.subject for trial in sorted(apart, key=lambda trial: trial.concurrency)}
    report = base_report(
        run,
        definition,
        apart,
        loads,
        counts=f"{counted(len(searches), 'subject')}, {counted(len(trials), 'trial')}",
        headline=_headline_of_several(searches, names),
        table=definition.presentation.table(trials),
        charts=[searches_chart(searches, names)],
    )
    return replace(
        report,
        facts=run_facts(run.manifest, trials),
        subjects=tuple(names.items()),
        figures="Of all trials at each concurrency: geometric means, sums of errors and of late answers, else medians.",
    )


def searches_chart(searches: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Chart:
    """Draw right answers a second over requests in flight, a colour for each client, and mark what was chosen."""
    series: list[Series] = []
    marks: list[Mark] = []
    for subject, trials in searches.items():
        name, conclusion = names[subject], concluded(trials)
        rates = [(trial.concurrency, trial.summary.right_per_s) for trial in trials if trial.summary]
        single = [(float(load), rate) for load, rate in rates if rate]
        series.append(Series(name, tuple(x for x, _ in single), tuple(y for _, y in single), faint=True))
        if used := points_used(conclusion):
            series.append(with_intervals(name, used))
        law = law_of(trials, conclusion)
        if isinstance(law, ScalabilityLaw):
            series.append(law_curve(name, law, conclusion))
        if conclusion.best is not None:
            marks.append(Mark(_chosen(name, conclusion, trials), conclusion.best.load, faint=True))
    shown = marks if len(marks) <= _MARKED else ()
    return rate_chart(series, caption=_CAPTION, colours=tuple(names.values()), marks=shown)


def _chosen(name: str, conclusion: Conclusion, trials: Sequence[Trial]) -> str:
    """Return the chosen concurrency of a client, and its limit."""
    assert conclusion.best is not None, "something was chosen"
    limits = {limited_by(trial) for trial in trials if trial.concurrency == conclusion.best.load}
    (limit,) = limits if len(limits) == 1 else (None,)
    return f"{name}: {conclusion.best.load}" + (f", limited by {limit}" if limit else "")


def _headline_of_several(searches: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> str:
    """Return the best rate of each subject, the highest first; the table has the intervals."""
    found = {names[subject]: concluded(trials).best for subject, trials in searches.items()}
    results = [f"{name} {figure_text(best.value)} with {best.load}" for name, best in found.items() if best]
    if not results:
        return "No subject works at any concurrency" if searches else "Nothing was measured"
    return f"Right answers a second at the best number in flight: {'; '.join(results)}"


_TRIED, _LAW, _RAISES = "as measured", "the law that fits", "more errors or late answers"
_COLOURS: Final = (_TRIED, _LAW, _RAISES)


def tuning_report(run: Run, definition: Definition) -> Report:
    """Return what a search found, whole, partial or empty, and what that rests on."""
    if len(run.manifest.subjects) > 1:
        return searches_report(run, definition)
    trials = run.records()
    conclusion = concluded(trials)
    law = law_of(trials, conclusion)
    # Concurrencies take the place of subjects in this report.
    by_load = [replace(trial, subject=_named(trial.concurrency), condition="") for trial in trials]
    names = {_named(point.load): _named(point.load) for point in conclusion.points}
    of = ConditionTrials("", {name: [t for t in by_load if t.subject == name] for name in names}, tuple(names))
    who = f"{trials[0].language} {trials[0].method}".strip() if trials else "no client"
    report = base_report(
        run,
        definition,
        by_load,
        names,
        counts=f"{who}, {counted(len(trials), 'trial')}",
        headline=_headline(conclusion, law, run.manifest),
        table=definition.presentation.table(trials),
        charts=_charts(run, of, trials, conclusion, law, definition.presentation),
    )
    return replace(
        report,
        facts=run_facts(run.manifest, trials, blocks=False),
        subjects=(),
        figures="Of all trials at each concurrency: geometric means, sums of errors and of late answers, else medians.",
    )


def tuning_chart(
    trials: Sequence[Trial], conclusion: Conclusion, law: ScalabilityLaw | NotEnoughPoints, own: int | None
) -> Chart:
    """Draw throughput over concurrency: what was measured, the law that fits, what was chosen and what was usual.

    ``own`` is the subject's own concurrency.
    """
    rates = [(trial.concurrency, trial.summary.right_per_s) for trial in trials if trial.summary]
    points = {_TRIED: points_used(conclusion), _RAISES: points_unused(conclusion)}
    series: list[Series] = []
    for name, kept in points.items():
        loads = {point.load for point in kept}
        single = [(float(load), rate) for load, rate in rates if load in loads and rate is not None]
        if kept:
            series.append(Series(name, tuple(x for x, _ in single), tuple(y for _, y in single), faint=True))
            series.append(with_intervals(name, kept))
    if isinstance(law, ScalabilityLaw):
        series.append(law_curve(_LAW, law, conclusion))
    return rate_chart(series, caption=_caption(law), colours=_COLOURS, marks=tuple(_marks(conclusion, law, own)))


def _charts(
    run: Run,
    of: ConditionTrials,
    trials: Sequence[Trial],
    conclusion: Conclusion,
    law: ScalabilityLaw | NotEnoughPoints,
    presentation: Presentation,
) -> Iterator[Chart]:
    if not trials:
        return
    yield tuning_chart(trials, conclusion, law, _own(run.manifest))
    times = response_times(of, run.samples())
    drawn = (
        percentile_chart(of, times),
        verdict_chart(of, _reached(verdict_counts(run.samples()))),
        status_chart(of),
        cost_chart(of, presentation.ranking_metric, find_metric(presentation.metrics, "cpu_per_right_ms")),
    )
    yield from (chart for chart in drawn if chart is not None)


def _headline(conclusion: Conclusion, law: ScalabilityLaw | NotEnoughPoints, manifest: Manifest) -> str:
    best = conclusion.best
    if not conclusion.points:
        return "Nothing was measured: the run has no finished trial"
    if best is None:
        return "No concurrency was found at which it works"
    own = _own(manifest)
    parts = [f"{best.load} in flight is best: {figure_text(best.value)} right answers a second{_spread(best)}"]
    there = next((point for point in conclusion.points if point.load == own), None)
    if there is not None and there.load != best.load:
        parts.append(f"its own {own} brings {figure_text(there.value)}")
    begins = contention_begins(law, conclusion)
    if begins is not None:
        parts.append(f"contention begins at about {begins:.0f}")
    return "; ".join(parts)


def _spread(best: Point) -> str:
    interval = best.interval
    if interval is None:
        return ""
    return f" ({100 * interval.level:g} %: {figure_text(interval.low)} to {figure_text(interval.high)})"


def _marks(conclusion: Conclusion, law: ScalabilityLaw | NotEnoughPoints, own: int | None) -> Iterator[Mark]:
    best = conclusion.best
    if best is not None:
        same = ", as in subject.toml" if best.load == own else ""
        yield Mark(f"chosen: {best.load}{same}", best.load)
    if own is not None and (best is None or best.load != own):
        yield Mark(f"subject.toml: {own}", own, faint=True)
    begins = contention_begins(law, conclusion)
    if begins is not None:
        yield Mark(f"contention begins: {begins:.0f}", begins, faint=True)


def _reached(verdicts: Mapping[int, Mapping[str, int]]) -> dict[int, dict[str, int]]:
    """Leave out what the deadline left over: the list of a search is longer than any trial."""
    left = Verdict.NOT_REACHED.value
    return {trial: {name: count for name, count in of.items() if name != left} for trial, of in verdicts.items()}


def _caption(law: ScalabilityLaw | NotEnoughPoints) -> str:
    read = "Large dots are means of the trials, with intervals of 95 %; small dots are the trials."
    if isinstance(law, NotEnoughPoints):
        return f"{read} There is {law}."
    figures = (
        f"{figure_text(law.rate)} a second for one in flight, contention {law.contention:.2g} and coherency"
        f" {law.coherency:.2g}; it misses the trials by {100 * law.residual:.0f} %"
    )
    return (
        f"{read} The curve is Gunther's Universal Scalability Law with {figures}. Contention begins where one more in"
        " flight brings half of what the first one does."
    )


def _own(manifest: Manifest) -> int | None:
    """Return the concurrency that ``subject.toml`` had."""
    return manifest.subjects[0].concurrency if manifest.subjects else None


def _named(load: int) -> str:
    return f"{load} in flight"
