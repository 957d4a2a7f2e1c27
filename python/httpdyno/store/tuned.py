"""Concurrencies found by ``tune`` on this machine, in the user's cache: one small file for each."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, Field, ValidationError

from httpdyno.storage import storage_errors
from httpdyno.store.files import write_whole
from httpdyno.store.manifest import SubjectVersion, WebIdentity, subject_differences, web_differences

_FOLDER: Final = "tuned"


@dataclass(frozen=True, slots=True)
class TunedFor:
    """Subject, web and machine for which a concurrency was found."""

    subject: str
    fingerprint: str
    """Hash of the subject's files and of the programs that built it."""
    cpu: str | None
    """Model of the CPU; None if unknown."""
    cpus: int
    """CPUs of a trial: those of ``--cpus``, else all of the machine, shared with the engine."""
    pinned: bool
    """Whether ``--cpus`` was given."""
    memory_bytes: int | None
    """Memory limit of the subject; None: no limit."""
    web: str
    seed: int
    web_digest: str | None
    link: str = "direct"
    """The path between the subject and the web."""
    http_version: str = ""
    """Requested version of HTTP; empty: the subject's default."""

    @property
    def file(self) -> str:
        """Name of the file with the concurrency for this subject, machine and web."""
        place: tuple[object, ...] = (self.cpu, self.cpus, self.pinned, self.memory_bytes, self.web)
        if self.link != "direct":
            place = (*place, self.link)
        if self.http_version:
            place = (*place, f"http {self.http_version}")
        return f"{self.subject}-{hashlib.sha256(repr(place).encode()).hexdigest()[:16]}.json"


@dataclass(frozen=True, slots=True)
class Tuned:
    """A concurrency that was found."""

    concurrency: Annotated[int, Field(ge=1)]
    right_per_s: float
    """Right answers a second with this concurrency."""
    found_at: datetime
    run: str | None
    """Name of the run's folder; None when it was not kept."""


@dataclass(frozen=True, slots=True)
class NotTuned:
    """Reason why no concurrency is known."""

    reason: str


class _Kept(BaseModel):
    version: int = 1
    key: TunedFor = Field(alias="for")
    found: Tuned


def keep_tuned(cache: Path, of: TunedFor, found: Tuned) -> Path:
    """Write a found concurrency over an earlier one; return its file."""
    path = cache / _FOLDER / of.file
    content = (
        _Kept.model_validate({"for": of, "found": found}).model_dump_json(by_alias=True, indent=2).encode() + b"\n"
    )
    with storage_errors(f"{path}: the result cannot be written", folder=cache, cure="free space in the cache"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(content))
    return path


def find_tuned(cache: Path, of: TunedFor) -> Tuned | NotTuned:
    """Find the concurrency of a subject on this machine.

    A result with another seed of the web counts, because that web is of the same kind. Return ``NotTuned`` if there is
    no result, it cannot be read, or the subject or the web has changed since.
    """
    try:
        kept = _Kept.model_validate_json((cache / _FOLDER / of.file).read_bytes())
    except FileNotFoundError:
        return NotTuned("not tuned on this machine for this web")
    except (OSError, ValidationError):
        return NotTuned("the earlier result cannot be read")
    subjects = (SubjectVersion(one.subject, "", "", fingerprint=one.fingerprint) for one in (kept.key, of))
    webs = ([WebIdentity(one.web, one.seed, one.web_digest)] for one in (kept.key, of))
    changes = [*subject_differences(*subjects), *(web_differences(*webs) if kept.key.seed == of.seed else ())]
    return NotTuned(f"{changes[0].changed} since it was tuned") if changes else kept.found
