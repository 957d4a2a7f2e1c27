"""An experiment from its subjects to its run: builds, trials, records on disk."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from httpdyno.experiments.earlier import earlier_durations
from httpdyno.experiments.estimate import OVERHEAD_S, Forecast, Key, guess_s
from httpdyno.experiments.pending import PendingRun
from httpdyno.experiments.place import Place
from httpdyno.experiments.plan import following
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.reservation import reserved_table
from httpdyno.experiments.run import carry_out
from httpdyno.judge import JudgedTrial
from httpdyno.lab.cool_down import CoolDown
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_executor import LiveExecutor
from httpdyno.lab.load import take_snapshot
from httpdyno.lab.proof import prove_all
from httpdyno.lab.room import Machine
from httpdyno.lab.trial import Observer
from httpdyno.model import Subject, Table, Trial, TrialPlan
from httpdyno.subjects.builder import BuildEvent, BuildOutcome, build_subjects

__all__ = ["Audience", "Measured", "measure"]


class Audience(Observer, Protocol):
    """Whoever is shown what a run is doing."""

    def build(self, event: BuildEvent) -> None:
        """Take news of a build."""

    def built(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Take what became of all builds."""

    def probing(self, subject: Subject) -> None:
        """Take a subject whose claims are put to the test, before it is measured for the first time."""

    def planned(self, trials: int, *, finished: int, left_s: float | None, at_most: bool = False) -> None:
        """Take of how many trials the run consists, how many are there, and how long the others will take.

        ``at_most`` means that a search may need fewer.
        """

    def cooling_down(self, reason: str) -> None:
        """Take what is waited for between two trials."""

    def trial_begins(self, plan: TrialPlan) -> None:
        """Take the trial that begins."""

    def trial_ends(self, trial: Trial, *, left_s: float | None) -> None:
        """Take what became of a trial, and how long the others will take; None when nobody can tell."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of a run."""

    experiment: str
    """Its name, which is its verb."""
    table: Table
    trials: tuple[Trial, ...]
    whole: bool
    """Whether every planned trial was run."""
    folder: Path | None
    """Where the run lies; None when it was not kept."""

    @property
    def anything(self) -> bool:
        """Whether there is at least one trial with a line that can be read."""
        return any(trial.summary is not None and trial.summary.urls > 0 for trial in self.trials)


def measure(
    run: PendingRun,
    place: Place,
    audience: Audience,
    stop: Interruption,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Build the subjects, prove their claims, run the trials that are not there yet, keep each as soon as it has ended.

    Must be called in the main thread. The run is closed at the end; when an error ends it, by its own context.

    Parameters
    ----------
    run : PendingRun
        What is measured.
    place : Place
        Where.
    audience : Audience
        Is told what happens.
    stop : Interruption
        Looked at between all steps.
    clock : callable
        Gives seconds, for the estimate of the time that is left.

    Raises
    ------
    Interrupted
        If it was stopped before the first trial began.
    NotResumable
        If it goes on with a run of other subjects than there are now.
    EngineFailed
        If the engine refuses or fails; finished trials are on disk, in a run marked ``partial``.
    StorageFailed
        If the cache or the folder of runs cannot be written.
    """
    built = build_subjects(run.subjects, place.cache, tell=audience.build, stop=lambda: stop.requested)
    builds = prove_all(built, place.engine, place.machine, stop, tell=audience.probing)
    audience.built(builds)
    plan = run.settle(builds, place.cache)
    seen = list(run.finished)
    pending = plan.left(seen)
    executor = _executor(run, place, builds, audience, stop)
    forecast = Forecast(pending, _earlier(run), lambda one: _guess(one, executor, builds, search=plan.open), clock)
    audience.planned(plan.most, finished=len(seen), left_s=forecast.left_s(), at_most=plan.open)

    def keep(judged: JudgedTrial) -> None:
        run.keep(judged)
        seen.append(judged.trial)
        forecast.ended()
        audience.trial_ends(judged.trial, left_s=forecast.left_s())

    new, whole = carry_out(
        following(plan, seen),
        executor,
        begins=audience.trial_begins,
        ends=keep,
        stop=lambda: stop.requested,
        calm=_calm(place.machine, audience, stop) if len(pending) > 1 else None,
    )
    run.close(whole=whole)
    return _measured(run, new, whole=whole)


def _measured(run: PendingRun, new: Sequence[Trial], *, whole: bool) -> Measured:
    trials = tuple(sorted((*run.finished, *new), key=lambda trial: trial.trial))
    name = run.experiment.name
    table = reserved_table(run.manifest, trials) if run.manifest else definition_of(name).table(trials)
    return Measured(name, table, trials, whole, run.folder)


def _earlier(run: PendingRun) -> dict[Key, float]:
    return earlier_durations(run.folder.parent, run.manifest) if run.folder and run.manifest else {}


def _executor(
    run: PendingRun, place: Place, builds: Mapping[str, BuildOutcome], audience: Audience, stop: Interruption
) -> RoomExecutor | LiveExecutor:
    """Choose who runs the trials: the conditions of an experiment are all of the real internet, or none is."""
    if run.live:
        return LiveExecutor(builds, run.urls, place.machine, stop, audience)
    return RoomExecutor(place.engine, builds, run.urls, place.machine, stop, audience)


def _guess(
    plan: TrialPlan, executor: RoomExecutor | LiveExecutor, builds: Mapping[str, BuildOutcome], *, search: bool
) -> float | None:
    if builds[plan.subject.id].build is None:
        return 0.0
    if search:
        # Its list is longer than any of its trials.
        return plan.condition.deadline_s + OVERHEAD_S
    if isinstance(executor, LiveExecutor):
        return None
    planned = executor.planned_time(plan.condition)
    return guess_s(planned, plan.concurrency, deadline_s=plan.condition.deadline_s)


def _calm(machine: Machine, audience: Audience, stop: Interruption) -> CoolDown:
    cpus = machine.cpus(os.sched_getaffinity(0))
    return CoolDown(lambda: take_snapshot(cpus), stop=lambda: stop.requested, tell=audience.cooling_down)
