"""A load (``load``): how fast a server answers, and how long it takes, under the requests of the built-in generator."""

from typing import Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.experiments.load.metrics import LOAD_METRICS
from httpdyno.experiments.load.report import load_report
from httpdyno.experiments.load.rules import LOAD_RULES
from httpdyno.experiments.load.table import load_table, load_views
from httpdyno.model import Column

__all__ = ["COMPARED_BY", "DEFINITION"]

COMPARED_BY: Final = ("rps", "p50", "p99")
"""What two loads are compared by when nobody says: in an open loop the throughput alone would say nothing."""


DEFINITION: Final = Definition(
    name="load",
    question="How fast does a server answer, and how long do its answers take?",
    metrics=LOAD_METRICS,
    ranked_by="rps",
    identity=(Column("subject", shown=False), Column("method")),
    tabulate=load_table,
    views=lambda trials, _: load_views(trials),
    compared_by=COMPARED_BY,
    report=load_report,
    rules=LOAD_RULES,
    figures=(LoadSummary,),
)
