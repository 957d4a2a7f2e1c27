"""Makes the report of a load: what it rests on is a row a trial, and its colours are kinds of times, not subjects."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.load.charts import load_charts
from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.experiments.load.records import SERVER, read_load_report
from httpdyno.experiments.load.table import load_table, load_times, load_words
from httpdyno.model import Report, Trial, Validity, counted, format_time, records_of
from httpdyno.report.sections.headline import figure_text
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["load_report"]


def load_report(run: Run, definition: Definition) -> Report:
    """Return what a load says, whole, partial or empty."""
    trials = [trial for trial in run.records() if trial.get(LoadSummary) is not None]
    reports = [read for trial in trials if (read := read_load_report(run.folder, trial.trial)) is not None]
    names = {SERVER: trials[0].method if trials else SERVER}
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{names[SERVER]}, {counted(len(trials), 'trial')}",
        headline=_headline(trials),
        table=load_times(trials) if trials else load_table(trials),
        charts=load_charts(trials, reports),
    )
    # Loads follow each other: there is nothing that a random order of theirs could even out.
    facts = tuple((name, text.partition(", in ")[0]) for name, text in report.facts)
    return replace(
        report,
        facts=(("Load", "; ".join(dict.fromkeys(map(load_words, trials)))), *facts) if trials else facts,
        subjects=(),
        figures="Times by percentile" + (", medians of the trials." if len(trials) > 1 else "."),
    )


def _headline(trials: Sequence[Trial]) -> str:
    loads = records_of(LoadSummary, trials)
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
