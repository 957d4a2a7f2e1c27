"""Trials of a load tool in a room: as shipped, against one URL of the web."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from httpdyno.judge import Circumstances, JudgedTrial, read_arrivals
from httpdyno.judge.outcome import ToolArtifacts
from httpdyno.judge.validity import Rule
from httpdyno.lab.executor import LocalExecutor, TrialKind
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import Subject, Trial, TrialPlan, UrlSeries
from httpdyno.subjects.build import Build
from httpdyno.subjects.template import Load

Fill = Callable[[Subject, Load], tuple[str, ...]]
"""Fills in a template of a tool's command line: ``fill_template`` or ``fill_sequence``."""


JudgeTool = Callable[[TrialPlan, ToolArtifacts, Sequence[Rule], Circumstances], Trial]
"""Judge of a tool's trial, with the given rules of validity: from its artifacts to its record."""


def tool_trials(fill: Fill, judge: JudgeTool) -> TrialKind:
    """Return the trials of tools; ``fill`` fills in their template."""
    return TrialKind(partial(_execute_tool, fill=fill), partial(_judge_tool, judge=judge))


def _execute_tool(
    executor: LocalExecutor, plan: TrialPlan, build: Build, peer: Command | None, *, fill: Fill
) -> TrialFiles:
    spec = RoomSpec(tool_command(plan, build, fill), plan.condition, executor.pinning, peer)
    with ScratchFile() as nothing:
        return executor.room(spec, nothing)


def _judge_tool(
    plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, rules: Sequence[Rule], *, judge: JudgeTool
) -> JudgedTrial:
    """Judge a tool by its report and by the requests that the origin counted."""
    text, stderr = files.stdout.read_text(), files.stderr.last_words()
    artifacts = ToolArtifacts(files.report, text, stderr, read_arrivals(files.arrivals.path))
    return JudgedTrial(judge(plan, artifacts, rules, circumstances), pl.DataFrame())


def tool_command(plan: TrialPlan, build: Build, fill: Fill) -> Command:
    """Return the command of a tool for a trial: its template, filled in with the values of the condition."""
    condition = plan.condition
    urls = condition.workload.urls
    assert isinstance(urls, UrlSeries), "conditions of tools have a series of URLs"
    load = Load(
        url=f"{urls.prefix}0",
        connections=plan.concurrency,
        duration_s=condition.send_s or condition.deadline_s,
        requests=urls.count,
        rate_per_s=condition.rate_per_s,
        timeout_s=condition.workload.timeout_s,
        keepalive=condition.workload.keepalive,
    )
    return replace(Command.of(build), argv=tuple(map(build.place.filled, fill(build.subject, load))))
