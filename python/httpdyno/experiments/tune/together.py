"""Makes the report of a search for the best concurrency of several clients: each up to its best, in one chart."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.tune.curve import law_curve, points_used, rate_chart, with_intervals
from httpdyno.experiments.tune.tuning import concluded, law_of, searches_of
from httpdyno.judge.limit import limited_by
from httpdyno.model import Chart, Mark, Report, Series, Trial, counted
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import figure_text
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import Conclusion, ScalabilityLaw
from httpdyno.store import Run

__all__ = ["searches_chart", "searches_report"]

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
        headline=_headline(searches, names),
        table=definition.table(trials),
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
    """Name what was chosen of a client, and what held it up there."""
    assert conclusion.best is not None, "something was chosen"
    limits = {limited_by(trial) for trial in trials if trial.concurrency == conclusion.best.load}
    (limit,) = limits if len(limits) == 1 else (None,)
    return f"{name}: {conclusion.best.load}" + (f", limited by {limit}" if limit else "")


def _headline(searches: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> str:
    """Tell what each brings at its best, the most first; how sure that is stands in the table."""
    found = {names[subject]: concluded(trials).best for subject, trials in searches.items()}
    told = [f"{name} {figure_text(best.value)} with {best.load}" for name, best in found.items() if best]
    if not told:
        return "No concurrency was found at which one of them works" if searches else "Nothing was measured"
    return f"Right answers a second at the best number in flight: {'; '.join(told)}"
