"""The report of a run: the parts that all experiments share, and the whole one where each row is a subject."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.published import compare_preset_run
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
    """Return a report with the parts that all experiments share.

    ``names`` are those of the subjects of ``trials``, the best first; ``counts`` is the size of the run for the title:
    ``3 subjects, 9 trials``.
    """
    presentation = definition.presentation
    metric = None if presentation.ranked_by is None else presentation.ranking_metric
    pairs = (pair for ranking in rankings for pair in ranking.comparisons)
    return Report(
        title=f"{definition.name}: {counts}",
        question=definition.question,
        headline=headline,
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=run_facts(run.manifest, trials),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=table,
        comparisons=comparison_table(pairs, metric, names),
        rules=rule_table(trials, definition.judging.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.judging.rules),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(charts),
        published=compare_preset_run(run, definition),
        evidence=link_tables(trials),
    )


_Draw = Callable[
    [Run, ConditionTrials, Ranking, Metric, Mapping[str, str], Mapping[int, Mapping[str, int]]], Iterator[Chart]
]
"""Draw the charts of one condition."""


def usual_report(run: Run, definition: Definition, draw: _Draw | None = None) -> Report:
    """Return the report of a run whose rows and colours are its subjects.

    ``draw`` draws the charts of a condition; None: ``usual_charts``.
    """
    trials, presentation = run.records(), definition.presentation
    table = presentation.table(trials)
    groups, rankings, names = _ranked(presentation, trials, table)
    verdicts = verdict_counts(run.samples())
    wrong = wrong_answers(trials, names, run.samples())
    charts: list[Chart] = []
    for number, (condition, group) in enumerate(groups.items()):
        by_name = {names[subject]: [t for t in group if t.subject == subject] for subject in names}
        of, ranking = ConditionTrials(condition, by_name, tuple(names.values())), rankings.get(condition)
        if ranking is None:
            drawn = _common_charts(run, of, verdicts)
        else:
            drawn = (draw or usual_charts)(run, of, ranking, presentation.ranking_metric, names, verdicts)
        # A chart of the only condition keeps its name.
        charts += (
            replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}, {condition}") if condition else chart
            for chart in drawn
        )
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(trials), 'trial')}",
        headline=usual_headline(presentation, trials, table),
        table=ranking_table(marked_ranks(rows_apart(table)), presentation.ranked_by),
        charts=charts,
        rankings=rankings.values(),
    )
    return replace(report, evidence=(wrong, *report.evidence)) if wrong else report


def usual_headline(presentation: Presentation, trials: Sequence[Trial], table: Table) -> str:
    """Return the answer of a run in one line, as its report begins with it; ``table`` is that of its trials."""
    groups, rankings, names = _ranked(presentation, trials, table)
    if not groups:
        return "Nothing was measured: the run has no finished trial"
    sentences = []
    for condition, group in groups.items():
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


def _ranked(
    presentation: Presentation, trials: Sequence[Trial], table: Table
) -> tuple[dict[str, list[Trial]], dict[str, Ranking], dict[str, str]]:
    """Return the trials and the ranking of each condition, and the names of subjects, ranked ones first.

    There is no ranking where subjects pass or fail.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.condition, []).append(trial)
    rankings = (
        {}
        if presentation.ranked_by is None
        else {
            condition: rank(group, presentation.ranking_metric, disturbed=presentation.ranks_disturbed)
            for condition, group in groups.items()
        }
    )
    order = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    return groups, rankings, subject_names(trials, (*order, *map(str, table.values("subject"))))


def usual_charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    metric: Metric,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    """Draw the charts of any experiment that ranks: ranking, ratios, and the common charts."""
    ranked = (ranking_chart(of, ranking, metric, names), ratio_chart(of, ranking, names))
    yield from (chart for chart in ranked if chart is not None)
    yield from _common_charts(run, of, verdicts)


def _common_charts(run: Run, of: ConditionTrials, verdicts: Mapping[int, Mapping[str, int]]) -> Iterator[Chart]:
    """Draw the charts of any experiment: course, response times, verdicts and status codes."""
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
