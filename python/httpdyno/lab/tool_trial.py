"""Trials of a load tool in a room: as shipped, against one URL of the web."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import polars as pl

from httpdyno.judge import Circumstances, JudgedTrial, read_arrivals
from httpdyno.judge.outcome import ToolArtifacts
from httpdyno.judge.validity import Rule
from httpdyno.lab.executor import LocalExecutor, TrialKind
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import Subject, Trial, TrialPlan, UrlSeries
from httpdyno.subjects.build import Build, filled
from httpdyno.subjects.cache import program_path
from httpdyno.subjects.template import Load

__all__ = ["Fill", "JudgeTool", "tool_command", "tool_trials"]

Fill = Callable[[Subject, Load], tuple[str, ...]]
"""Fills one of the templates of a tool's command line in: ``fill_template``, ``fill_sequence``."""


class JudgeTool(Protocol):
    """Makes the record of a tool's trial from what it left."""

    def __call__(
        self, plan: TrialPlan, artifacts: ToolArtifacts, circumstances: Circumstances, *, rules: Sequence[Rule]
    ) -> Trial:
        """Judge one trial of a tool."""


def tool_trials(fill: Fill, judge: JudgeTool) -> TrialKind:
    """Return how tools are measured; ``fill`` fills in the template that is asked for."""
    return TrialKind(partial(_execute_tool, fill=fill), partial(_judge_tool, judge=judge))


def _execute_tool(
    executor: LocalExecutor, plan: TrialPlan, build: Build, peer: Command | None, *, fill: Fill
) -> TrialFiles:
    spec = RoomSpec.of(plan.condition, tool_command(plan, build, fill), executor.pinning, peer)
    with ScratchFile() as nothing:
        files = executor.room(spec, nothing)
    files.version = build.version
    return files


def _judge_tool(
    plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, *, rules: Sequence[Rule], judge: JudgeTool
) -> JudgedTrial:
    """Judge a tool by its report and by what the origin counted."""
    text, stderr = files.stdout.read_text(), files.stderr.last_words()
    artifacts = ToolArtifacts(files.report, text, stderr, read_arrivals(files.arrivals.path))
    return JudgedTrial(judge(plan, artifacts, circumstances, rules=rules), pl.DataFrame())


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
