"""Makes the report of a latency run: what a call costs at each point, whose time that is, what it rests on."""

import shlex
from collections.abc import Mapping, Sequence

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.latency.charts import latency_charts
from httpdyno.experiments.latency.figures import LatencyPoint
from httpdyno.experiments.latency.table import latency_table, of_timeit, page_table
from httpdyno.experiments.published import published_beside
from httpdyno.judge import rank, rankable_trials
from httpdyno.model import Metric, Ranking, Report, Table, Trial, counted
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import headline
from httpdyno.report.sections.link_table import link_tables
from httpdyno.report.sections.outcome_charts import error_table
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.subjects import subject_names
from httpdyno.report.sections.tables import comparison_table
from httpdyno.report.sections.trust_tables import rule_table, trial_overview
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["latency_report"]

_OF_POINTS = frozenset({"URLs"})


def latency_report(run: Run, definition: Definition) -> Report:
    """Return what a latency run says, whole, partial or empty."""
    trials = run.records()
    blocks = _blocks(trials)
    metric = definition.ranking_metric
    rankings = {point: rank(_ranked(group), metric) for point, group in blocks.items()}
    table = latency_table(trials)
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, (*ranked, *map(str, table.values("subject"))))
    sentences = [f"{point}: {_sentence(blocks[point], ranking, metric, names)}" for point, ranking in rankings.items()]
    return Report(
        title=f"{definition.name}: {counted(len(names), 'subject')}, {counted(len(blocks), 'point')}, "
        + counted(len(trials), "trial"),
        question=definition.question,
        headline=sentences[0] if sentences else "Nothing was measured: the run has no finished trial",
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=tuple((name, text) for name, text in run_facts(run.manifest, trials) if name not in _OF_POINTS),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=page_table(table),
        comparisons=comparison_table(
            (pair for ranking in rankings.values() for pair in ranking.comparisons), metric, names
        ),
        rules=rule_table(trials, definition.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.rules),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(latency_charts(run, blocks, names)),
        published=published_beside(run, definition),
        figures=(
            "A row for each client and point: medians of its trials. perLoop and inProcess, mean ± std. dev. of seven "
            "runs, are those of the one in the middle."
        ),
        findings=(*sentences[1:], *_agreeing(table)),
        evidence=link_tables(trials),
    )


def _blocks(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each point, from outside and in process, by its name."""
    blocks: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.get(LatencyPoint) is not None:
            kept = "keep-alive" if trial.keepalive else "no keep-alive"
            point = f"{trial[LatencyPoint].workload}, {trial[LatencyPoint].parallel} at once, {kept}"
            blocks.setdefault(point, []).append(trial)
    return blocks


def _ranked(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return those that rank: from outside, unless nobody was timed from there."""
    return [trial for trial in trials if not of_timeit(trial)] or trials


def _sentence(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    ranked = {standing.subject for standing in ranking.standings}
    by_subject = {
        subject: [trial for trial in _ranked(trials) if trial.subject == subject]
        for subject in names
        if any(trial.subject == subject for trial in _ranked(trials))
    }
    medians = {
        subject: median(map(metric.figure, rankable_trials(own))) or 0.0
        for subject, own in by_subject.items()
        if subject in ranked
    }
    unranked = {subject: _why(own) for subject, own in by_subject.items() if subject not in ranked}
    return headline(ranking, metric, medians, names, unranked)


def _why(trials: Sequence[Trial]) -> str:
    failed = [trial.outcome.value for trial in trials if trial.validity is None]
    spoiled = [trial.validity.value for trial in trials if trial.validity is not None]
    return (failed or sorted(spoiled, reverse=True) or ["no figure"])[0]


def _agreeing(table: Table) -> list[str]:
    """Describe how many rows agree in both ways of timing."""
    told = [str(text) for text in table.values("agree") if text]
    if not told:
        return []
    same, unknown = (sum(text.startswith(word) for text in told) for word in ("yes", "unknown"))
    doubt = f"; of {unknown} the intervals are too wide to tell" if unknown else ""
    return [f"Timed from outside and in process: {same} of {len(told)} agree within their intervals{doubt}"]
