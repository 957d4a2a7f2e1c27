"""Runs the trials of a plan in rooms on this machine, each judged as soon as it has ended."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import polars as pl

from httpdyno.judge import (
    Expectations,
    JudgedTrial,
    Reference,
    Remains,
    judge_crawl,
    read_arrivals,
    read_expectations,
    trial_not_run,
)
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.planned_time import PlannedTime, read_planned_time
from httpdyno.lab.room import Command, Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial import Evidence, Observer, run_trial
from httpdyno.model import Condition, Outcome, TrialPlan
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.environment import program_path

__all__ = ["STDERR_KEPT_BYTES", "Executor", "RoomExecutor", "command_of", "unavailable"]

STDERR_KEPT_BYTES: Final = 8192

_Question = tuple[str, int, float]
"""What the engine is asked for a list: the web, its seed, the timeout of a client."""


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
    urls: ScratchFile
    """The list that every subject is given."""
    machine: Machine
    interruption: Interruption
    observer: Observer | None = None
    _expectations: dict[_Question, Expectations] = field(default_factory=dict)
    _planned: dict[_Question, PlannedTime] = field(default_factory=dict)

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
        expectations = self._expected(plan.condition)
        command = command_of(plan, outcome.build)
        with run_trial(
            self.engine.path, plan.condition, self.machine, command, self.urls, self.interruption, self.observer
        ) as evidence:
            return _judge(plan, evidence, expectations, outcome.build.version)

    def planned_time(self, condition: Condition) -> PlannedTime:
        """Say how long the web plans to take for the list.

        Raises
        ------
        Interrupted
            At a signal.
        EngineFailed
            If the engine cannot say it.
        StorageFailed
            If there is no room for its answer.
        """
        self._expected(condition)
        return self._planned[_question(condition)]

    def _expected(self, condition: Condition) -> Expectations:
        """Ask the engine what the web serves, once for all conditions that differ in nothing it knows of."""
        question = _question(condition)
        if question not in self._expectations:
            with ScratchFile() as file:
                # Of millions of URLs that takes a minute, which nobody who wants to stop should have to wait.
                with self.interruption.at_once("the web was being asked what each URL answers"):
                    self.engine.expect(
                        web=condition.web,
                        seed=condition.seed,
                        timeout_s=condition.workload.timeout_s,
                        urls=self.urls.path,
                        into=file.file,
                    )
                self._expectations[question] = read_expectations(file.path)
                self._planned[question] = read_planned_time(file.path, timeout_s=condition.workload.timeout_s)
        return self._expectations[question]


def _question(condition: Condition) -> _Question:
    return condition.web, condition.seed, condition.workload.timeout_s


def unavailable(plan: TrialPlan, outcome: BuildOutcome) -> JudgedTrial:
    """Give the trial of a subject without a build, which says why there is none."""
    reason = outcome.error.line if outcome.error else "it was not built"
    return JudgedTrial(trial_not_run(plan, Outcome.UNAVAILABLE, reason), pl.DataFrame())


def command_of(plan: TrialPlan, build: Build) -> Command:
    """Say how a subject is started for a trial."""
    workload = plan.condition.workload
    return Command(
        argv=build.argv,
        folder=build.folder,
        environment={
            "PATH": program_path(os.environ),
            **workload.environment(plan.concurrency),
            **build.environment,
        },
        trust_files=build.trust_files,
    )


def _judge(plan: TrialPlan, evidence: Evidence, expectations: Expectations, version: str | None) -> JudgedTrial:
    with evidence.stdout.path.open("rb") as output:
        remains = Remains(evidence.report, output, evidence.stderr.read_text(STDERR_KEPT_BYTES))
        return judge_crawl(
            plan, remains, Reference(expectations, read_arrivals(evidence.arrivals.path)), version=version
        )
