"""A load (``load``): throughput and response times of a server under the requests of the built-in generator."""

from typing import Final

from httpdyno.experiments.definition import Definition, Judging, Presentation
from httpdyno.experiments.load.judge import LOAD_RULES, LoadSummary
from httpdyno.experiments.load.present import LOAD_METRICS, load_report, load_table, load_views
from httpdyno.model import Addresses, Column, Labels

DEFINITION: Final = Definition(
    "load",
    "How fast does a server answer, and how long do its answers take?",
    Presentation(
        metrics=LOAD_METRICS,
        identity=(Column("subject", shown=False), Column("method")),
        ranked_by="rps",
        # In an open loop the schedule sets the throughput, so it alone shows nothing.
        compared_by=("rps", "p50", "p99"),
        tabulate=load_table,
        views=load_views,
        report=load_report,
    ),
    judging=Judging(LOAD_RULES, figures=(LoadSummary, Labels, Addresses)),
)
