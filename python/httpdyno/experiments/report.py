"""The report of a run: the parts that all experiments share, and the default report, whose rows are subjects."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.published import compare_preset_run
from httpdyno.judge import marked_ranks, rank_conditions
from httpdyno.model import Chart, Ranking, Report, Table, Trial, counted
from httpdyno.report.sections.charts import (
    ConditionTrials,
    memory_chart,
    outcome_charts,
    ranking_charts,
    response_time_charts,
    throughput_chart,
    verdict_counts,
)
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import not_ranked_text, passed_headline, ranked_headline
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.tables import (
    case_notes,
    comparison_table,
    error_table,
    link_table,
    ranking_table,
    rows_apart,
    rule_table,
    subject_names,
    trial_overview,
    wrong_answers,
)
from httpdyno.store import Run

NOTHING_MEASURED: Final = "Nothing was measured: the run has no finished trial"


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
    **more: Any,  # noqa: ANN401
) -> Report:
    """Return a report with the parts that all experiments share.

    ``names`` are those of the subjects of ``trials``, the best first; ``counts`` is the size of the run for the title:
    ``3 subjects, 9 trials``. Charts that show nothing are left out. ``more`` has other fields of the report.
    """
    presentation = definition.presentation
    metric = None if presentation.ranked_by is None else presentation.ranking_metric
    pairs = (pair for ranking in rankings for pair in ranking.comparisons)
    report = Report(
        title=f"{definition.name}: {counts}",
        question=definition.question,
        headline=headline or NOTHING_MEASURED,
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=run_facts(run.manifest, trials),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=table,
        comparisons=comparison_table(pairs, metric, names),
        rules=rule_table(trials, definition.judging.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.judging.rules),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(chart for chart in charts if chart.series or chart.tiles or chart.marks),
        published=compare_preset_run(run, definition),
        evidence=tuple(table for table in (link_table(trials),) if table.rows),
    )
    return replace(report, **more)


def usual_charts(of: ConditionTrials) -> Iterator[Chart]:
    """Draw the charts of any experiment: ranking, ratios, course, response times, verdicts and status codes."""
    yield from ranking_charts(of)
    yield throughput_chart(of)
    yield memory_chart(of)
    yield from response_time_charts(of)
    yield from outcome_charts(of)


def usual_report(
    run: Run, definition: Definition, draw: Callable[[ConditionTrials], Iterable[Chart]] = usual_charts
) -> Report:
    """Return the report of a run whose rows and colours are its subjects; ``draw`` draws the charts of a condition."""
    trials, presentation, samples = run.records(), definition.presentation, run.samples()
    table = presentation.table(trials)
    groups, rankings, names = rank_subjects(presentation, trials, table)
    verdicts, metric = verdict_counts(samples), presentation.ranking_metric if presentation.ranked_by else None
    wrong = wrong_answers(trials, names, samples)
    if wrong:
        wrong = replace(wrong, notes=(*wrong.notes, *case_notes(trials, names, samples)))
    charts: list[Chart] = []
    for number, (condition, group) in enumerate(groups.items()):
        of = ConditionTrials(group, names, samples, verdicts, rankings.get(condition), metric)
        # If there is only one condition, its charts keep their names.
        charts += (
            replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}, {condition}") if condition else chart
            for chart in draw(of)
        )
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(trials), 'trial')}",
        headline=_headline(presentation, groups, rankings, names),
        table=ranking_table(marked_ranks(rows_apart(table)), presentation.ranked_by),
        charts=charts,
        rankings=rankings.values(),
    )
    return replace(report, evidence=(wrong, *report.evidence)) if wrong else report


def usual_headline(presentation: Presentation, trials: Sequence[Trial], table: Table) -> str:
    """Return the headline of a run in one line; ``table`` is the table of its trials."""
    return _headline(presentation, *rank_subjects(presentation, trials, table))


def _headline(
    presentation: Presentation,
    groups: Mapping[str, Sequence[Trial]],
    rankings: Mapping[str, Ranking],
    names: Mapping[str, str],
) -> str:
    if not groups:
        return NOTHING_MEASURED
    sentences = []
    for condition, group in groups.items():
        lines, ranking, inside = presentation.answer(group, names), rankings.get(condition), bool(condition)
        if ranking is None:
            sentence = "\n".join(lines) or passed_headline(group, presentation.passes, names, after_colon=inside)
        else:
            metric = presentation.ranking_metric
            sentence = "\n".join(lines) or ranked_headline(group, ranking, metric, names, after_colon=inside)
            if lines and (left_out := not_ranked_text(group, ranking, metric, names)):
                sentence += f". Not ranked: {left_out}"
        sentences.append(f"{condition}: {sentence}" if condition else sentence)
    return ". ".join(sentences)


def rank_subjects(
    presentation: Presentation, trials: Sequence[Trial], table: Table
) -> tuple[dict[str, list[Trial]], dict[str, Ranking], dict[str, str]]:
    """Return the trials and the ranking of each condition, and the names of subjects, ranked ones first.

    If subjects pass or fail, there is no ranking.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.condition, []).append(trial)
    rankings: dict[str, Ranking] = {}
    if presentation.ranked_by is not None:
        rankings = rank_conditions(trials, presentation.ranking_metric, disturbed=presentation.ranks_disturbed)
    order = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    return groups, rankings, subject_names(trials, (*order, *map(str, table.values("subject"))))
