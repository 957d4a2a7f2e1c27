"""How the results of the cost question are judged and shown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from httpdyno.experiments.cost.beginning import begin_cost
from httpdyno.experiments.cost.charts import cost_charts
from httpdyno.experiments.cost.cost import Cost
from httpdyno.experiments.cost.figures import CostPoint, CostSummary
from httpdyno.experiments.cost.judge.tool import judge_cost_tool
from httpdyno.experiments.cost.judge.trial import judge_cost
from httpdyno.experiments.cost.metrics import COST_METRICS
from httpdyno.experiments.cost.options import NAME
from httpdyno.experiments.cost.rules import COST_RULES
from httpdyno.experiments.cost.table import IDENTITY, RANKED_BY, cost_table, cost_views
from httpdyno.experiments.definition import Definition, has_lines
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.experiments.published import run_beside
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.usual_report import usual_headline, usual_report
from httpdyno.lab.client_trial import client_trials
from httpdyno.lab.tool_trial import tool_trials
from httpdyno.model import LinesSummary, Note, SubjectKind, Table, Trial, format_time
from httpdyno.published import published_table
from httpdyno.subjects.template import fill_sequence

__all__ = ["DEFINITION"]


def _told(trial: Trial) -> str | None:
    cost = trial.get(CostSummary)
    if cost is None or cost.cpu_per_document_ns is None:
        return None
    return f"{cost.answered:,} documents, {format_time(cost.cpu_per_document_ns)} of CPU time each"


def _start_ns(trial: Trial) -> int | None:
    cost = trial.get(CostSummary)
    return cost.start_ns if cost else None


def _throughput(of: PresetRun) -> Table:
    """Put beside the run what the publication's text says of throughput; its source stands below the other table."""
    published = published_table("cost-throughput")
    table = run_beside(of.run, DEFINITION, published)
    return replace(table, notes=tuple(map(Note, published.remarks)))


def _views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    first, *others = cost_views(trials, settings)
    return first.answering(usual_headline(DEFINITION, trials, cost_table(trials))), *others


DEFINITION: Final = Definition(
    name=NAME,
    question="How much CPU time, memory and time does a client spend on JSON documents that it verifies one by one?",
    metrics=COST_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=cost_table,
    compared_by=(RANKED_BY, "real", "peak_memory_bytes"),
    views=_views,
    trials={
        SubjectKind.CLIENT: client_trials(judge_cost),
        SubjectKind.TOOL: tool_trials(fill_sequence, judge_cost_tool),
    },
    told=_told,
    begin=begin_cost,
    restore=partial(restored, Cost),
    report=lambda run, definition: usual_report(run, definition, cost_charts),
    preset_views=lambda of: (*of.views, _throughput(of), of.beside),
    rules=COST_RULES,
    amount="documents",
    start_ns=_start_ns,
    figures=(LinesSummary, CostPoint, CostSummary),
    found=lambda trial: has_lines(trial) or trial.get(CostSummary) is not None,
)
