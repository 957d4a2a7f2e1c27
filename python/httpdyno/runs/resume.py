"""Resume a stopped run: with the same plan, machine and programs."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpdyno
from httpdyno.errors import NotResumable
from httpdyno.experiments.registry import definition_of, restore_experiment
from httpdyno.lab.engine import Engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import LIVE, Outcome, Subject, SubjectKind
from httpdyno.runs.pending import PendingRun, describe_subject
from httpdyno.store import (
    Manifest,
    RunWriter,
    SubjectVersion,
    describe_machine,
    differences,
    open_run,
    subject_differences,
    web_differences,
)
from httpdyno.subjects.catalogue import read_subject
from httpdyno.urls.source import urls_of_run


def resume_run(folder: Path, place: Place, *, inherited: int | None = None) -> PendingRun:
    """Reopen a ``partial`` run, and restore its settings; the caller closes its list of URLs.

    The CPUs and the folder of runs are those of the run, not of ``place``; ``inherited`` is a descriptor of its
    lock with which this process may have been started. Raises ``NotResumable`` if it is complete or still running, or
    something has changed: new trials would not be comparable with the finished ones.
    """
    writer = RunWriter.reopen(folder, inherited)
    manifest, settings = writer.manifest, writer.manifest.settings
    with ExitStack() as failed:
        failed.callback(writer.lock.release)
        _check_surroundings(writer.folder, manifest, place.engine)
        subjects = _subjects(writer.folder, manifest.subjects, place.cache)
        there = open_run(writer.folder)
        urls = None
        if manifest.urls is not None:
            urls = failed.enter_context(urls_of_run(writer.folder, place.engine, manifest.webs[0], manifest.urls))
        path = urls.file.path if urls else None
        experiment = restore_experiment(manifest.experiment, settings, manifest.webs, path)
        pinning = Pinning(_text(settings.get("subject_cpus")), _text(settings.get("engine_cpus")))
        kept = _text(settings.get("artifacts")) or "none"
        place = replace(place, pinning=pinning, runs=writer.folder.parent, command=manifest.command, artifacts=kept)
        # A trial that was stopped in the middle is run again.
        finished = [trial for trial in there.records() if trial.outcome is not Outcome.INTERRUPTED]
        plan, ceiling = experiment.plan(subjects), there.ceiling()
        run = PendingRun(experiment, plan, subjects, urls, place, writer, finished, ceiling=ceiling, announced=True)
        if run.settled and not writer.lock.inherited:
            # If the lock was inherited, the process that handed the run over has begun or reopened it.
            resumed_at = (*manifest.resumed_at, datetime.now(UTC))
            writer.describe(replace(manifest, resumed_at=resumed_at, ended_at=None))
        failed.pop_all()
    return run


def _check_surroundings(folder: Path, manifest: Manifest, engine: Engine) -> None:
    judging = definition_of(manifest.experiment).judging
    # Clients and tools send requests to a web or a peer, servers do not.
    if not (manifest.webs or SubjectKind.SERVER in judging.trials) or manifest.engine is None:
        raise NotResumable(f"{folder} was made by a version of httpdyno that could not resume runs; begin a new run")
    now = replace(manifest, version=httpdyno.__version__, engine=engine.identity(), machine=describe_machine())
    change = next(differences(manifest, now), None)
    if change is None:
        # The webs are checked last, because another engine may not have them.
        webs = [
            web if web.name == LIVE else replace(web, digest=engine.web(web.name, seed=web.seed).digest)
            for web in manifest.webs
        ]
        change = next(web_differences(manifest.webs, webs), None)
    if change:
        of_machine = "the run began on another machine: " if change.part == "machine" else ""
        raise NotResumable(f"{folder}: {of_machine}{change.changed}; begin a new run")


def _subjects(folder: Path, recorded: Sequence[SubjectVersion], cache: Path) -> list[Subject]:
    subjects = []
    for then in recorded:
        if then.folder is None or then.concurrency is None:
            raise NotResumable(f"{folder}: the folder of {then.id} was not recorded; begin a new run")
        read = read_subject(Path(then.folder))
        subject = next((one for one in read.in_profiles() if one.id == then.id), read)
        subject = replace(subject, concurrency=then.concurrency)
        for change in subject_differences(then, describe_subject(subject, cache)):
            # Only the build shows whether the subject is available.
            if change.name != "availability":
                raise NotResumable(f"{folder}: {then.id}: {change.changed}; begin a new run")
        subjects.append(subject)
    return subjects


def _text(value: object) -> str | None:
    return None if value is None else str(value)
