"""Runs the trials of load tools that fetch documents one after another."""

from httpdyno.experiments.cost.judge.tool import judge_cost_tool
from httpdyno.judge import JudgedTrial
from httpdyno.lab.lab import Lab
from httpdyno.lab.room import Command
from httpdyno.lab.tool_trial import run_tool_trial
from httpdyno.model import TrialPlan
from httpdyno.subjects.build import Build
from httpdyno.subjects.template import fill_sequence

__all__ = ["run_cost_tool"]


def run_cost_tool(lab: Lab, plan: TrialPlan, build: Build, peer: Command | None) -> JudgedTrial:
    """Run one trial of a tool, which parses nothing: a ``RunTrial``."""
    return run_tool_trial(*(lab, plan, build, peer), fill=fill_sequence, rate_per_s=None, judge=judge_cost_tool)
