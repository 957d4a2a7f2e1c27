"""The report of a run: the parts that all experiments share, and the whole one where each row is a subject."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.published import published_beside
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
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import after_colon, not_ranked_text, passed_headline, ranked_headline
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.tables import (
    comparison_table,
    error_table,
    link_tables,
    ranking_table,
    rows_apart,
    rule_table,
    subject_names,
    trial_overview,
    wrong_answers,
)
from httpdyno.store import Run

__all__ = ["base_report", "usual_charts", "usual_headline", "usual_report"]


def base_report(
    run: Run,
    definition: Definition,
    trials: Sequence[Trial],
    names: Mapping[str, str],
    *,
    counts: str,
    headline: str,
    table: Table,
    charts: Iterable[Chart],
    rankings: Iterable[Ranking] = (),
) -> Report:
    """Return the report of a run with what those of all experiments have; the rest its own one replaces.

    ``names`` are those of the subjects of ``trials``, the best first; ``counts`` is what the run has, for the title:
    ``3 subjects, 9 trials``.
    """
    return Report(
        title=f"{definition.name}: {counts}",
        question=definition.question,
        headline=headline,
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=run_facts(run.manifest, trials),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=table,
        comparisons=comparison_table(
            (pair for ranking in rankings for pair in ranking.comparisons), _metric(definition.presentation), names
        ),
        rules=rule_table(trials, definition.judging.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.judging.rules),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(charts),
        published=published_beside(run, definition),
        evidence=link_tables(trials),
    )


_Draw = Callable[
    [Run, ConditionTrials, Ranking, Metric, Mapping[str, str], Mapping[int, Mapping[str, int]]], Iterator[Chart]
]
"""Draws the charts of one condition."""


def usual_report(run: Run, definition: Definition, draw: _Draw | None = None) -> Report:
    """Return what a run says whose rows and colours are its subjects.

    ``draw`` draws the charts of a condition; without it, there are those of ``usual_charts``.
    """
    trials, presentation = run.records(), definition.presentation
    by_condition, metric = _by_condition(trials), _metric(presentation)
    rankings = _rankings(presentation, by_condition)
    table = presentation.table(trials)
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
        if metric is None:
            drawn = common_charts(run, of, verdicts)
        else:
            drawn = (draw or usual_charts)(run, of, rankings[condition], metric, names, verdicts)
        charts += [_of_condition(chart, condition, number) for chart in drawn]
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(trials), 'trial')}",
        headline=_headline(rankings, by_condition, presentation, names),
        table=ranking_table(marked_ranks(rows_apart(table)), presentation.ranked_by),
        charts=charts,
        rankings=rankings.values(),
    )
    return replace(report, evidence=(wrong, *report.evidence)) if wrong else report


def usual_headline(presentation: Presentation, trials: Sequence[Trial], table: Table) -> str:
    """Return the answer of a run in one line, as its report begins with it; ``table`` is that of its trials."""
    by_condition = _by_condition(trials)
    rankings = _rankings(presentation, by_condition)
    names = subject_names(trials, _order(rankings.values(), table))
    return _headline(rankings, by_condition, presentation, names)


def _metric(presentation: Presentation) -> Metric | None:
    """Return the metric that ranks; None where subjects pass or fail."""
    return None if presentation.ranked_by is None else presentation.ranking_metric


def _rankings(presentation: Presentation, by_condition: Mapping[str, Sequence[Trial]]) -> dict[str, Ranking]:
    """Rank the subjects of each condition; where they pass or fail, there is no ranking."""
    metric, marked = _metric(presentation), presentation.ranks_disturbed
    if metric is None:
        return {}
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
    """Draw what any experiment that ranks has: ranking, ratios, and the common charts."""
    ranked = (ranking_chart(of, ranking, metric, names), ratio_chart(of, ranking, names))
    yield from (chart for chart in ranked if chart is not None)
    yield from common_charts(run, of, verdicts)


def common_charts(run: Run, of: ConditionTrials, verdicts: Mapping[int, Mapping[str, int]]) -> Iterator[Chart]:
    """Draw what any experiment has: course, response times, verdicts and status codes."""
    times = response_times(of, run.samples())
    drawn = (
        throughput_chart(of),
        memory_chart(of),
        percentile_chart(of, times),
        distribution_chart(of, times),
        verdict_chart(of, verdicts),
        status_chart(of),
    )
    yield from (chart for chart in drawn if chart is not None)


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
    presentation: Presentation,
    names: Mapping[str, str],
) -> str:
    if not by_condition:
        return "Nothing was measured: the run has no finished trial"
    sentences = []
    for condition, group in by_condition.items():
        lines, ranking = presentation.answer(group, names), rankings.get(condition)
        if ranking is None:
            sentence = "\n".join(lines) or passed_headline(group, presentation.passes, names)
        else:
            metric = presentation.ranking_metric
            sentence = "\n".join(lines) or ranked_headline(group, ranking, metric, names)
            if lines and (left_out := not_ranked_text(group, ranking, metric, names)):
                sentence += f". Not ranked: {left_out}"
        sentences.append(f"{condition}: {after_colon(sentence)}" if condition else sentence)
    return ". ".join(sentences)
