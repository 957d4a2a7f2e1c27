"""Makes the report of a run from its records: the same for every experiment, whatever its metrics."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from httpdyno.errors import UnreadableRun
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.published import published_beside
from httpdyno.experiments.report.condition import ConditionTrials
from httpdyno.experiments.report.facts import run_facts
from httpdyno.experiments.report.headline import headline
from httpdyno.experiments.report.outcome_charts import error_table, status_chart, verdict_chart, verdict_counts
from httpdyno.experiments.report.ranking_charts import cost_chart, ranking_chart, ratio_chart
from httpdyno.experiments.report.response_charts import distribution_chart, percentile_chart, response_histograms
from httpdyno.experiments.report.subjects import subject_names
from httpdyno.experiments.report.tables import comparison_table, ranking_table
from httpdyno.experiments.report.time_charts import memory_chart, throughput_chart
from httpdyno.experiments.report.trust_tables import rule_table, trial_overview
from httpdyno.experiments.report.tuning_report import tuning_report
from httpdyno.experiments.reservation import reservations
from httpdyno.experiments.tune import NAME as TUNE
from httpdyno.judge import believed_trials, rank
from httpdyno.model import Chart, Ranking, Report, Table, Trial, Validity
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["build_report"]


def build_report(run: Run, definition: Definition) -> Report:
    """Say what a run says: its answer, its doubt and its evidence.

    Parameters
    ----------
    run : Run
        Whole, partial or empty.
    definition : Definition
        Of the run's experiment.

    Raises
    ------
    UnreadableRun
        If its files are damaged.
    """
    try:
        return tuning_report(run, definition) if definition.name == TUNE else _report(run, definition)
    except pl.exceptions.PolarsError as error:
        # What the samples hold is read here for the first time.
        raise UnreadableRun(f"{run.folder}: samples.parquet is damaged: {str(error).partition(chr(10))[0]}") from error


def _report(run: Run, definition: Definition) -> Report:
    trials = run.records()
    by_condition = {
        condition: [trial for trial in trials if trial.condition == condition]
        for condition in dict.fromkeys(trial.condition for trial in trials)
    }
    metric = definition.ranking_metric
    rankings = {condition: rank(group, metric) for condition, group in by_condition.items()}
    table = definition.table(trials)
    names = subject_names(trials, _order(rankings.values(), table))
    verdicts = verdict_counts(run.samples())
    charts: list[Chart] = []
    for number, (condition, group) in enumerate(by_condition.items()):
        of = ConditionTrials(
            condition,
            {names[subject]: [t for t in group if t.subject == subject] for subject in names},
            tuple(names.values()),
        )
        drawn = _charts(run, of, rankings[condition], definition, names, verdicts)
        charts += [_of_condition(chart, condition, number) for chart in drawn]
    return Report(
        title=f"{definition.name}: {_counted(len(names), 'subject')}, {_counted(len(trials), 'trial')}",
        question=definition.question,
        headline=_headline(rankings, by_condition, definition, names, table),
        reservations=tuple(note.text for note in reservations(run.manifest, finished=len(trials))),
        facts=run_facts(run.manifest, trials),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=ranking_table(table, definition.ranked_by),
        comparisons=comparison_table(
            (pair for ranking in rankings.values() for pair in ranking.comparisons), metric, names
        ),
        rules=rule_table(trials),
        validity=trial_overview(trials, names),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(charts),
        published=published_beside(run),
    )


def _charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    definition: Definition,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    metric = definition.ranking_metric
    histograms = response_histograms(of, run.samples())
    drawn = (
        ranking_chart(of, ranking, metric, names),
        ratio_chart(of, ranking, names),
        throughput_chart(of),
        memory_chart(of),
        percentile_chart(of, histograms),
        distribution_chart(of, histograms),
        verdict_chart(of, verdicts),
        status_chart(of),
        cost_chart(of, metric),
    )
    return (chart for chart in drawn if chart is not None)


def _of_condition(chart: Chart, condition: str, number: int) -> Chart:
    """Name a chart of one of several conditions; of the only one it keeps its name."""
    if not condition:
        return chart
    return replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}, {condition}")


def _order(rankings: Iterable[Ranking], table: Table) -> list[str]:
    """Give the ids of subjects in the order in which they are shown: ranked ones first, then as in the table."""
    ranked = [standing.subject for ranking in rankings for standing in ranking.standings]
    return list(dict.fromkeys((*ranked, *map(str, table.values("subject")))))


def _headline(
    rankings: Mapping[str, Ranking],
    by_condition: Mapping[str, Sequence[Trial]],
    definition: Definition,
    names: Mapping[str, str],
    table: Table,
) -> str:
    if not rankings:
        return "Nothing was measured: the run has no finished trial"
    metric = definition.ranking_metric
    verdicts = dict(zip(map(str, table.values("subject")), map(str, table.values("verdict")), strict=True))
    sentences = []
    for condition, ranking in rankings.items():
        ranked = {standing.subject for standing in ranking.standings}
        group = by_condition[condition]
        medians = {
            subject: median(map(metric.figure, believed_trials([t for t in group if t.subject == subject]))) or 0.0
            for subject in ranked
        }
        present = {trial.subject for trial in group}
        unranked = {
            subject: f"no {metric.name}" if verdicts[subject] == Validity.VALID.value else verdicts[subject]
            for subject in names
            if subject in present - ranked
        }
        sentence = headline(ranking, metric, medians, names, unranked)
        sentences.append(f"{condition}: {sentence}" if condition else sentence)
    return ". ".join(sentences)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
