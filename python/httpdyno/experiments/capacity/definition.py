"""The capacity question (``capacity``)."""

from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import CAPACITY_RULES, judge_capacity, judge_capacity_tool
from httpdyno.experiments.capacity.options import NAME
from httpdyno.experiments.capacity.plan import Capacity, begin_capacity
from httpdyno.experiments.capacity.present import PRESENTATION
from httpdyno.experiments.capacity.published import end_capacity
from httpdyno.experiments.definition import Definition, Judging, Planning, has_lines
from httpdyno.lab.client_trial import client_trials
from httpdyno.lab.tool_trial import tool_trials
from httpdyno.model import LinesSummary, SubjectKind
from httpdyno.subjects.template import fill_template

DEFINITION: Final = Definition(
    NAME,
    "Up to which size of answers, delay, distance, bandwidth and concurrency does a client hold a rate?",
    PRESENTATION,
    Planning(begin_capacity, Capacity.restore, end_capacity),
    Judging(
        CAPACITY_RULES,
        figures=(LinesSummary, CapacityPoint, CapacitySummary),
        trials={
            SubjectKind.CLIENT: client_trials(judge_capacity),
            SubjectKind.TOOL: tool_trials(fill_template, judge_capacity_tool),
        },
        found=lambda trial: has_lines(trial) or trial.get(CapacitySummary) is not None,
    ),
)
