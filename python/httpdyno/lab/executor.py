"""Runs the trials of a plan in rooms on this machine, each judged as soon as it has ended."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from httpdyno.judge import (
    Judge,
    JudgedTrial,
    Reference,
    TrialArtifacts,
    clock_bound_ns,
    judge_crawl,
    read_arrivals,
    trial_not_run,
)
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.peer import peer_command, without_peer
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.lab.room import Command, Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial import Lab, RoomOutput, RunTrial, run_trial
from httpdyno.lab.web_answers import Answers, WebAnswers
from httpdyno.lab.wire import Wire
from httpdyno.model import Condition, Outcome, SubjectKind, TrialPlan, UrlSeries, Workload
from httpdyno.storage import storage_errors
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.environment import program_path

__all__ = ["Executor", "RoomExecutor", "command_of", "unavailable"]


class Executor(Protocol):
    """Whoever can run a trial: the rooms of this machine, or a test double that makes results up."""

    def run(self, plan: TrialPlan) -> JudgedTrial:
        """Run one trial and judge it.

        Raises
        ------
        Interrupted
            If it was stopped half-way: what it measured is lost.
        """


@dataclass(slots=True)
class RoomExecutor:
    """Runs trials in rooms; must be used in the main thread (``run_trial`` says why)."""

    engine: Engine
    builds: Mapping[str, BuildOutcome]
    """What became of the builds, by the id of the subject."""
    urls: ScratchFile | None
    """The list that subjects are given in conditions that have none of their own; None: each has."""
    pinning: Pinning
    interruption: Interruption
    observer: Observer | None = None
    companions: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """What became of the builds of those that take part and are not measured, by their ids: servers that play the peer.
    """
    judge: Judge = judge_crawl
    """How the trials of a client are judged: as its experiment does."""
    run_other: RunTrial | None = None
    """How the trials of tools and servers are run and judged: as their experiment does; None: it has none of them."""
    _web: WebAnswers = field(init=False)
    _wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        """Begin to know nothing of any web."""
        self._web = WebAnswers(self.engine, self.interruption)
        self._wire = Wire(self.engine, self.pinning, self.interruption)

    def run(self, plan: TrialPlan) -> JudgedTrial:
        """Run one trial and judge it; a subject without a build gives a trial that says why.

        Raises
        ------
        Interrupted
            If it was stopped half-way.
        EngineFailed
            If the engine refuses or fails.
        StorageFailed
            If there is no room for the files of the trial.
        """
        outcome = self.builds[plan.subject.id]
        if outcome.build is None:
            return unavailable(plan, outcome)
        peer = None if plan.condition.peer is None else self.companions[plan.condition.peer]
        if peer is not None and peer.build is None:
            return without_peer(plan, peer)
        beside = peer_command(peer.build) if peer and peer.build else None
        if plan.subject.kind is not SubjectKind.CLIENT:
            assert self.run_other is not None, f"{plan.condition.experiment} measures clients only"
            lab = Lab(self.engine, self.pinning, self.interruption, self.observer, self.companions)
            return self.run_other(lab, plan, outcome.build, beside)
        with self._list(plan.condition.workload) as urls:
            answers = self._web.of(plan.condition, urls)
            command = command_of(plan, outcome.build)
            round_trip_ns = self._wire.round_trip_ns(plan.condition) if plan.condition.times_wire else None
            with run_trial(
                *(self.engine.path, plan.condition, self.pinning, command, urls, self.interruption, self.observer),
                peer=beside,
            ) as evidence:
                return self._judged(plan, evidence, answers, outcome.build.version, round_trip_ns)

    def planned_time(self, condition: Condition) -> PlannedTime:
        """Return how long the web plans to take for the list.

        Raises
        ------
        Interrupted
            At a signal.
        EngineFailed
            If the engine cannot say it.
        StorageFailed
            If there is no room for its answer.
        """
        with self._list(condition.workload) as urls:
            return self._web.of(condition, urls).planned

    def _judged(
        self, plan: TrialPlan, evidence: RoomOutput, answers: Answers, version: str | None, round_trip_ns: int | None
    ) -> JudgedTrial:
        with evidence.stdout.path.open("rb") as output:
            artifacts = TrialArtifacts(evidence.report, output, evidence.stderr.last_words(), round_trip_ns)
            # Only our origin stamps arrivals.
            arrivals = None if plan.condition.peer is not None else read_arrivals(evidence.arrivals.path)
            reference = Reference(answers.expectations, arrivals, clock_bound_ns(evidence.report))
            return self.judge(plan, artifacts, reference, version=version)

    @contextmanager
    def _list(self, workload: Workload) -> Iterator[ScratchFile]:
        """Return the file with the URLs of a trial."""
        if not isinstance(workload.urls, UrlSeries):
            assert self.urls is not None, "who has no list for all conditions has one for each"
            yield self.urls
            return
        with ScratchFile() as file:
            with storage_errors("preparing the list of URLs: cannot write"):
                file.file.write(workload.urls.lines().encode())
                file.file.flush()
            yield file


def unavailable(plan: TrialPlan, outcome: BuildOutcome) -> JudgedTrial:
    """Return the trial of a subject without a build, which says why there is none."""
    reason = outcome.error.line if outcome.error else "it was not built"
    return JudgedTrial(trial_not_run(plan, Outcome.UNAVAILABLE, reason), pl.DataFrame())


def command_of(plan: TrialPlan, build: Build) -> Command:
    """Return how a subject is started for a trial."""
    workload = plan.condition.workload
    return Command(
        argv=build.argv,
        folder=build.folder,
        environment={
            "PATH": program_path(os.environ),
            **workload.environment(plan.concurrency),
            **({"HARNESS": plan.condition.harness} if plan.condition.harness else {}),
            **build.environment,
        },
        trust_files=build.trust_files,
    )
