"""The manifest of a run: what was run, where and with what, and whether it was finished."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import UnreadableRun
from httpdyno.model import RECORD_VERSION

__all__ = [
    "CURE",
    "EngineIdentity",
    "GitState",
    "Machine",
    "Manifest",
    "RunState",
    "SubjectVersion",
    "UrlList",
    "WebIdentity",
    "manifest_from_json",
    "manifest_to_json",
]

RunState = Literal["partial", "complete"]
CURE: Final = "measure again, or remove the folder"
"""What is to be done about a run that is damaged."""


@dataclass(frozen=True, slots=True)
class GitState:
    """The checkout that the run was started from."""

    commit: str
    modified: bool
    """Whether tracked files differed from the commit."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that the run was made on; what cannot be read is None or absent."""

    system: str
    kernel: str
    architecture: str
    cpu: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    virtualisation: str | None = None
    governor: str | None = None
    clock_source: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """The engine that made the rooms: the same digest is the same program."""

    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class UrlList:
    """The list that every subject was given."""

    source: str | None
    """The file that it came from, ``-`` for standard input; None: the web itself."""
    count: int
    sha256: str
    """Of the URLs, one a line."""


@dataclass(frozen=True, slots=True)
class WebIdentity:
    """Which web was crawled: the same digest is the same web."""

    name: str
    seed: int
    digest: str | None = None
    """None for the real internet."""


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """Which version of a subject was measured."""

    id: str
    language: str
    method: str
    version: str | None = None
    lockfiles: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each lockfile in its folder, by file name."""
    unavailable: str | None = None
    """Why it could not be measured; None when it could."""
    concurrency: int | None = None
    """What it is measured with unless the condition says otherwise."""
    folder: str | None = None
    """Where it lay."""
    http: tuple[str, ...] = ()
    """Versions of HTTP that it claims to speak when it is told to; empty in runs that are older than this."""
    fingerprint: str | None = None
    """Hash of its files and of the programs that it was built with; None until that is known."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands in ``manifest.json``."""

    experiment: str
    command: tuple[str, ...]
    version: str
    """Of httpdyno."""
    started_at: datetime
    machine: Machine
    trials_planned: int
    ended_at: datetime | None = None
    state: RunState = "partial"
    record_version: int = RECORD_VERSION
    git: GitState | None = None
    webs: tuple[WebIdentity, ...] = ()
    subjects: tuple[SubjectVersion, ...] = ()
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """The options of the command, with their defaults."""
    engine: EngineIdentity | None = None
    urls: UrlList | None = None
    """None in runs that cannot be resumed: those of versions that could not, and those without a list."""
    resumed_at: tuple[datetime, ...] = ()
    """When it was continued, each time."""


@cache
def _adapter() -> TypeAdapter[Manifest]:

    return TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> bytes:
    """Write a manifest as indented JSON with a line feed at the end."""
    return _adapter().dump_json(manifest, indent=2) + b"\n"


def manifest_from_json(text: bytes, *, where: str) -> Manifest:
    """Read a manifest; ``where`` is what a message calls the run."""
    try:
        values = TypeAdapter(dict[str, object]).validate_json(text)
    except ValidationError as error:
        raise UnreadableRun(f"{where}: manifest.json is damaged; {CURE}") from error
    version = values.get("record_version")
    if not isinstance(version, int):
        raise UnreadableRun(f"{where}: manifest.json has no record_version; this is no run of httpdyno")
    if version > RECORD_VERSION:
        newer = f"records of version {version}, this one reads up to {RECORD_VERSION}"
        raise UnreadableRun(f"{where}: written by a newer httpdyno ({newer}); update httpdyno")
    try:
        return _adapter().validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its shape"
        raise UnreadableRun(f"{where}: manifest.json is damaged at {place}: {first['msg']}; {CURE}") from error
