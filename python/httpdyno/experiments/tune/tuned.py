"""What ``tune`` has found on this machine: kept for a subject, and put in place of its own concurrency."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.tune.tune import Tune
from httpdyno.experiments.tune.tuning import concluded
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject, Trial, parse_cpus
from httpdyno.store import NotTuned, Tuned, TunedFor, WebIdentity, describe_machine, find_tuned, keep_tuned
from httpdyno.subjects.build import build_place

__all__ = ["TunedSubject", "keep_found", "options_found_for", "tuned_for", "with_tuned"]


@dataclass(frozen=True, slots=True)
class TunedSubject:
    """A subject with the concurrency that it is to be measured with, and where that comes from."""

    subject: Subject
    line: str
    """Says it in one line."""


def tuned_for(
    subject: Subject,
    cache: Path,
    pinning: Pinning,
    *,
    memory_bytes: int | None,
    link: str,
    web: WebIdentity,
    http_version: str = "",
) -> TunedFor:
    """Return for what a concurrency of a subject is found: the subject as it is now, this machine, a web.

    Parameters
    ----------
    subject : Subject
        Whose files and toolchain are hashed.
    cache : Path
        The user's cache folder.
    pinning : Pinning
        The CPUs of a trial.
    memory_bytes : int or None
        Memory limit of the subject.
    link : str
        The path between it and the web.
    web : WebIdentity
        What it asks.
    http_version : str
        The version of HTTP that it is told to speak; empty: its default.
    """
    pinned = pinning.subject_cpus
    return TunedFor(
        subject=subject.id,
        fingerprint=build_place(subject, cache).fingerprint,
        cpu=describe_machine().cpu,
        cpus=len(os.sched_getaffinity(0) if pinned is None else parse_cpus(pinned)),
        pinned=pinned is not None,
        memory_bytes=memory_bytes,
        link=link,
        web=web.name,
        seed=web.seed,
        web_digest=web.digest,
        http_version=http_version,
    )


def with_tuned(subjects: Sequence[Subject], place: Place, crawl: Crawl) -> tuple[TunedSubject, ...]:
    """Set the concurrency of each subject that was found for it here; one that has none keeps its own.

    Parameters
    ----------
    subjects : sequence of Subject
        With their own concurrencies.
    place : Place
        Where they are measured.
    crawl : Crawl
        What they are asked.
    """
    return tuple(_tuned(subject, place, crawl) for subject in subjects)


def options_found_for(asked: Crawl | Tune) -> str:
    """Return the options that name what a concurrency was found for, a space before each; empty for the usual."""
    link = "" if asked.link == "direct" else f" --link {asked.link}"
    against = "" if asked.against is None else f" --against {asked.against}"
    version = asked.http_version
    return f"{link}{against}" + (f" --http-version {version}" if version else "")


def keep_found(search: Tune, subject: Subject, place: Place, trials: Sequence[Trial], run: str | None) -> Path | None:
    """Keep what a whole search has found, so that ``--concurrency auto`` finds it.

    Parameters
    ----------
    search : Tune
        Which search; one on the real internet would find nothing for ours.
    subject : Subject
        Whose it is.
    place : Place
        Where it was made.
    trials : sequence of Trial
        All of them.
    run : str, optional
        Name of the run's folder; None: it was not kept.

    Returns
    -------
    Path or None
        Where it is kept; None when there is no concurrency at which the subject works.

    Raises
    ------
    StorageFailed
        If the cache cannot be written.
    """
    best = concluded(trials).best
    if best is None:
        return None
    found = Tuned(best.load, best.value, datetime.now(UTC), run)
    return keep_tuned(place.cache, _found_for(subject, place, search), found)


def _found_for(subject: Subject, place: Place, asked: Crawl | Tune) -> TunedFor:
    (web,), (condition,) = asked.webs(), asked.conditions()
    return tuned_for(
        subject,
        place.cache,
        place.pinning,
        memory_bytes=asked.memory_bytes,
        link=condition.link_name,
        web=web,
        http_version=asked.http_version,
    )


def _tuned(subject: Subject, place: Place, crawl: Crawl) -> TunedSubject:
    found = find_tuned(place.cache, _found_for(subject, place, crawl))
    if isinstance(found, NotTuned):
        own = f"{subject.id}: {found.reason}: its own concurrency, {subject.concurrency}, is used"
        again = f"httpdyno tune {subject.id}{options_found_for(crawl)}"
        return TunedSubject(subject, f"{own}; {again} would find the best")
    line = f"{subject.id}: {found.concurrency} in flight, as found on {found.found_at:%Y-%m-%d}"
    return TunedSubject(replace(subject, concurrency=found.concurrency), line)
