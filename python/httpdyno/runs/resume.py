"""Goes on with a run that was stopped: with the same plan, on the same machine, with the same programs."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpdyno
from httpdyno.errors import NotResumable
from httpdyno.experiments.registry import definition_of, restore_experiment
from httpdyno.lab.engine import Engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import LIVE, Subject
from httpdyno.runs.changes import changed_engine, changed_machine, changed_subject
from httpdyno.runs.pending import PendingRun, describe_subject
from httpdyno.store import Manifest, RunWriter, SubjectVersion, describe_machine, open_run
from httpdyno.subjects.definition import read_subject
from httpdyno.urls.source import UrlFile, urls_of_run

__all__ = ["Resumed", "resume_run"]


class Resumed(NamedTuple):
    """A run that goes on."""

    run: PendingRun
    urls: UrlFile | None
    """To be closed when the run has ended; None: each condition has a list of its own."""


def resume_run(folder: Path, place: Place, *, inherited: int | None = None) -> Resumed:
    """Reopen a run that is ``partial``, and make again what it was made with.

    Parameters
    ----------
    folder : Path
        Of the run.
    place : Place
        Engine and cache; the CPUs and the folder of runs are the run's own.
    inherited : int, optional
        Descriptor with which this process may have been started, of the run's lock.

    Raises
    ------
    UnreadableRun
        If the folder is no run, or is damaged.
    NotResumable
        If it is complete or still running, or something is not what it was: what would be measured now could not be
        compared with what is there.
    StorageFailed
        If the folder cannot be written, or there is no room for the list of URLs.
    """
    writer = RunWriter.reopen(folder, inherited)
    with ExitStack() as failed:
        failed.callback(writer.lock.release)
        resumed = _reopened(writer, place)
        failed.pop_all()
        return resumed


def _reopened(writer: RunWriter, place: Place) -> Resumed:
    manifest = writer.manifest
    settings = manifest.settings
    _check_surroundings(writer.folder, manifest, place.engine)
    subjects = _subjects(writer.folder, manifest.subjects, place.cache)
    there = open_run(writer.folder)
    with ExitStack() as failed:
        urls = None
        if manifest.urls is not None:
            urls = failed.enter_context(urls_of_run(writer.folder, place.engine, manifest.webs[0], manifest.urls))
        file = urls.file if urls else None
        experiment = restore_experiment(manifest.experiment, settings, manifest.webs, file.path if file else None)
        pinning = Pinning(_text(settings.get("subject_cpus")), _text(settings.get("engine_cpus")))
        place = replace(place, pinning=pinning, runs=writer.folder.parent, command=manifest.command)
        finished, ceiling = there.records(), there.ceiling()
        plan = experiment.plan(subjects)
        run = PendingRun(experiment, plan, subjects, file, place, writer, finished, ceiling=ceiling, announced=True)
        if run.settled and not writer.lock.inherited:
            # Else it was begun, or reopened, by the process that has handed it over to this one.
            resumed_at = (*manifest.resumed_at, datetime.now(UTC))
            writer.describe(replace(manifest, resumed_at=resumed_at, ended_at=None))
        failed.pop_all()
    return Resumed(run, urls)


def _check_surroundings(folder: Path, manifest: Manifest, engine: Engine) -> None:
    definition = definition_of(manifest.experiment)
    listed = manifest.urls is not None or definition.restore is not None
    if not listed or not (manifest.webs or not definition.asks_web):
        raise NotResumable(f"{folder} was made by a version of httpdyno that could not resume runs; begin a new run")
    if manifest.version != httpdyno.__version__:
        change: str | None = f"httpdyno is {httpdyno.__version__}, was {manifest.version}"
    else:
        change = changed_engine(manifest.engine, engine.identity())
    if change is None and (differs := changed_machine(manifest.machine, describe_machine())):
        change = f"this is not the machine that it was begun on: {differs}"
    for web in manifest.webs:
        if web.name != LIVE and change is None and engine.web(web.name, seed=web.seed).digest != web.digest:
            change = f"the web {web.name} is not what it was"
    if change:
        raise NotResumable(f"{folder}: {change}; begin a new run")


def _subjects(folder: Path, recorded: Sequence[SubjectVersion], cache: Path) -> list[Subject]:
    subjects = []
    for then in recorded:
        if then.folder is None or then.concurrency is None:
            raise NotResumable(f"{folder}: where {then.id} lies was not recorded; begin a new run")
        subject = replace(read_subject(Path(then.folder)), concurrency=then.concurrency)
        if change := changed_subject(then, describe_subject(subject, cache), built=False):
            raise NotResumable(f"{folder}: {then.id}: {change}; begin a new run")
        subjects.append(subject)
    return subjects


def _text(value: object) -> str | None:
    return None if value is None else str(value)
