"""Makes the report of a load: what it rests on is a row a trial, and its colours are kinds of times, not subjects."""

import shlex
from collections.abc import Sequence

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.load.charts import load_charts
from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.experiments.load.judge import SERVER
from httpdyno.experiments.load.table import load_table, load_times, load_words
from httpdyno.model import Report, Table, Trial, Validity, format_time
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import figure_text
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.tables import comparison_table
from httpdyno.report.sections.trust_tables import rule_table, trial_overview
from httpdyno.stats import median
from httpdyno.store import Run
from httpdyno.store.load_reports import read_load_report

__all__ = ["load_report"]


def load_report(run: Run, definition: Definition) -> Report:
    """Return what a load says, whole, partial or empty."""
    trials = [trial for trial in run.records() if trial.get(LoadSummary) is not None]
    reports = [report for trial in trials if (report := read_load_report(run.folder, trial.trial)) is not None]
    names = {SERVER: trials[0].method if trials else SERVER}
    # Loads follow each other: there is nothing that a random order of theirs could even out.
    facts = tuple((name, text.partition(", in ")[0]) for name, text in run_facts(run.manifest, trials))
    return Report(
        title=f"{definition.name}: {names[SERVER]}, {len(trials)} trial{'' if len(trials) == 1 else 's'}",
        question=definition.question,
        headline=_headline(trials),
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=(("Load", "; ".join(dict.fromkeys(map(load_words, trials)))), *facts) if trials else facts,
        command=shlex.join(run.manifest.command),
        subjects=(),
        table=load_times(trials) if trials else load_table(trials),
        comparisons=comparison_table((), definition.ranking_metric, names),
        rules=rule_table(trials, definition.rules),
        validity=trial_overview(trials, names, rules=definition.rules),
        errors=Table((), ()),
        charts=tuple(load_charts(trials, reports)),
        figures="Times by percentile" + (", medians of the trials." if len(trials) > 1 else "."),
    )


def _headline(trials: Sequence[Trial]) -> str:
    loads = [trial[LoadSummary] for trial in trials if trial.get(LoadSummary) is not None]
    if not loads:
        return "Nothing was measured: the run has no finished trial"
    rate = median(load.requests_per_s for load in loads) or 0.0
    p50 = median(load.response.p50_ns for load in loads if load.response)
    p99 = median(load.response.p99_ns for load in loads if load.response)
    errors = sum(load.errors for load in loads)
    parts = [f"{figure_text(rate)} answers a second"]
    if p50 is not None and p99 is not None:
        parts.append(f"half of them within {format_time(p50)}, 99 % within {format_time(p99)}")
    parts.append(f"{errors:,} error{'' if errors == 1 else 's'}" if errors else "no errors")
    invalid = dict.fromkeys(t.validity.value for t in trials if t.validity not in {None, Validity.VALID})
    return "; ".join([", ".join(parts), *invalid])
