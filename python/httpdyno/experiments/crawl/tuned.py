"""What a search has found on this machine, put in place of the concurrency that a subject has of its own."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from httpdyno.experiments.experiment import Experiment
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject, parse_cpus
from httpdyno.store import NotTuned, TunedFor, WebIdentity, describe_machine, find_tuned
from httpdyno.subjects.build import build_place

__all__ = ["OfUrls", "TunedSubject", "found_for", "options_found_for", "tuned_for", "with_tuned"]


class OfUrls(Experiment, Protocol):
    """An experiment in which a list of URLs is asked, on one web."""

    @property
    def link(self) -> str:
        """Its path."""

    @property
    def against(self) -> str | None:
        """The origin of another machine."""

    @property
    def http_version(self) -> str:
        """The version of HTTP that clients are told to speak; empty: their own."""

    @property
    def memory_bytes(self) -> int | None:
        """Memory limit of the subject."""


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

    An empty ``http_version`` is the subject's default.
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


def with_tuned(subjects: Sequence[Subject], place: Place, crawl: OfUrls) -> tuple[TunedSubject, ...]:
    """Set the concurrency of each subject that was found for it here; one that has none keeps its own."""
    return tuple(_tuned(subject, place, crawl) for subject in subjects)


def options_found_for(asked: OfUrls) -> str:
    """Return the options that name what a concurrency was found for, a space before each; empty for the usual."""
    link = "" if asked.link == "direct" else f" --link {asked.link}"
    against = "" if asked.against is None else f" --against {asked.against}"
    version = asked.http_version
    return f"{link}{against}" + (f" --http-version {version}" if version else "")


def found_for(subject: Subject, place: Place, asked: OfUrls) -> TunedFor:
    """Return for what a concurrency is found when so much is asked."""
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


def _tuned(subject: Subject, place: Place, crawl: OfUrls) -> TunedSubject:
    found = find_tuned(place.cache, found_for(subject, place, crawl))
    if isinstance(found, NotTuned):
        own = f"{subject.id}: {found.reason}: its own concurrency, {subject.concurrency}, is used"
        again = f"httpdyno tune {subject.id}{options_found_for(crawl)}"
        return TunedSubject(subject, f"{own}; {again} would find the best")
    line = f"{subject.id}: {found.concurrency} in flight, as found on {found.found_at:%Y-%m-%d}"
    return TunedSubject(replace(subject, concurrency=found.concurrency), line)
