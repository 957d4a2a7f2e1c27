"""How the results of the search for the best concurrency are judged and shown."""

from functools import partial
from typing import Final

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.tune.beginning import begin_search
from httpdyno.experiments.tune.ending import end_search
from httpdyno.experiments.tune.options import NAME
from httpdyno.experiments.tune.report import tuning_report
from httpdyno.experiments.tune.table import tune_table, tune_views
from httpdyno.experiments.tune.tune import Tune
from httpdyno.model import Column, ColumnKind, LinesSummary

__all__ = ["DEFINITION"]

DEFINITION: Final = Definition(
    name=NAME,
    question="How many requests in flight give the most right answers a second, without more errors or late answers?",
    metrics=CRAWL_METRICS,
    ranked_by="right_per_s",
    identity=(
        Column("subject", description="name of the subject's folder", shown=False),
        Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
    ),
    tabulate=tune_table,
    views=tune_views,
    begin=begin_search,
    end=end_search,
    restore=partial(restored, Tune),
    report=tuning_report,
    figures=(LinesSummary,),
)
