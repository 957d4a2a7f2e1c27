"""Runs one trial of a load tool in a room: as shipped, against one URL of the web."""

import os
from collections.abc import Callable
from typing import Protocol

import polars as pl

from httpdyno.judge import JudgedTrial, read_arrivals
from httpdyno.judge.outcome import ToolArtifacts
from httpdyno.lab.lab import Lab
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Subject, Trial, TrialPlan, UrlSeries
from httpdyno.subjects.build import Build, filled
from httpdyno.subjects.cache import program_path
from httpdyno.subjects.template import Load

__all__ = ["Fill", "JudgeTool", "run_tool_trial", "tool_command"]

Fill = Callable[[Subject, Load], tuple[str, ...]]
"""Fills one of the templates of a tool's command line in: ``fill_template``, ``fill_sequence``."""


class JudgeTool(Protocol):
    """Makes the record of a tool's trial from what it left."""

    def __call__(self, plan: TrialPlan, artifacts: ToolArtifacts, *, version: str | None) -> Trial:
        """Judge one trial of a tool."""


def run_tool_trial(
    lab: Lab,
    plan: TrialPlan,
    build: Build,
    peer: Command | None,
    *,
    fill: Fill,
    judge: JudgeTool,
) -> JudgedTrial:
    """Run one fresh process of a tool, and judge it by its report and by what the origin counted.

    ``fill`` fills in the template that is asked for.
    """
    command = tool_command(plan, build, fill)
    spec = RoomSpec.of(plan.condition, command, lab.pinning, peer)
    with ScratchFile() as nothing, lab.room(spec, nothing) as left:
        text, stderr = left.stdout.read_text(), left.stderr.last_words()
        artifacts = ToolArtifacts(left.report, text, stderr, read_arrivals(left.arrivals.path))
        return JudgedTrial(judge(plan, artifacts, version=build.version), pl.DataFrame())


def tool_command(plan: TrialPlan, build: Build, fill: Fill) -> Command:
    """Return how a tool is started for a trial: its template, filled in with the point."""
    condition = plan.condition
    urls = condition.workload.urls
    assert isinstance(urls, UrlSeries), "where tools take part there is a series of URLs"
    load = Load(
        url=f"{urls.prefix}0",
        connections=plan.concurrency,
        duration_s=condition.send_s or condition.deadline_s,
        requests=urls.count,
        rate_per_s=condition.rate_per_s,
        timeout_s=condition.workload.timeout_s,
        keepalive=condition.workload.keepalive,
    )
    return Command(
        argv=tuple(filled(part, folder=build.folder, target=build.place.target) for part in fill(build.subject, load)),
        folder=build.folder,
        environment={"PATH": program_path(os.environ), **build.environment},
        trust_files=build.trust_files,
    )
