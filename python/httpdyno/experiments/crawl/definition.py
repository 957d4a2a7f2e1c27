"""How the results of the crawl are judged and shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from httpdyno.experiments.crawl.beginning import begin_bench
from httpdyno.experiments.crawl.compact import COST, LINE, RATE, answer, compact_table
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.live import sent
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.options import NAME
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.usual_report import usual_charts, usual_headline, usual_report
from httpdyno.judge import find_metric, rank
from httpdyno.judge.comparison import find_rankable
from httpdyno.judge.limit import limited_by
from httpdyno.model import Chart, Column, ColumnKind, LinesSummary, Metric, Ranking, Table, Trial
from httpdyno.report.sections.charts import ConditionTrials, cost_chart, ranking_chart
from httpdyno.report.sections.tables import subject_names
from httpdyno.store import Run

__all__ = ["DEFINITION"]


def _views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    ranked_by = _ranked_by(settings)
    definition = replace(DEFINITION, ranked_by=ranked_by)
    table = definition.table(trials)
    names = subject_names(trials, map(str, table.values("subject")))
    lines = answer(trials, names, ranked_by, width=LINE) or [usual_headline(definition, trials, table)]
    return (compact_table(replace(table, title="\n".join(lines)), trials, names),)


def _ranked_by(settings: Mapping[str, Setting]) -> str:
    """Return the figure that ranks: what the client decides, unless each ran at its ceiling or a publication ranks."""
    chosen = settings.get("rank_by")
    if isinstance(chosen, str):
        return find_rankable(CRAWL_METRICS, chosen).name
    return RATE if settings.get("saturate") or settings.get("preset") else COST


def _charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    metric: Metric,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    """Draw the usual charts, the ranking by the other of rate and cost, and both against each other."""
    rate, per_core, cost = (find_metric(CRAWL_METRICS, name) for name in (RATE, COST, "cpu_per_right_ms"))
    other = per_core if metric.name == RATE else rate
    trials = [trial for own in of.trials.values() for trial in own]
    second = ranking_chart(of, rank(trials, other, disturbed=True), other, names)
    for chart in usual_charts(run, of, ranking, metric, names, verdicts):
        if second is not None and chart.name != "ranking":
            yield second
            second = None
        yield chart
        if second is not None:
            second = replace(second, name="ranking-other")
    spent = cost_chart(of, rate, cost)
    if spent is not None:
        yield spent


DEFINITION: Final[Definition] = Definition(
    name=NAME,
    question="Which client fetches a list of URLs fastest, and how many of them does it get right?",
    metrics=CRAWL_METRICS,
    ranked_by=COST,
    choose_rank=_ranked_by,
    ranks_disturbed=True,
    intervals=(COST, RATE, "cpu_per_right_ms"),
    compared_by=(COST, RATE),
    answer=answer,
    brief=True,
    identity=(
        Column("subject", description="name of the subject's folder", shown=False),
        Column("language"),
        Column("method"),
        Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
        Column(
            "http_version", description="HTTP version that was asked for; empty: each client's default", shown=False
        ),
    ),
    words=((Column("limited_by", description="what held it up: concurrency, CPU, origin, link or web"), limited_by),),
    published_columns=(
        *("language", "method", "concurrency", "totalUrls", "time", "avg", "max", "okReqsSec", "okReqsPct"),
        *("avgBodyLen", "2xx", "3xx", "4xx", "5xx", "Exception"),
    ),
    views=_views,
    begin=begin_bench,
    sent=sent,
    restore=partial(restored, Crawl),
    report=lambda run, definition: usual_report(run, definition, _charts),
    preset_views=lambda run: (run.in_form, run.beside),
    figures=(LinesSummary,),
)
