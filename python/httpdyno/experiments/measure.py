"""An experiment from its subjects to its run: builds, trials, records on disk."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import httpdyno
from httpdyno.experiments.experiment import Experiment
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.reservation import reservations
from httpdyno.experiments.run import carry_out
from httpdyno.experiments.schedule import schedule, usual_repeat
from httpdyno.judge import JudgedTrial
from httpdyno.lab.cool_down import CoolDown
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.load import take_snapshot
from httpdyno.lab.room import Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial import Observer
from httpdyno.model import Subject, Table, Trial, TrialPlan
from httpdyno.store import (
    Manifest,
    RunWriter,
    SubjectVersion,
    describe_git,
    describe_machine,
    lockfile_digests,
)
from httpdyno.store.files import storing
from httpdyno.subjects.builder import BuildEvent, BuildOutcome, build_subjects

__all__ = ["Audience", "Measured", "Place", "measure"]


class Audience(Observer, Protocol):
    """Whoever is shown what a run is doing."""

    def build(self, event: BuildEvent) -> None:
        """Take news of a build."""

    def built(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Take what became of all builds."""

    def planned(self, trials: int) -> None:
        """Take the number of trials that the run consists of."""

    def cooling_down(self, reason: str) -> None:
        """Take what is waited for between two trials."""

    def trial_begins(self, plan: TrialPlan) -> None:
        """Take the trial that begins."""

    def trial_ends(self, trial: Trial) -> None:
        """Take what became of a trial."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is made: the engine, the CPUs, the cache of builds, the folder of runs."""

    engine: Engine
    machine: Machine
    cache: Path
    runs: Path | None
    """None: nothing is kept."""
    command: tuple[str, ...]
    """The command line, for the manifest."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of a run."""

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
    experiment: Experiment,
    subjects: Sequence[Subject],
    urls: ScratchFile,
    place: Place,
    audience: Audience,
    stop: Interruption,
) -> Measured:
    """Build the subjects, run the trials, keep each as soon as it has ended.

    Must be called in the main thread.

    Raises
    ------
    Interrupted
        If it was stopped before the first trial began.
    EngineFailed
        If the engine refuses or fails; finished trials are on disk, in a run marked ``partial``.
    StorageFailed
        If the cache or the folder of runs cannot be written.
    """
    _check_writable(place.runs)
    builds = build_subjects(subjects, place.cache, tell=audience.build, stop=lambda: stop.requested)
    audience.built(builds)
    available = sum(outcome.build is not None for outcome in builds.values())
    repeat = experiment.repeat or usual_repeat(available, quick=experiment.quick)
    plans = schedule(subjects, experiment.conditions(), repeat=repeat, seed=experiment.seed)
    executor = RoomExecutor(place.engine, builds, urls, place.machine, stop, audience)
    with ExitStack() as stack:
        writer = stack.enter_context(_Writing(_writer(experiment, builds, place, planned=len(plans), repeat=repeat)))
        audience.planned(len(plans))

        def keep(judged: JudgedTrial) -> None:
            writer.add(judged)
            audience.trial_ends(judged.trial)

        trials, whole = carry_out(
            plans,
            executor,
            begins=audience.trial_begins,
            ends=keep,
            stop=lambda: stop.requested,
            calm=_calm(place.machine, audience, stop),
        )
        writer.whole = whole
    table = definition_of(experiment.name).table(trials)
    notes = reservations(writer.manifest, finished=len(trials)) if writer.manifest else ()
    return Measured(replace(table, notes=(*table.notes, *notes)), tuple(trials), whole, writer.folder)


def _calm(machine: Machine, audience: Audience, stop: Interruption) -> CoolDown:
    cpus = machine.cpus(os.sched_getaffinity(0))
    return CoolDown(lambda: take_snapshot(cpus), stop=lambda: stop.requested, tell=audience.cooling_down)


class _Writing:
    """The run on disk while it is made; closed as partial when an error ends it."""

    def __init__(self, writer: RunWriter | None) -> None:
        self._writer = writer
        self.whole = False

    @property
    def folder(self) -> Path | None:
        return self._writer.folder if self._writer else None

    @property
    def manifest(self) -> Manifest | None:
        return self._writer.manifest if self._writer else None

    def add(self, judged: JudgedTrial) -> None:
        if self._writer:
            self._writer.add(judged.trial, judged.samples if judged.samples.width else None)

    def __enter__(self) -> "_Writing":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            self._writer.close(complete=self.whole, ended_at=datetime.now(UTC))


def _check_writable(folder: Path | None) -> None:
    """Find out before minutes of building that results could not be kept."""
    if folder is not None:
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()


def _writer(
    experiment: Experiment, builds: Mapping[str, BuildOutcome], place: Place, *, planned: int, repeat: int
) -> RunWriter | None:
    if place.runs is None:
        return None
    manifest = Manifest(
        experiment=experiment.name,
        command=place.command,
        version=httpdyno.__version__,
        started_at=datetime.now(UTC),
        machine=describe_machine(),
        trials_planned=planned,
        git=describe_git(Path(httpdyno.__file__).parent),
        webs=tuple(experiment.webs()),
        subjects=tuple(_version(outcome) for outcome in builds.values()),
        settings={
            **experiment.settings(),
            "repeat": repeat,
            "subject_cpus": place.machine.subject_cpus,
            "engine_cpus": place.machine.engine_cpus,
        },
    )
    return RunWriter.create(place.runs, manifest)


def _version(outcome: BuildOutcome) -> SubjectVersion:
    subject = outcome.subject
    return SubjectVersion(
        id=subject.id,
        language=subject.language,
        method=subject.method,
        version=outcome.build.version if outcome.build else None,
        lockfiles=lockfile_digests(subject.folder),
        unavailable=outcome.error.line if outcome.error else None,
    )
