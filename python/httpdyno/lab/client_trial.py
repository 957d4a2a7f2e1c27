"""Runs one trial of a client: in a room, or on this machine itself when it asks the real internet."""

import os
from dataclasses import replace

from httpdyno.judge import (
    Judge,
    JudgedTrial,
    Reference,
    TrialArtifacts,
    clock_bound_ns,
    judge_crawl,
    read_arrivals,
    with_validity,
)
from httpdyno.lab.lab import Lab
from httpdyno.lab.live_trial import LiveOutput, run_live_trial
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.model import Outcome, Trial, TrialPlan
from httpdyno.subjects.build import Build
from httpdyno.subjects.environment import program_path

__all__ = ["client_command", "run_client_trial"]


def run_client_trial(
    lab: Lab, plan: TrialPlan, build: Build, peer: Command | None, *, judge: Judge = judge_crawl
) -> JudgedTrial:
    """Run one fresh process of a client, and judge what it printed: a ``RunTrial``.

    Parameters
    ----------
    lab, plan, build, peer
        As for ``RunTrial``.
    judge : callable
        Makes the record, as the experiment does.
    """
    condition = plan.condition
    if condition.live:
        return _run_live(lab, plan, build, judge)
    spec = RoomSpec.of(condition, client_command(plan, build), lab.pinning, peer)
    with lab.lines(condition.workload) as lines:
        answers = lab.web.of(condition, lines)
        round_trip_ns = lab.wire.round_trip_ns(condition) if condition.times_wire else None
        with lab.room(spec, lines) as left, left.stdout.path.open("rb") as output:
            artifacts = TrialArtifacts(left.report, output, left.stderr.last_words(), round_trip_ns)
            # Only our origin stamps arrivals.
            arrivals = None if peer is not None else read_arrivals(left.arrivals.path)
            reference = Reference(answers.expectations, arrivals, clock_bound_ns(left.report))
            return judge(plan, artifacts, reference, version=build.version)


def client_command(plan: TrialPlan, build: Build) -> Command:
    """Return how a client is started for a trial."""
    return Command(
        argv=build.argv,
        folder=build.folder,
        environment={
            "PATH": program_path(os.environ),
            **plan.condition.workload.environment(plan.concurrency),
            **({"HARNESS": plan.condition.harness} if plan.condition.harness else {}),
            **build.environment,
        },
        trust_files=build.trust_files,
    )


def _run_live(lab: Lab, plan: TrialPlan, build: Build, judge: Judge) -> JudgedTrial:
    with (
        lab.lines(plan.condition.workload) as lines,
        run_live_trial(
            *(plan.condition, lab.pinning, client_command(plan, build), lines, lab.interruption, lab.observer)
        ) as left,
        left.stdout.path.open("rb") as output,
    ):
        artifacts = TrialArtifacts(left.report, output, left.stderr.last_words())
        answers = lab.web.of(plan.condition, lines)
        judged = judge(plan, artifacts, Reference(answers.expectations), version=build.version)
        return replace(judged, trial=_with_limit(judged.trial, left))


def _with_limit(trial: Trial, left: LiveOutput) -> Trial:
    """Judge anew what the limit per host has to do with the end of a trial."""
    if left.withheld and trial.outcome in {Outcome.OK, Outcome.MISSING}:
        # It was not asked for what it lacks.
        return with_validity(replace(trial, outcome=Outcome.MISSING, reason=left.withheld))
    if trial.outcome is Outcome.HUNG and not left.owed and left.report["outcome"] == "deadline":
        # It was silent because it had nothing to do: hosts had to be spared.
        return with_validity(replace(trial, outcome=Outcome.OK, reason=None))
    return trial
