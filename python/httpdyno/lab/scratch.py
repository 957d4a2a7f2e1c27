"""Files of a trial without a name: the kernel frees them when the last process that has them open ends.

So neither a crash nor SIGKILL can leave one behind, which no clean-up of our own could guarantee.

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
    from collections.abc import Iterable
    from pathlib import Path
    from typing import IO, Self

_LAST_WORDS_BYTES = 8192
"""Bytes to read of a program's messages: the reason of a failure is at their end."""


class ScratchFile:
    """A nameless file on disk, below ``$TMPDIR``, that processes started with its descriptor can open by ``path``."""

    def __init__(self) -> None:
        try:
            self._file = _nameless()
        except OSError as error:
            import tempfile

            place = tempfile.tempdir or "any of the default folders"
            kind = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageFailed
            raise kind(
                f"cannot create a temporary file in {place}: {error.strerror}; free some space or set TMPDIR"
            ) from error

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open an existing file; it stays readable when its name is removed."""
        scratch = cls.__new__(cls)
        scratch._file = path.open("r+b")
        return scratch

    @property
    def descriptor(self) -> int:
        """Descriptor that a child process must inherit (``pass_fds``) to open ``path``."""
        return self._file.fileno()

    @property
    def path(self) -> Path:
        """Path that opens the file from its beginning, in this process and in those that inherit the descriptor."""
        from pathlib import Path

        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def file(self) -> IO[bytes]:
        """The file itself, open for reading and writing."""
        return self._file

    def write(self, pieces: Iterable[bytes], *, what: str = "temporary files") -> None:
        """Append pieces, and flush; raise ``StorageFailed`` if they cannot be written. ``what`` begins its message."""
        from httpdyno.storage import storage_errors

        with storage_errors(f"{what}: cannot write"):
            self._file.writelines(pieces)
            self._file.flush()

    def read_text(self, limit: int | None = None) -> str:
        """Return the content as text, or its last ``limit`` bytes; invalid UTF-8 is replaced."""
        with self.path.open("rb") as file:
            if limit is not None:
                file.seek(max(0, file.seek(0, 2) - limit))
            return file.read().decode(errors="replace")

    def last_words(self) -> str:
        """Return the end of a program's messages."""
        return self.read_text(_LAST_WORDS_BYTES)

    def close(self) -> None:
        """Free the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _nameless() -> IO[bytes]:
    """Open a nameless file in the default folder; if that fails, with ``tempfile``, which is slow to import."""
    if "tempfile" not in sys.modules:
        place = os.environ.get("TMPDIR") or "/tmp"
        with suppress(OSError):
            return os.fdopen(os.open(place, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600), "w+b")
    import tempfile

    return tempfile.TemporaryFile()
