"""The lock of a run that is being made: it dies with the process that holds it, however that ends."""

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import StorageFailed
from httpdyno.store.layout import LOCK

__all__ = ["Holder", "RunLock", "holder_of"]

_PATIENCE_S: Final = 0.5
"""Whoever asks for the holder holds the lock for a moment, too: that is no reason to give up."""
_PAUSE_S: Final = 0.005


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that is making a run."""

    process: int | None
    """Its number; None when it has not written it down yet."""


class RunLock:
    """Holds the lock of one run, until ``release`` or the death of the process.

    Attributes
    ----------
    descriptor : int
        Of the lock's file; a process that is started with it holds the lock as well.
    folder : Path
        Of the run; whoever renames it says so here.
    inherited : bool
        Whether it was held by another process before, which has handed it over.
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
        descriptor = None
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if _lock(descriptor):
                return cls(folder, descriptor)
        except OSError as error:
            if descriptor is not None:
                os.close(descriptor)
            raise StorageFailed(
                f"{path}: cannot be locked: {error.strerror}; choose another folder with --out DIR"
            ) from error
        os.close(descriptor)
        return None

    @classmethod
    def inherit(cls, folder: Path, descriptor: int) -> "RunLock | None":
        """Adopt a lock with which this process was started; None when the descriptor is of something else.

        From then on the descriptor leads nowhere: a process that is started with it must not hold the lock.
        """
        path = folder / LOCK
        try:
            same = os.path.samestat(os.fstat(descriptor), path.stat())
            writable = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
            # Locking what is held with this very descriptor changes nothing; what is not held is taken.
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
        """Write down who holds the lock, for whoever asks."""
        os.pwrite(self.descriptor, f"{process}\n".encode(), 0)
        os.ftruncate(self.descriptor, len(f"{process}\n"))

    def release(self, *, remove: bool = False) -> None:
        """Let go; with ``remove``, nobody will want the lock again."""
        if self.descriptor < 0:
            return
        if remove:
            (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self.descriptor)
        self.descriptor = -1


def holder_of(folder: Path) -> Holder | None:
    """Return who is making the run in a folder; None when nobody is."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(descriptor, 32, 0)
        return Holder(int(written) if written.strip().isdigit() else None)
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
