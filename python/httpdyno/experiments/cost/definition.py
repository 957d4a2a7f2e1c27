"""How the results of the cost question are judged and shown."""

from typing import Final

from httpdyno.experiments.cost.cost import NAME
from httpdyno.experiments.cost.cost_table import IDENTITY, RANKED_BY, cost_table, cost_views
from httpdyno.experiments.definition import Definition
from httpdyno.judge.cost.metrics import COST_METRICS
from httpdyno.judge.cost.trial import judge_cost
from httpdyno.model import Trial, format_time

__all__ = ["DEFINITION"]


def _told(trial: Trial) -> str | None:
    if trial.cost is None or trial.cost.cpu_per_document_ns is None:
        return None
    return f"{trial.cost.answered:,} documents, {format_time(trial.cost.cpu_per_document_ns)} of CPU time each"


DEFINITION: Final = Definition(
    name=NAME,
    question="How much CPU time, memory and time does a client spend on JSON documents that it verifies one by one?",
    metrics=COST_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=cost_table,
    compared_by=(RANKED_BY, "real", "peakMemory"),
    views=cost_views,
    judge=judge_cost,
    told=_told,
)
