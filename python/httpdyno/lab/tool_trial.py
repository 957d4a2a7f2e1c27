"""Runs one trial of a load tool in a room: as shipped, against one URL of the web."""

import os

import polars as pl

from httpdyno.judge import JudgedTrial, read_arrivals
from httpdyno.judge.capacity.conclusion import concluded
from httpdyno.judge.capacity.tool import ToolRemains, measured_tool, tool_figures
from httpdyno.judge.cost.tool import CostToolRemains, judge_cost_tool
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.room import Command, Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial import Evidence, run_trial
from httpdyno.model import Loop, Trial, TrialPlan, UrlSeries
from httpdyno.subjects.build import Build, filled
from httpdyno.subjects.environment import program_path
from httpdyno.subjects.template import Load, fill_sequence, fill_template

__all__ = ["run_tool_trial", "tool_command"]


def run_tool_trial(
    engine: Engine,
    plan: TrialPlan,
    build: Build,
    pinning: Pinning,
    interruption: Interruption,
    observer: Observer | None = None,
    *,
    peer: Command | None = None,
) -> JudgedTrial:
    """Run one fresh process of a tool, and judge it by its report and by what the origin counted.

    Parameters
    ----------
    engine : Engine
        Makes the room.
    plan : TrialPlan
        Of a point of the capacity question, or of the cost question.
    build : Build
        Of the tool.
    pinning, interruption, observer, peer
        As for ``run_trial``.

    Raises
    ------
    InvalidValue
        If the tool cannot do what is asked.
    Interrupted
        If it was stopped half-way.
    EngineFailed
        If the engine refuses or fails.
    StorageFailed
        If there is no room for the files of the trial.
    """
    command = tool_command(plan, build)
    with (
        ScratchFile() as nothing,
        run_trial(
            *(engine.path, plan.condition, pinning, command, nothing, interruption, observer), peer=peer
        ) as evidence,
    ):
        return JudgedTrial(_judged(plan, evidence, build.version), pl.DataFrame())


def _judged(plan: TrialPlan, evidence: Evidence, version: str | None) -> Trial:
    text, stderr = evidence.stdout.read_text(), evidence.stderr.last_words()
    arrivals = read_arrivals(evidence.arrivals.path)
    if plan.condition.cost_point is not None:
        return judge_cost_tool(plan, CostToolRemains(evidence.report, text, stderr, arrivals), version=version)
    point = plan.condition.capacity_point
    assert point is not None, "a tool is measured at a point of the capacity question, or for what documents cost"
    remains = ToolRemains(evidence.report, text, stderr, arrivals)
    trial, claimed = measured_tool(plan, point, remains, version=version)
    return trial if claimed is None else concluded(trial, plan, tool_figures(claimed))


def tool_command(plan: TrialPlan, build: Build) -> Command:
    """Say how a tool is started for a trial: its template, filled in with the point.

    Raises
    ------
    InvalidValue
        If it cannot run the loop of the point, or send requests one after another.
    """
    condition = plan.condition
    urls, point = condition.workload.urls, condition.capacity_point
    assert isinstance(urls, UrlSeries), "where tools take part there is a series of URLs"
    opened = point is not None and point.loop is Loop.OPEN
    load = Load(
        url=f"{urls.prefix}0",
        connections=plan.concurrency,
        duration_s=condition.send_s or condition.deadline_s,
        requests=urls.count,
        rate_per_s=point.target_per_s if point and opened else None,
        timeout_s=condition.workload.timeout_s,
        keepalive=condition.workload.keepalive,
    )
    command = (fill_template if condition.cost_point is None else fill_sequence)(build.subject, load)
    return Command(
        argv=tuple(filled(part, folder=build.folder, target=build.place.target) for part in command),
        folder=build.folder,
        environment={"PATH": program_path(os.environ), **build.environment},
        trust_files=build.trust_files,
    )
