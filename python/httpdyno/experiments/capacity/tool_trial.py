"""Runs the trials of load tools at a point: as fast as they are answered, or at the rate that is asked for."""

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.judge.tool import judge_capacity_tool
from httpdyno.judge import JudgedTrial
from httpdyno.lab.lab import Lab
from httpdyno.lab.room import Command
from httpdyno.lab.tool_trial import run_tool_trial
from httpdyno.model import Loop, TrialPlan
from httpdyno.subjects.build import Build
from httpdyno.subjects.template import fill_template

__all__ = ["run_capacity_tool"]


def run_capacity_tool(lab: Lab, plan: TrialPlan, build: Build, peer: Command | None) -> JudgedTrial:
    """Run one trial of a tool at its point: a ``RunTrial``."""
    point = plan.condition.get(CapacityPoint)
    assert point is not None, "a tool is measured at a point"
    rate_per_s = point.target_per_s if point.loop is Loop.OPEN else None
    return run_tool_trial(
        *(lab, plan, build, peer), fill=fill_template, rate_per_s=rate_per_s, judge=judge_capacity_tool
    )
