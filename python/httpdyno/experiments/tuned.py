"""What ``tune`` has found on this machine: kept for a subject, and put in place of its own concurrency."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from httpdyno.experiments.pending import PendingRun
from httpdyno.experiments.place import Place
from httpdyno.experiments.tune import Tune
from httpdyno.experiments.tuning import concluded
from httpdyno.lab.room import Machine
from httpdyno.model import Subject, Trial, parse_cpus
from httpdyno.store import NotTuned, Tuned, TunedFor, WebIdentity, describe_machine, find_tuned, keep_tuned
from httpdyno.subjects.build import build_place

__all__ = ["TunedSubject", "keep_found", "tuned_for", "with_tuned"]


@dataclass(frozen=True, slots=True)
class TunedSubject:
    """A subject with the concurrency that it is to be measured with, and where that comes from."""

    subject: Subject
    line: str
    """Says it in one line."""


def tuned_for(
    subject: Subject, cache: Path, machine: Machine, *, memory_bytes: int | None, web: WebIdentity
) -> TunedFor:
    """Say for what a concurrency of a subject is found: the subject as it is now, this machine, a web.

    Parameters
    ----------
    subject : Subject
        Whose files and toolchain are hashed.
    cache : Path
        The user's cache folder.
    machine : Machine
        The CPUs of a trial.
    memory_bytes : int or None
        Memory limit of the subject.
    web : WebIdentity
        What it asks.
    """
    pinned = machine.subject_cpus
    return TunedFor(
        subject=subject.id,
        fingerprint=build_place(subject, cache).fingerprint,
        cpu=describe_machine().cpu,
        cpus=len(os.sched_getaffinity(0) if pinned is None else parse_cpus(pinned)),
        pinned=pinned is not None,
        memory_bytes=memory_bytes,
        web=web.name,
        seed=web.seed,
        web_digest=web.digest,
    )


def with_tuned(
    subjects: Sequence[Subject], place: Place, *, memory_bytes: int | None, web: WebIdentity
) -> tuple[TunedSubject, ...]:
    """Give each subject the concurrency that was found for it here; one that has none keeps its own.

    Parameters
    ----------
    subjects : sequence of Subject
        With their own concurrencies.
    place : Place
        Where they are measured.
    memory_bytes : int or None
        Memory limit of a subject.
    web : WebIdentity
        What they ask.
    """
    return tuple(_tuned(subject, place, memory_bytes, web) for subject in subjects)


def keep_found(run: PendingRun, place: Place, trials: Sequence[Trial]) -> Path | None:
    """Keep what a whole search has found, so that ``--concurrency auto`` finds it.

    Parameters
    ----------
    run : PendingRun
        The run of a search; what it found on the real internet would be no search of ours.
    place : Place
        Where it was made.
    trials : sequence of Trial
        All of them.

    Returns
    -------
    Path or None
        Where it is kept; None when there is no concurrency at which the subject works.

    Raises
    ------
    StorageFailed
        If the cache cannot be written.
    """
    experiment, (subject,) = run.experiment, run.subjects
    assert isinstance(experiment, Tune), "only a search finds a concurrency"
    best = concluded(trials).best
    if best is None:
        return None
    (web,) = experiment.webs()
    of = tuned_for(subject, place.cache, place.machine, memory_bytes=experiment.memory_bytes, web=web)
    found = Tuned(best.load, best.value, datetime.now(UTC), run.folder.name if run.folder else None)
    return keep_tuned(place.cache, of, found)


def _tuned(subject: Subject, place: Place, memory_bytes: int | None, web: WebIdentity) -> TunedSubject:
    of = tuned_for(subject, place.cache, place.machine, memory_bytes=memory_bytes, web=web)
    found = find_tuned(place.cache, of)
    if isinstance(found, NotTuned):
        own = f"{subject.id}: {found.reason}: its own concurrency, {subject.concurrency}, is used"
        return TunedSubject(subject, f"{own}; httpdyno tune {subject.id} would find the best")
    line = f"{subject.id}: {found.concurrency} in flight, as found on {found.found_at:%Y-%m-%d}"
    return TunedSubject(replace(subject, concurrency=found.concurrency), line)
