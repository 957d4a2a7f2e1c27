"""How the results of the crawl are judged and shown."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from httpdyno.experiments.crawl.beginning import begin_bench
from httpdyno.experiments.crawl.compact import compact_table
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.live import sent
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY
from httpdyno.experiments.crawl.options import NAME
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.usual_report import usual_headline
from httpdyno.judge.limit import limited_by
from httpdyno.model import Column, ColumnKind, LinesSummary, Table, Trial
from httpdyno.report.rows_apart import rows_apart

__all__ = ["DEFINITION"]


def _views(trials: Sequence[Trial]) -> tuple[Table, ...]:
    table = rows_apart(DEFINITION.table(trials))
    return (compact_table(replace(table, title=usual_headline(DEFINITION, trials, table))),)


DEFINITION: Final[Definition] = Definition(
    name=NAME,
    question="Which client fetches a list of URLs fastest, and how many of them does it get right?",
    metrics=CRAWL_METRICS,
    ranked_by=RANKED_BY,
    ranks_disturbed=True,
    also_ranked_by={"cpu_per_right_ms": "fewest cores"},
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
    views=lambda trials, _: _views(trials),
    begin=begin_bench,
    sent=sent,
    restore=partial(restored, Crawl),
    preset_views=lambda run: (run.in_form, run.beside),
    figures=(LinesSummary,),
)
