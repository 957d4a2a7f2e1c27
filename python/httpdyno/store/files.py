"""Files that are there whole or not at all, also after a kill."""

import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from httpdyno.errors import StorageFailed

__all__ = ["storing", "write_whole"]

_PROBE_BYTES: Final = 1024 * 1024
_OS_ERROR: Final = re.compile(r"\(os error ([0-9]{1,4})\)")


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while something is written into one clear line.

    Raises
    ------
    StorageFailed
        If the disk is full, the folder cannot be written to, or the like.
    """
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = _reason(path, error)
        raise StorageFailed(
            f"{path}: results cannot be written: {reason}; make room or choose another folder with --out DIR"
        ) from error


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


def _reason(path: Path, error: Exception) -> str:
    """Say it as the operating system does; polars wraps the number of its error into a sentence of its own."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = _OS_ERROR.search(str(error))
    if number:
        return os.strerror(int(number[1]))
    # A disk that is full at the wrong moment is a "transport error" to polars: writing once more tells.
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as plain:
        return plain.strerror or str(plain)
    return str(error).partition("\n")[0]


def _open_unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError:
        # Network and some overlay file systems cannot; a folder that cannot be written to fails again under a name.
        return None


def _link(descriptor: int, path: Path) -> None:
    """Give a name to a file that has none."""
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
