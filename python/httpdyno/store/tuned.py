"""Concurrencies found by ``tune`` on this machine, in the user's cache: one small file for each."""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from httpdyno.storage import storage_errors
from httpdyno.store.files import write_whole
from httpdyno.store.manifest import SubjectVersion, WebIdentity, subject_differences, web_differences

_FOLDER: Final = "tuned"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class TunedFor:
    """Subject, web and machine for which a concurrency was found."""

    subject: str
    fingerprint: str
    """Of the subject's files and of the programs that it was built with."""
    cpu: str | None
    """Model of the CPU; None where the machine does not tell."""
    cpus: int
    """How many there are for a trial: those that the subject was given, else all, of which the engine takes some."""
    pinned: bool
    """Whether ``--cpus`` was given."""
    memory_bytes: int | None
    """Memory limit of the subject; None: none was asked for."""
    web: str
    seed: int
    web_digest: str | None
    link: str = "direct"
    """The path between the subject and the web."""
    http_version: str = ""
    """The version of HTTP that was asked for; empty: the subject's default."""

    @property
    def file(self) -> str:
        """Name of the file that holds what was found for this subject on such a machine and web."""
        place: tuple[object, ...] = (self.cpu, self.cpus, self.pinned, self.memory_bytes, self.web)
        if self.link != "direct":
            place = (*place, self.link)
        if self.http_version:
            place = (*place, f"http {self.http_version}")
        return f"{self.subject}-{hashlib.sha256(repr(place).encode()).hexdigest()[:16]}.json"

    @property
    def as_recorded(self) -> tuple[SubjectVersion, WebIdentity]:
        """The subject and the web as a manifest describes them."""
        subject = SubjectVersion(self.subject, "", "", fingerprint=self.fingerprint)
        return subject, WebIdentity(self.web, self.seed, self.web_digest)


@dataclass(frozen=True, slots=True)
class Tuned:
    """A concurrency that was found."""

    concurrency: int
    right_per_s: float
    """Right answers a second that it brought."""
    found_at: datetime
    run: str | None
    """Name of the run's folder; None when it was not kept."""


@dataclass(frozen=True, slots=True)
class NotTuned:
    """Reason why no concurrency is known."""

    reason: str


def keep_tuned(cache: Path, of: TunedFor, found: Tuned) -> Path:
    """Write a found concurrency over an earlier one; return its file."""
    path = cache / _FOLDER / of.file
    values = {
        "version": _VERSION,
        "for": asdict(of),
        "found": {**asdict(found), "found_at": found.found_at.isoformat()},
    }
    content = json.dumps(values, indent=2).encode() + b"\n"
    with storage_errors(f"{path}: what was found cannot be kept", folder=cache, cure="make room in the cache"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(content))
    return path


def find_tuned(cache: Path, of: TunedFor) -> Tuned | NotTuned:
    """Find the concurrency of a subject on this machine.

    What was found with another seed of the same web counts: the web is another one, but of the same kind. ``NotTuned``
    when there is nothing, it cannot be read, or the subject or the web has changed since.
    """
    try:
        values = json.loads((cache / _FOLDER / of.file).read_text(encoding="utf-8"))
        then, found = TunedFor(**values["for"]), values["found"]
        tuned = Tuned(
            int(found["concurrency"]),
            float(found["right_per_s"]),
            datetime.fromisoformat(found["found_at"]),
            found["run"],
        )
    except FileNotFoundError:
        return NotTuned("not tuned on this machine for this web")
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return NotTuned("what was found before cannot be read")
    if tuned.concurrency < 1:
        return NotTuned("what was found before cannot be read")
    (subject, web), (subject_now, web_now) = then.as_recorded, of.as_recorded
    webs = web_differences([web], [web_now]) if then.seed == of.seed else ()
    for change in (*subject_differences(subject, subject_now), *webs):
        return NotTuned(f"{change.changed} since it was tuned")
    return tuned
