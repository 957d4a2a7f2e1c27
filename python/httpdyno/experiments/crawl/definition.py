"""How the results of the crawl are judged and shown."""

from functools import partial
from typing import Final

from httpdyno.experiments.crawl.beginning import begin_bench
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.live import sent
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.options import NAME
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.restoring import restored
from httpdyno.model import Column, ColumnKind, LinesSummary

__all__ = ["DEFINITION"]

DEFINITION: Final = Definition(
    name=NAME,
    question="Which client fetches a list of URLs fastest, and how many of them does it get right?",
    metrics=CRAWL_METRICS,
    ranked_by="rightPerSec",
    identity=(
        Column("subject", description="name of the subject's folder", shown=False),
        Column("language"),
        Column("method"),
        Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
        Column(
            "http_version", description="HTTP version that was asked for; empty: each client's default", shown=False
        ),
    ),
    begin=begin_bench,
    sent=sent,
    restore=partial(restored, Crawl),
    preset_views=lambda run: (run.in_form, run.beside),
    figures=(LinesSummary,),
)
