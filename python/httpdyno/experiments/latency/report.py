"""Makes the report of a latency run: what a call costs at each point, whose time that is, what it rests on."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.latency.charts import latency_charts
from httpdyno.experiments.latency.figures import LatencyPoint
from httpdyno.experiments.latency.table import latency_table, of_timeit, page_table
from httpdyno.judge import rank
from httpdyno.model import Report, Table, Trial, counted
from httpdyno.report.sections.headline import ranked_headline
from httpdyno.report.sections.tables import subject_names
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
    sentences = [
        f"{point}: {ranked_headline(_ranked(blocks[point]), ranking, metric, names)}"
        for point, ranking in rankings.items()
    ]
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(len(blocks), 'point')}, {counted(len(trials), 'trial')}",
        headline=sentences[0] if sentences else "Nothing was measured: the run has no finished trial",
        table=page_table(table),
        charts=latency_charts(run, blocks, names),
        rankings=rankings.values(),
    )
    return replace(
        report,
        facts=tuple((name, text) for name, text in report.facts if name not in _OF_POINTS),
        figures=(
            "A row for each client and point: medians of its trials. per_loop and in_process, mean ± std. dev. of "
            "seven runs, are those of the one in the middle."
        ),
        findings=(*sentences[1:], *_agreeing(table)),
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


def _agreeing(table: Table) -> list[str]:
    """Describe how many rows agree in both ways of timing."""
    told = [str(text) for text in table.values("agree") if text]
    if not told:
        return []
    same, unknown = (sum(text.startswith(word) for text in told) for word in ("yes", "unknown"))
    doubt = f"; of {unknown} the intervals are too wide to tell" if unknown else ""
    return [f"Timed from outside and in process: {same} of {len(told)} agree within their intervals{doubt}"]
