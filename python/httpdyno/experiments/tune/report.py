"""Makes the report of a search for the best concurrency: its rows and colours are concurrencies, not subjects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.tune.curve import law_curve, points_unused, points_used, rate_chart, with_intervals
from httpdyno.experiments.tune.together import searches_report
from httpdyno.experiments.tune.tuning import concluded, contention_begins, law_of
from httpdyno.judge import find_metric
from httpdyno.model import Chart, Mark, Report, Series, Trial, Verdict, counted
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
from httpdyno.stats import Conclusion, NotEnoughPoints, Point, ScalabilityLaw
from httpdyno.store import Manifest, Run

__all__ = ["tuning_report"]

_TRIED, _LAW, _RAISES = "as measured", "the law that fits", "more errors or late answers"
_COLOURS: Final = (_TRIED, _LAW, _RAISES)


def tuning_report(run: Run, definition: Definition) -> Report:
    """Return what a search found, whole, partial or empty, and what that rests on."""
    if len(run.manifest.subjects) > 1:
        return searches_report(run, definition)
    trials = run.records()
    conclusion = concluded(trials)
    law = law_of(trials, conclusion)
    # Everything that a report tells of subjects is told of concurrencies here.
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
        table=definition.table(trials),
        charts=_charts(run, of, trials, conclusion, law, definition),
    )
    return replace(
        report,
        facts=tuple(_fact(name, text) for name, text in run_facts(run.manifest, trials)),
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
    definition: Definition,
) -> Iterator[Chart]:
    if not trials:
        return
    yield tuning_chart(trials, conclusion, law, _own(run.manifest))
    times = response_times(of, run.samples())
    drawn = (
        percentile_chart(of, times),
        verdict_chart(of, _reached(verdict_counts(run.samples()))),
        status_chart(of),
        cost_chart(of, definition.ranking_metric, find_metric(definition.metrics, "cpu_per_right_ms")),
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


def _fact(name: str, text: str) -> tuple[str, str]:
    """Leave out that trials shared blocks: those of a search follow from each other."""
    return name, text.partition(", in ")[0] if name == "Trials" else text


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
