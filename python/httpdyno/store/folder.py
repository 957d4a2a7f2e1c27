"""The folder of a run: the names of its files, its lock, its staging before it is published, and how it is found."""

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from httpdyno.errors import StorageFailed, UnknownName, UnreadableRun

MANIFEST: Final = "manifest.json"
TRIALS: Final = "trials.parquet"
FIGURES: Final = "figures.parquet"
SAMPLES: Final = "samples.parquet"
REPORT: Final = "report.html"
"""Page with the results of the run."""
PARTS: Final = "parts"
"""Folder with three files for each finished trial, until the run is complete."""
ARTIFACTS: Final = "trials"
"""Folder with an archive of each trial's files from engine and subject, and with the right answers."""
PINNED: Final = "pinned"
"""This file excludes the run from pruning."""
URLS: Final = "urls.gz"
"""The list of URLs, one a line, until the run is complete; absent if a web made the list."""
LOCK: Final = "lock"
"""Lock of the process that makes the run, with the number of that process."""
OUTPUT: Final = "output.txt"
"""Output of a run in the background."""


RECORD_FILES: Final = (SAMPLES, FIGURES, TRIALS)
PART_KINDS: Final = ("samples", "figures", "trial")
"""In the order in which they are written: once the trials exist, all other files exist, too."""


def part_of(kind: str, number: int | None = None) -> str:
    """Name the file of one of ``PART_KINDS`` of one trial; without a number, a pattern for all trials."""
    return f"{PARTS}/{kind}-{'*' if number is None else f'{number:06}'}.parquet"


def artifacts_of(number: int) -> str:
    """Name the archive of one trial's artifacts."""
    return f"{ARTIFACTS}/{'ceiling' if number < 0 else f'{number:06}'}.zip"


_PATIENCE_S: Final = 0.5
"""Time to wait for the lock: ``holder_of`` holds it for a moment, too."""
_PAUSE_S: Final = 0.005


class RunLock:
    """Lock of one run, held until ``release`` or the end of the process.

    A process that is started with its ``descriptor`` holds it as well, and has ``inherited`` it. A caller that renames
    the ``folder`` of the run updates it.
    """

    def __init__(self, folder: Path, descriptor: int, *, inherited: bool = False) -> None:
        """Use ``take`` or ``inherit``."""
        self.folder = folder
        self.descriptor = descriptor
        self.inherited: Final = inherited
        self.name_holder(os.getpid())

    @classmethod
    def take(cls, folder: Path) -> "RunLock | None":
        """Acquire the lock of the run in a folder; None when another process holds it."""
        path = folder / LOCK
        with ExitStack() as failed:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                failed.callback(os.close, descriptor)
                if not _lock(descriptor):
                    return None
                lock = cls(folder, descriptor)
            except OSError as error:
                cure = "choose another folder with --out DIR"
                raise StorageFailed(f"{path}: cannot be locked: {error.strerror}; {cure}") from error
            failed.pop_all()
        return lock

    @classmethod
    def inherit(cls, folder: Path, descriptor: int) -> "RunLock | None":
        """Adopt the lock that this process has inherited as a descriptor; None if the descriptor is of another file.

        Afterwards the descriptor is of ``/dev/null``, so that no child process holds the lock.
        """
        try:
            same = os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat())
            writable = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
            # Locking again with the descriptor that holds the lock has no effect.
            if not (same and writable and _lock(descriptor)):
                return None
        except OSError:
            return None
        own = os.dup(descriptor)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        return cls(folder, own, inherited=True)

    def name_holder(self, process: int) -> None:
        """Write the number of the holding process into the lock file."""
        os.pwrite(self.descriptor, f"{process}\n".encode(), 0)
        os.ftruncate(self.descriptor, len(f"{process}\n"))

    @property
    def held(self) -> bool:
        """Whether the lock was not released yet."""
        return self.descriptor >= 0

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; with ``remove``, delete its file as well."""
        if not self.held:
            return
        if remove:
            (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self.descriptor)
        self.descriptor = -1


def holder_of(folder: Path) -> int | None:
    """Return the number of the process that is making the run in a folder; None when there is none.

    It is 0 until that process has written its number into the lock file.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(descriptor, 32, 0)
        return int(written) if written.strip().isdigit() else 0
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _lock(descriptor: int) -> bool:
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


_STAGING: Final = re.compile(r"\.[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+\.[0-9a-f]{8}")
_ABANDONED_S: Final = 60
"""A staging folder is published within milliseconds."""
_NAMES_TRIED: Final = 1000
_TAKEN: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


def create_staging(root: Path, name: str) -> Path:
    """Create a hidden folder below ``root``, and ``root`` itself; remove staging folders that killed processes left."""
    root.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a folder that may be written, but not listed
        for left in (path for path in root.iterdir() if _STAGING.fullmatch(path.name)):
            with suppress(OSError):  # published, or removed by another process
                if time.time() - left.stat().st_mtime > _ABANDONED_S and holder_of(left) is None:
                    shutil.rmtree(left, ignore_errors=True)
    staging = root / f".{name}.{secrets.token_hex(4)}"
    staging.mkdir()
    return staging


def publish(staging: Path, wanted: Path) -> Path:
    """Rename a staging folder to ``wanted``, or to ``wanted-N`` with the first free number; return its path."""
    for attempt in range(1, _NAMES_TRIED):
        folder = wanted if attempt == 1 else wanted.with_name(f"{wanted.name}-{attempt}")
        try:
            # An empty folder of that name would be replaced: it is not a run.
            return staging.rename(folder)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
    raise StorageFailed(f"{wanted}: too many runs within one second; move some of them away")


RELATIVE_NAMES: Final = ("latest", "previous")
"""Names of the run that was started last, and of the one before it."""

_NAMED_AT_MOST: Final = 5


def find_run(name: str, runs: Path) -> Path:
    """Find the folder of a run.

    The name is ``latest`` or ``previous``; else the path of a folder; else the name of a folder below ``runs``. A name
    that begins with ``./`` is always a path. ``open_run`` checks whether the folder can be read.
    """
    folders = run_folders(runs)
    if name in RELATIVE_NAMES:
        place = RELATIVE_NAMES.index(name)
        if place < len(folders):
            return folders[place]
        held = "no run" if not folders else "only one run"
        raise UnknownName(f"{name}: {runs} holds {held}; make one with: httpdyno bench")
    for path in (Path(name), runs / name):
        if name and path.is_dir():
            return path
        if name and path.exists():
            raise UnreadableRun(f"{path} is not a run of httpdyno: a run is a folder; see: httpdyno runs")
    hint = "make one with: httpdyno bench"
    if folders:
        more = len(folders) - _NAMED_AT_MOST
        hint = f"choose from: {', '.join(folder.name for folder in folders[:_NAMED_AT_MOST])}"
        hint += f" and {more} more (httpdyno runs)" if more > 0 else ""
    raise UnknownName(f"{name[:200]!r}: there is no such run, neither at that path nor below {runs}; {hint}")


def run_folders(runs: Path) -> tuple[Path, ...]:
    """List the folders of runs below a folder, the latest start first.

    Folders without ``manifest.json`` and hidden folders are not runs. A damaged run keeps its place, even as the
    latest one. A folder that does not exist has no runs.
    """
    found = [path for path in _folders(runs) if (path / MANIFEST).is_file()]
    return tuple(sorted(found, key=lambda path: (started_at(path), path.name), reverse=True))


def foreign_folders(runs: Path) -> tuple[Path, ...]:
    """List the folders below ``runs`` without ``manifest.json``, hidden ones excepted."""
    return tuple(sorted(path for path in _folders(runs) if not (path / MANIFEST).is_file()))


def _folders(runs: Path) -> list[Path]:
    try:
        found = runs.iterdir() if runs.is_dir() else ()
        return [path for path in found if not path.name.startswith(".") and path.is_dir()]
    except OSError as error:
        raise UnreadableRun(f"{runs}: the runs cannot be listed: {error.strerror}") from error


def started_at(folder: Path) -> datetime:
    """Return the start of a run from its manifest, because people rename folders; without one, from its name."""

    def from_manifest() -> str:
        # The manifest is not validated, since manifests of newer versions have this time, too.
        return str(json.loads((folder / MANIFEST).read_bytes())["started_at"])

    for read in (from_manifest, lambda: folder.name.partition("-")[0]):
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            time = datetime.fromisoformat(read())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
    return datetime.min.replace(tzinfo=UTC)
