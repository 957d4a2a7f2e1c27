"""Runs one trial of a client in a room, and has what it printed judged."""

import os

from httpdyno.judge import (
    Judge,
    JudgedTrial,
    Reference,
    TrialArtifacts,
    clock_bound_ns,
    ending_from_report,
    judge_crawl,
    read_arrivals,
)
from httpdyno.lab.lab import Lab
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.model import TrialPlan
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

__all__ = ["client_command", "run_client_trial"]


def run_client_trial(
    lab: Lab, plan: TrialPlan, build: Build, peer: Command | None, *, judge: Judge = judge_crawl
) -> JudgedTrial:
    """Run one fresh process of a client, and judge what it printed: a ``RunTrial``."""
    condition = plan.condition
    spec = RoomSpec.of(condition, client_command(plan, build), lab.pinning, peer)
    with lab.lines(condition.workload) as lines:
        answers = lab.web.of(condition, lines)
        if lab.observer:
            lab.observer.expected(answers.expectations)
        round_trip_ns = lab.wire.round_trip_ns(condition) if condition.times_wire else None
        # Who times its own calls prints at its end alone.
        answers_lines = not condition.workload.harness
        with lab.room(spec, lines, answers_lines=answers_lines) as left, left.stdout.path.open("rb") as output:
            printed = lab.engine.lines(left.stdout.path, killed=ending_from_report(left.report).killed)
            artifacts = TrialArtifacts(left.report, printed, left.stderr.last_words(), round_trip_ns, output)
            # Only our origin stamps arrivals.
            stamped = peer is None and not condition.live
            arrivals = read_arrivals(left.arrivals.path) if stamped else None
            reference = Reference(answers.expectations, arrivals, clock_bound_ns(left.report), answers.planned.mean_ns)
            return judge(plan, artifacts, reference, version=build.version)


def client_command(plan: TrialPlan, build: Build) -> Command:
    """Return how a client is started for a trial."""
    return Command(
        argv=build.argv,
        folder=build.folder,
        environment={
            "PATH": program_path(os.environ),
            **plan.condition.workload.environment(plan.concurrency),
            **build.environment,
        },
        trust_files=build.trust_files,
    )
