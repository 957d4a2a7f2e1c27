"""A run that is being made: its parts, its finished trials, and its writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

import httpdyno
from httpdyno.errors import NotResumable
from httpdyno.experiments.experiment import Experiment
from httpdyno.experiments.plan import Plan
from httpdyno.judge import JudgedTrial
from httpdyno.lab.place import Place
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Outcome, Purpose, Subject, Trial
from httpdyno.store import (
    Manifest,
    Run,
    RunWriter,
    SubjectVersion,
    describe_git,
    describe_machine,
    keep_list,
    lockfile_digests,
    subject_differences,
)
from httpdyno.subjects.build import BuildOutcome, build_place
from httpdyno.urls.source import UrlFile

__all__ = ["PendingRun", "begin_run", "describe_subject"]


class PendingRun:
    """A run that is being made; use it as a context that ends the writing, whatever happens.

    Attributes
    ----------
    experiment : Experiment
        The experiment of the run.
    subjects : tuple of Subject
        The subjects to measure.
    plan : Plan
        All trials, those that are finished included.
    urls : ScratchFile | None
        The list of every subject; None: each condition has a list of its own.
    place : Place
        Engine, CPUs and cache of the run.
    writer : RunWriter | None
        Keeps the run; None: it is not kept.
    trials : list of Trial
        The finished trials; each new trial is added when it ends.
    ceiling : Trial | None
        The trial that measured the web's ceiling; None: not measured yet.
    """

    def __init__(
        self,
        experiment: Experiment,
        plan: Plan,
        subjects: Sequence[Subject],
        urls: ScratchFile | None,
        place: Place,
        writer: RunWriter | None,
        finished: Sequence[Trial] = (),
        *,
        ceiling: Trial | None = None,
        announced: bool = False,
        write_if_stopped: Callable[[], RunWriter] | None = None,
    ) -> None:
        """Use ``begin_run`` or ``resume_run``.

        ``announced`` means that the folder of the run was printed: then it stays in any case.
        ``write_if_stopped`` makes the folder of a run that is not kept, unless it is stopped within a trial.
        """
        self.experiment = experiment
        self.subjects = tuple(subjects)
        self.plan = plan
        self.urls = urls
        self.place = place
        self.writer = writer
        self.trials = list(finished)
        self.ceiling = ceiling
        self._open = writer is not None
        self._announced = announced
        self._write_if_stopped = write_if_stopped
        self._builds: Mapping[str, BuildOutcome] = {}

    @property
    def live(self) -> bool:
        """Whether it sends to the real internet."""
        return any(condition.live for condition in self.experiment.conditions())

    @property
    def kept_if_stopped(self) -> bool:
        """Whether a stopped trial's finished requests are kept."""
        return self._write_if_stopped is not None

    @property
    def folder(self) -> Path | None:
        """The folder of the run; None when it is not kept."""
        return self.writer.folder if self.writer else None

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of the run; None when it is not kept."""
        return self.writer.manifest if self.writer else None

    @property
    def settled(self) -> bool:
        """Whether the run's trials are known and recorded."""
        return self.manifest is None or all(subject.fingerprint for subject in self.manifest.subjects)

    def settle(self, builds: Mapping[str, BuildOutcome]) -> None:
        """Write the measured subjects into the manifest, once their builds have ended.

        Raises ``NotResumable`` if a subject has changed, or a finished trial is not in the plan.
        """
        self._builds = builds
        if self.writer is None:
            return
        cache = self.place.cache
        versions = tuple(describe_subject(outcome.subject, cache, outcome) for outcome in builds.values())
        self._check_unchanged(self.writer, versions)
        self.writer.describe(replace(self.writer.manifest, subjects=versions))

    def keep(self, judged: JudgedTrial) -> None:
        """Keep a finished trial, which was or will be added to ``trials``, or is the ceiling.

        If it cannot be written, the trials before it are kept all the same.
        """
        if judged.trial.purpose is Purpose.CEILING:
            self.ceiling = judged.trial
        stopped = judged.trial.outcome is Outcome.INTERRUPTED and judged.trial.summary
        if self._write_if_stopped and stopped and stopped.urls:
            self.writer, self._open = self._write_if_stopped(), True
            self.settle(self._builds)
        if self.writer:
            self.writer.add(judged.trial, judged.samples if judged.samples.width else None)

    def keep_unsampled(self, trial: Trial) -> None:
        """Keep a trial that was made outside of the plan, without samples; give it the next number."""
        number = len(self.trials)
        own = replace(trial, trial=number, block=number, experiment=self.experiment.name)
        self.keep(JudgedTrial(own, pl.DataFrame()))
        self.trials.append(own)

    def made(self) -> Run | None:
        """Return the run with its finished trials; None when it is not kept."""
        if self.writer is None:
            return None
        trials = sorted(self.trials, key=lambda trial: trial.trial)
        return Run.of(self.writer.folder, self.writer.manifest, [*trials, *([self.ceiling] if self.ceiling else ())])

    def close(self, *, whole: bool) -> None:
        """End the writing; a run that is not ``whole``, with all trials that were planned, can be resumed.

        If it cannot be written, it stays ``partial``, with all of its trials.
        """
        if self.writer and self._open:
            self._open = False
            # A search may end before it has used up its trials, and repeats come on top of a list.
            coming = 0 if whole else len(self.plan.left(self.trials))
            self.writer.manifest = replace(self.writer.manifest, trials_planned=len(self.trials) + coming)
            self.writer.close(complete=whole, ended_at=datetime.now(UTC))

    def hand_over(self, process: int) -> None:
        """Leave the run to a process that was started with its lock."""
        if self.writer:
            self._open = False
            self.writer.lock.name_holder(process)
            self.writer.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer and self._open and not self.settled and not self._announced:
            # Only its options would be lost, and the command line has them.
            self._open = False
            self.writer.discard()
        self.close(whole=False)

    def _check_unchanged(self, writer: RunWriter, versions: Sequence[SubjectVersion]) -> None:
        then = {subject.id: subject for subject in writer.manifest.subjects}
        for now in versions:
            if self.settled and (change := next(subject_differences(then[now.id], now), None)):
                raise NotResumable(f"{writer.folder}: {now.id}: {change.changed}; begin a new run")
        if trial := self.plan.unplanned(self.trials):
            number = trial.trial + 1
            raise NotResumable(
                f"{writer.folder}: trial {number} does not match the plan of its settings; begin a new run"
            )


def begin_run(
    experiment: Experiment,
    subjects: Sequence[Subject],
    urls: UrlFile | None,
    place: Place,
    *,
    runs_if_stopped: Path | None = None,
) -> PendingRun:
    """Begin a run: make its folder, with all that resuming needs.

    ``urls`` is the list of every subject; None: each condition has a list of its own. An unwritable folder of runs is
    an error here, before minutes of building. A run that is not kept gets a folder in ``runs_if_stopped`` if it is
    stopped within a trial.
    """
    plan, started_at = experiment.plan(subjects), datetime.now(UTC)

    def write(runs: Path) -> RunWriter:
        return _begin_writing(experiment, plan, subjects, urls, place, runs, started_at)

    return PendingRun(
        experiment,
        plan,
        subjects,
        urls.file if urls else None,
        place,
        write(place.runs) if place.runs else None,
        write_if_stopped=partial(write, runs_if_stopped) if runs_if_stopped else None,
    )


def _begin_writing(
    experiment: Experiment,
    plan: Plan,
    subjects: Sequence[Subject],
    urls: UrlFile | None,
    place: Place,
    runs: Path,
    started_at: datetime,
) -> RunWriter:
    manifest = Manifest(
        experiment=experiment.name,
        command=place.command,
        version=httpdyno.__version__,
        started_at=started_at,
        machine=describe_machine(),
        trials_planned=plan.most,
        git=describe_git(Path(httpdyno.__file__).parent),
        webs=tuple(experiment.webs()),
        subjects=tuple(describe_subject(subject) for subject in subjects),
        settings={
            **experiment.settings(),
            **plan.settings,
            "subject_cpus": place.pinning.subject_cpus,
            "engine_cpus": place.pinning.engine_cpus,
            "artifacts": place.artifacts,
        },
        engine=place.engine.identity(),
        urls=urls.identity() if urls else None,
    )
    writer = RunWriter.create(runs, manifest)
    if urls and urls.kept:
        try:
            keep_list(writer.folder, urls.file.path)
        except BaseException:
            writer.discard()
            raise
    return writer


def describe_subject(
    subject: Subject, cache: Path | None = None, outcome: BuildOutcome | None = None
) -> SubjectVersion:
    """Return the version of a subject, as far as known.

    With ``cache``, the user's cache folder, the subject's files and its toolchain are hashed.
    """
    return SubjectVersion(
        id=subject.id,
        language=subject.language,
        method=subject.method,
        version=outcome.build.version if outcome and outcome.build else None,
        lockfiles=lockfile_digests(subject.folder),
        unavailable=outcome.error.line if outcome and outcome.error else None,
        concurrency=subject.concurrency,
        folder=str(subject.folder.resolve()),
        http=subject.capabilities.http,
        fingerprint=build_place(subject, cache).fingerprint if cache else None,
    )
