"""How the results of the capacity question are judged and shown."""

from typing import Final

from httpdyno.experiments.capacity.beginning import begin_capacity
from httpdyno.experiments.capacity.capacity import restore_capacity
from httpdyno.experiments.capacity.ending import end_capacity
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.tool import judge_capacity_tool
from httpdyno.experiments.capacity.judge.trial import judge_capacity
from httpdyno.experiments.capacity.metrics import CAPACITY_METRICS
from httpdyno.experiments.capacity.options import NAME
from httpdyno.experiments.capacity.point_table import point_table
from httpdyno.experiments.capacity.published_form import grid_beside, grid_rows, grid_views
from httpdyno.experiments.capacity.report import capacity_report
from httpdyno.experiments.capacity.rules import CAPACITY_RULES
from httpdyno.experiments.capacity.views import capacity_views
from httpdyno.experiments.definition import Definition, has_lines
from httpdyno.lab.client_trial import client_trials
from httpdyno.lab.tool_trial import tool_trials
from httpdyno.model import Column, LinesSummary, SubjectKind, Trial, format_time
from httpdyno.subjects.template import fill_template

__all__ = ["DEFINITION"]


def _told(trial: Trial) -> str | None:
    """Return whether a point was held; where that was not asked for, what came."""
    summary = trial.get(CapacitySummary)
    if summary is None:
        return None
    per_s = "" if summary.per_s is None else f"{summary.per_s:,.0f} a second"
    p99 = "" if summary.response_p99_ns is None else f"p99 {format_time(summary.response_p99_ns)}"
    figures = ", ".join(filter(None, (per_s, p99)))
    if summary.held is None:
        return figures or "nothing was answered"
    return f"held: {figures}" if summary.held else f"not held: {summary.why_not}"


DEFINITION: Final = Definition(
    name=NAME,
    question="Up to which size of answers, delay, distance, bandwidth and concurrency does a client hold a rate?",
    metrics=CAPACITY_METRICS,
    ranked_by="right_per_s",
    identity=(
        Column("subject", description="name of the subject's folder"),
        Column("condition", description="the point: size, delay, link, requests in flight"),
    ),
    tabulate=point_table,
    views=capacity_views,
    trials={
        SubjectKind.CLIENT: client_trials(judge_capacity),
        SubjectKind.TOOL: tool_trials(fill_template, judge_capacity_tool),
    },
    told=_told,
    begin=begin_capacity,
    end=end_capacity,
    restore=restore_capacity,
    report=capacity_report,
    beside=grid_beside,
    preset_views=grid_views,
    preset_rows=grid_rows,
    rules=CAPACITY_RULES,
    figures=(LinesSummary, CapacityPoint, CapacitySummary),
    found=lambda trial: has_lines(trial) or trial.get(CapacitySummary) is not None,
)
