"""The user's cache folder: the place of each build in it, and the environment of the tools in it."""

import fcntl
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from httpdyno.installation import CHECKOUT
from httpdyno.subjects.engine_program import ENGINE_NAME, usable_engine


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/httpdyno``, or ``~/.cache/httpdyno`` when the variable is not set or not absolute."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "httpdyno"


def cargo_target(cache: Path) -> Path:
    """Return Cargo's target folder for Rust subjects.

    It is the checkout's, where the engine's dependencies are already compiled; without a writable checkout, one in
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
        """Copies of programs from Cargo's target folder: ``{target}`` of a command that runs."""
        return self.path / "target"

    @property
    def temporary(self) -> Path:
        """``$TMPDIR`` of the build, which is removed with it."""
        return self.path / "temporary"

    @property
    def log(self) -> Path:
        """Output of the build."""
        return self.path / "build.log"

    def filled(self, text: str, target: Path | None = None) -> str:
        """Fill in ``{folder}``, ``{target}`` and ``{engine}``; keep any other brace.

        ``target`` is Cargo's target folder for the build itself.
        """
        text = text.replace("{folder}", str(self.folder)).replace("{target}", str(target or self.target))
        return text.replace("{engine}", usable_engine() or ENGINE_NAME) if "{engine}" in text else text

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


def program_path() -> str:
    """Return the folders in which programs are searched, as ``PATH``.

    First come the toolchains in the cache, since one is installed only if the machine's is missing or too old; then
    the caller's folders; then ``DOTNET_ROOT``, with an unpacked .NET SDK; then the folder of servers such as
    ``apache2``, which not every caller has; the folder of this Python comes last: uv is found there when the machine
    has none, and the machine's own ``python3`` is never shadowed.
    """
    own = str(Path(sys.executable).parent)
    toolchains = toolchains_folder(cache_folder()) / "bin"
    first = [str(toolchains)] if toolchains.is_dir() else []
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), os.environ.get("DOTNET_ROOT", ""), _SERVERS]
    others = [folder for folder in folders if folder and folder not in {own, *first}]
    return os.pathsep.join([*first, *dict.fromkeys(others), own])


def tool_environment() -> dict[str, str]:
    """Return the caller's environment without httpdyno's own variables, and with ``program_path``."""
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {"PATH": program_path()}
