"""Files of a trial without a name: the kernel frees them when the last process that holds them is gone.

Neither a crash nor SIGKILL can leave one behind, which no clean-up of our own could promise.

Imports little: every command that runs the engine imports it.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from httpdyno.errors import StorageFailed, StorageFull

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import IO, Self

__all__ = ["ScratchFile"]

_LAST_WORDS_BYTES = 8192
"""What is looked at of a program's messages: it tells at their end what it fails at."""


class ScratchFile:
    """A nameless file on disk, below ``$TMPDIR``, that processes started with its descriptor can open by ``path``."""

    def __init__(self) -> None:
        try:
            self._file = _nameless()
        except OSError as error:
            kind = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageFailed
            raise kind(
                f"cannot create a temporary file in {_place()}: {error.strerror}; free some space or set TMPDIR"
            ) from error

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open a file that is there; it stays readable when its name is removed."""
        scratch = cls.__new__(cls)
        scratch._file = path.open("r+b")
        return scratch

    @property
    def descriptor(self) -> int:
        """What a child process must inherit (``pass_fds``) to open ``path``."""
        return self._file.fileno()

    @property
    def path(self) -> Path:
        """Opens the file anew, from its beginning, in this process and in those that inherit the descriptor."""
        from pathlib import Path

        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def file(self) -> IO[bytes]:
        """The file itself, open for reading and writing."""
        return self._file

    def read_text(self, limit: int | None = None) -> str:
        """Return the content as text, the last ``limit`` bytes of it; what is no UTF-8 is replaced."""
        with self.path.open("rb") as file:
            if limit is not None:
                file.seek(max(0, file.seek(0, 2) - limit))
            return file.read().decode(errors="replace")

    def last_words(self) -> str:
        """Return the end of what a program wrote."""
        return self.read_text(_LAST_WORDS_BYTES)

    def close(self) -> None:
        """Free the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nameless() -> IO[bytes]:
    """Make it as ``tempfile`` does in its usual place; where that fails, ``tempfile`` knows others, and takes long."""
    if "tempfile" not in sys.modules:
        place = os.environ.get("TMPDIR") or "/tmp"
        with suppress(OSError):
            return os.fdopen(os.open(place, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


def _place() -> str:
    import tempfile

    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return "any of the usual folders"
