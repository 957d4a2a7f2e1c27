"""Makes the report of a run whose rows and colours are its subjects, whatever its metrics."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.judge import marked_ranks, rank
from httpdyno.model import Chart, Metric, Ranking, Report, Table, Trial, counted
from httpdyno.report.sections.charts import (
    ConditionTrials,
    distribution_chart,
    memory_chart,
    percentile_chart,
    ranking_chart,
    ratio_chart,
    response_times,
    status_chart,
    throughput_chart,
    verdict_chart,
    verdict_counts,
)
from httpdyno.report.sections.headline import after_colon, not_ranked_text, ranked_headline
from httpdyno.report.sections.tables import ranking_table, rows_apart, subject_names, wrong_answers
from httpdyno.store import Run

__all__ = ["usual_charts", "usual_headline", "usual_report"]

_Draw = Callable[
    [Run, ConditionTrials, Ranking, Metric, Mapping[str, str], Mapping[int, Mapping[str, int]]], Iterator[Chart]
]
"""Draws the charts of one condition."""


def usual_report(run: Run, definition: Definition, draw: _Draw | None = None) -> Report:
    """Return what a run says whose rows and colours are its subjects.

    ``draw`` draws the charts of a condition; without it, there are those of ``usual_charts``.
    """
    trials = run.records()
    by_condition, metric = _by_condition(trials), definition.ranking_metric
    rankings = _rankings(definition, by_condition)
    table = definition.table(trials)
    names = subject_names(trials, _order(rankings.values(), table))
    verdicts = verdict_counts(run.samples())
    wrong = wrong_answers(trials, names, run.samples())
    charts: list[Chart] = []
    for number, (condition, group) in enumerate(by_condition.items()):
        of = ConditionTrials(
            condition,
            {names[subject]: [t for t in group if t.subject == subject] for subject in names},
            tuple(names.values()),
        )
        drawn = (draw or usual_charts)(run, of, rankings[condition], metric, names, verdicts)
        charts += [_of_condition(chart, condition, number) for chart in drawn]
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(trials), 'trial')}",
        headline=_headline(rankings, by_condition, definition, names),
        table=ranking_table(marked_ranks(rows_apart(table)), definition.ranked_by),
        charts=charts,
        rankings=rankings.values(),
    )
    return replace(report, evidence=(wrong, *report.evidence)) if wrong else report


def usual_headline(definition: Definition, trials: Sequence[Trial], table: Table) -> str:
    """Return the answer of a run in one line, as its report begins with it; ``table`` is that of its trials."""
    by_condition = _by_condition(trials)
    rankings = _rankings(definition, by_condition)
    names = subject_names(trials, _order(rankings.values(), table))
    return _headline(rankings, by_condition, definition, names)


def _rankings(definition: Definition, by_condition: Mapping[str, Sequence[Trial]]) -> dict[str, Ranking]:
    metric, marked = definition.ranking_metric, definition.ranks_disturbed
    return {condition: rank(group, metric, disturbed=marked) for condition, group in by_condition.items()}


def _by_condition(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    conditions = dict.fromkeys(trial.condition for trial in trials)
    return {condition: [trial for trial in trials if trial.condition == condition] for condition in conditions}


def usual_charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    metric: Metric,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    """Draw what any experiment has: ranking, ratios, course, response times, verdicts and status codes."""
    times = response_times(of, run.samples())
    drawn = (
        ranking_chart(of, ranking, metric, names),
        ratio_chart(of, ranking, names),
        throughput_chart(of),
        memory_chart(of),
        percentile_chart(of, times),
        distribution_chart(of, times),
        verdict_chart(of, verdicts),
        status_chart(of),
    )
    return (chart for chart in drawn if chart is not None)


def _of_condition(chart: Chart, condition: str, number: int) -> Chart:
    """Name a chart of one of several conditions; of the only one it keeps its name."""
    if not condition:
        return chart
    return replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}, {condition}")


def _order(rankings: Iterable[Ranking], table: Table) -> list[str]:
    """Return the ids of subjects in the order in which they are shown: ranked ones first, then as in the table."""
    ranked = [standing.subject for ranking in rankings for standing in ranking.standings]
    return list(dict.fromkeys((*ranked, *map(str, table.values("subject")))))


def _headline(
    rankings: Mapping[str, Ranking],
    by_condition: Mapping[str, Sequence[Trial]],
    definition: Definition,
    names: Mapping[str, str],
) -> str:
    if not rankings:
        return "Nothing was measured: the run has no finished trial"
    sentences = []
    for condition, ranking in rankings.items():
        group = by_condition[condition]
        lines = definition.answer(group, names, definition.ranked_by) if definition.answer else ()
        metric = definition.ranking_metric
        sentence = "\n".join(lines) or ranked_headline(group, ranking, metric, names)
        if lines and (left_out := not_ranked_text(group, ranking, metric, names)):
            sentence += f". Not ranked: {left_out}"
        sentences.append(f"{condition}: {after_colon(sentence)}" if condition else sentence)
    return ". ".join(sentences)
