"""The search for the best concurrency (``tune``)."""

from typing import Final

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.definition import Definition, Planning, Presentation
from httpdyno.experiments.tune.options import NAME
from httpdyno.experiments.tune.plan import Tune, begin_search, end_search
from httpdyno.experiments.tune.present import tune_table, tune_views, tuning_report
from httpdyno.model import Column, ColumnKind

DEFINITION: Final = Definition(
    NAME,
    "How many requests in flight give the most right answers a second, without more errors or late answers?",
    Presentation(
        metrics=CRAWL_METRICS,
        ranked_by="right_per_s",
        identity=(
            Column("subject", description="name of the subject's folder", shown=False),
            Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
        ),
        tabulate=tune_table,
        views=tune_views,
        report=tuning_report,
    ),
    Planning(begin_search, Tune.restore, end_search),
)
