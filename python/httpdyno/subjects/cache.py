"""The user's cache folder: the place of each build in it, and the environment of the tools that it holds."""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from httpdyno.installation import CHECKOUT


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return ``$XDG_CACHE_HOME/httpdyno``, or ``~/.cache/httpdyno`` when the variable is not set or not absolute."""
    variables = os.environ if environment is None else environment
    given = Path(variables.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "httpdyno"


def cargo_target(cache: Path) -> Path:
    """Return Cargo's target folder for Rust subjects.

    The checkout's, where the engine's dependencies are already compiled; without a checkout that can be written, one in
    the cache.
    """
    if CHECKOUT is not None and os.access(CHECKOUT, os.W_OK):
        return Path(CHECKOUT) / "target"
    return cache / "target"


def toolchains_folder(cache: Path) -> Path:
    """Return the folder of installed toolchains; their programs are linked in its ``bin``."""
    return cache / "toolchains"


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """Record of a complete build."""

    version: str | None
    toolchain: dict[str, str]
    trust_files: list[str]
    """Certificate bundles inside the build, relative to its folder."""


@dataclass(frozen=True, slots=True)
class BuildPlace:
    """Place of one build of one subject: ``builds/<id>-<fingerprint>/``."""

    root: Path
    """The cache's ``builds`` folder."""
    subject: str
    fingerprint: str

    @property
    def path(self) -> Path:
        """Folder of this build."""
        return self.root / f"{self.subject}-{self.fingerprint}"

    @property
    def folder(self) -> Path:
        """The copy of the subject's folder in which it was built and runs: ``{folder}``."""
        return self.path / "folder"

    @property
    def target(self) -> Path:
        """Programs taken from Cargo's target folder: ``{target}`` of what is run."""
        return self.path / "target"

    @property
    def temporary(self) -> Path:
        """``$TMPDIR`` of the build, which is removed with it."""
        return self.path / "temporary"

    @property
    def log(self) -> Path:
        """Output of the build."""
        return self.path / "build.log"

    def record(self) -> BuildRecord | None:
        """Read the record of a complete build; None when there is none, or it is incomplete."""
        try:
            return BuildRecord(**json.loads((self.path / "complete.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def complete(self, record: BuildRecord) -> None:
        """Mark the build as complete, atomically."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        written = self.path / "complete.new"
        written.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        written.replace(self.path / "complete.json")

    def clear(self) -> None:
        """Remove an earlier build, and create the folder."""
        if self.path.exists():
            shutil.rmtree(self.path)
        self.temporary.mkdir(parents=True)

    def lock(self) -> int | None:
        """Acquire the lock of the subject's builds without waiting; None when another run holds it.

        The lock is the subject's and not the build's: two builds of one Rust subject share Cargo's target folder. The
        file descriptor holds it until it is closed, also by the death of this process.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / f"{self.subject}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


_FOREIGN = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH", "PYTHONHOME")
"""Variables that belong to the Python environment which runs httpdyno and would mislead the one of a subject."""
_SERVERS = "/usr/sbin"


def program_path(caller: Mapping[str, str]) -> str:
    """Return the folders in which programs are searched, as ``PATH``.

    First the toolchains that were brought into the cache, since one is brought only where the machine's is missing or
    too old; then the caller's; then ``DOTNET_ROOT``, where a .NET SDK of one's own is unpacked; then that of servers
    such as ``apache2``, which not every caller has; the folder of this Python comes last: uv is found there when the
    machine has none, and the machine's own ``python3`` is never shadowed.
    """
    own = str(Path(sys.executable).parent)
    toolchains = toolchains_folder(cache_folder(caller)) / "bin"
    first = [str(toolchains)] if toolchains.is_dir() else []
    folders = [*caller.get("PATH", os.defpath).split(os.pathsep), caller.get("DOTNET_ROOT", ""), _SERVERS]
    others = [folder for folder in folders if folder and folder not in {own, *first}]
    return os.pathsep.join([*first, *dict.fromkeys(others), own])


def tool_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without what belongs to this program, and with ``program_path``."""
    environment = {name: value for name, value in caller.items() if name not in _FOREIGN}
    environment["PATH"] = program_path(caller)
    return environment
