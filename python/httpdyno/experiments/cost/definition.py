"""The cost experiment (``cost``)."""

from typing import Final

from httpdyno.experiments.cost.judge import CostPoint, CostSummary, judge_cost, judge_cost_tool
from httpdyno.experiments.cost.options import NAME
from httpdyno.experiments.cost.plan import Cost, begin_cost
from httpdyno.experiments.cost.present import PRESENTATION
from httpdyno.experiments.definition import WITHOUT_PACE, Definition, Judging, Planning, has_lines
from httpdyno.lab.client_trial import client_trials
from httpdyno.lab.tool_trial import tool_trials
from httpdyno.model import LinesSummary, SubjectKind, Trial
from httpdyno.subjects.template import fill_sequence


class _CostPlanning(Planning):
    __slots__ = ()
    amount = "documents"

    def start_ns(self, trial: Trial) -> int | None:
        cost = trial.get(CostSummary)
        return cost.start_ns if cost else None


DEFINITION: Final = Definition(
    NAME,
    "How much CPU time, memory and time do JSON documents cost that a client verifies one by one?",
    PRESENTATION,
    _CostPlanning(begin_cost, Cost.restore),
    Judging(
        WITHOUT_PACE,
        figures=(LinesSummary, CostPoint, CostSummary),
        trials={
            SubjectKind.CLIENT: client_trials(judge_cost),
            SubjectKind.TOOL: tool_trials(fill_sequence, judge_cost_tool),
        },
        found=lambda trial: has_lines(trial) or trial.get(CostSummary) is not None,
    ),
)
