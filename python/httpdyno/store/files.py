"""Files that are there whole or not at all, also after a kill."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from httpdyno.storage import storage_errors

__all__ = ["storing", "write_whole"]


def storing(path: Path) -> AbstractContextManager[None]:
    """Turn whatever goes wrong while results are written to that folder into ``StorageFailed``, one clear line."""
    cure = "choose another folder with --out DIR"
    return storage_errors(
        f"{path}: results cannot be written", folder=path, cure=cure, when_full=f"make room or {cure}"
    )


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under its name only when it is whole, in place of one that was there before.

    Until then it has no name, where the file system can do that: a kill leaves nothing behind.
    """
    unnamed = _open_unnamed(path.parent)
    named = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    if unnamed is None:
        with _removed_on_failure(named):
            with named.open("xb") as file:
                write(file)
            named.replace(path)
        return
    with os.fdopen(unnamed, "wb") as file:
        write(file)
        file.flush()
        target = named if path.exists() else path
        _link(file.fileno(), target)
    if target is not path:
        with _removed_on_failure(named):
            named.replace(path)


def _open_unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError:
        # Network and some overlay file systems cannot; a folder that cannot be written to fails again under a name.
        return None


def _link(descriptor: int, path: Path) -> None:
    """Name a file that has no name."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(str(descriptor), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
