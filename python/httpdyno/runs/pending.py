"""A run that is being made: its parts, its finished trials, and its writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Self

import polars as pl

import httpdyno
from httpdyno.errors import NotResumable
from httpdyno.experiments.experiment import Experiment
from httpdyno.experiments.plan import Plan
from httpdyno.judge import JudgedTrial
from httpdyno.lab.place import Place
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


@dataclass(slots=True)
class PendingRun:
    """A run that is being made, by ``begin_run`` or ``resume_run``; a context manager that always ends the writing."""

    experiment: Experiment
    plan: Plan
    """All trials, finished ones included."""
    subjects: Sequence[Subject]
    urls: UrlFile | None
    """List of every subject; None: each condition has a list of its own."""
    place: Place
    writer: RunWriter | None
    """None: the run is not kept."""
    trials: list[Trial] = field(default_factory=list)
    """Finished trials."""
    ceiling: Trial | None = None
    """Trial that measured the web's ceiling; None: not measured yet."""
    announced: bool = False
    """Whether the folder of the run was printed; then it is never removed."""
    write_if_stopped: Callable[[], RunWriter] | None = None
    """Makes the folder of a run that is not kept, if it is stopped within a trial."""
    _builds: Mapping[str, BuildOutcome] = field(default_factory=dict, init=False)

    @property
    def live(self) -> bool:
        """Whether it sends to the real internet."""
        return any(condition.live for condition in self.experiment.conditions())

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
        """Write the measured subjects into the manifest, after their builds have ended.

        Raises ``NotResumable`` if a subject has changed, or a finished trial is not in the plan.
        """
        self._builds = builds
        if self.writer is None:
            return
        cache, folder = self.place.cache, self.writer.folder
        versions = tuple(describe_subject(outcome.subject, cache, outcome) for outcome in builds.values())
        then = {subject.id: subject for subject in self.writer.manifest.subjects}
        for now in versions:
            if self.settled and (change := next(subject_differences(then[now.id], now), None)):
                raise NotResumable(f"{folder}: {now.id}: {change.changed}; begin a new run")
        if trial := self.plan.unplanned(self.trials):
            raise NotResumable(
                f"{folder}: trial {trial.trial + 1} does not match the plan of its settings; begin a new run"
            )
        self.writer.describe(replace(self.writer.manifest, subjects=versions))

    def keep(self, judged: JudgedTrial) -> None:
        """Keep a finished trial, which was or will be added to ``trials``, or is the ceiling.

        If it cannot be written, the earlier trials are kept.
        """
        if judged.trial.purpose is Purpose.CEILING:
            self.ceiling = judged.trial
        stopped = judged.trial.outcome is Outcome.INTERRUPTED and judged.trial.summary
        if self.write_if_stopped and stopped and stopped.urls:
            self.writer = self.write_if_stopped()
            self.settle(self._builds)
        if self.writer:
            self.writer.add(judged.trial, judged.samples if judged.samples.width else None)

    def keep_unsampled(self, trial: Trial) -> None:
        """Keep a trial that was made outside of the plan, without samples; give it the next number."""
        number = len(self.trials)
        own = replace(trial, trial=number, block=number, experiment=self.experiment.name)
        self.keep(JudgedTrial(own, pl.DataFrame()))
        self.trials.append(own)

    def close(self, *, whole: bool) -> Run | None:
        """End the writing; return the run with its finished trials, from memory, or None if it is not kept.

        A run that is not ``whole``, with all trials that were planned, can be resumed.

        If it cannot be written, it stays ``partial``, with all of its trials.
        """
        if self.writer is None or not self.writer.lock.held:
            return None
        # A search may end before it has used all its trials, and added repeats exceed the plan.
        coming = 0 if whole else len(self.plan.left(self.trials))
        self.writer.manifest = replace(self.writer.manifest, trials_planned=len(self.trials) + coming)
        self.writer.close(complete=whole, ended_at=datetime.now(UTC))
        trials = sorted(self.trials, key=lambda trial: trial.trial)
        return Run.of(self.writer.folder, self.writer.manifest, [*trials, *([self.ceiling] if self.ceiling else ())])

    def hand_over(self, process: int) -> None:
        """Leave the run to a process that was started with its lock."""
        if self.writer:
            self.writer.lock.name_holder(process)
            self.writer.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.writer and self.writer.lock.held and not self.settled and not self.announced:
            # Only the run's options are lost, and the command line still has them.
            self.writer.discard()
        self.close(whole=False)


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

    return PendingRun(
        experiment,
        plan,
        subjects,
        urls,
        place,
        write(place.runs) if place.runs else None,
        write_if_stopped=partial(write, runs_if_stopped) if runs_if_stopped else None,
    )


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
