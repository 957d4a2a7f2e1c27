"""Files that are complete or absent, also after a kill; the list of URLs of a run."""

import gzip
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from httpdyno.errors import UnreadableRun
from httpdyno.storage import storage_errors
from httpdyno.store.folder import URLS


def storing(path: Path) -> AbstractContextManager[None]:
    """Turn errors of writing results to a folder into ``StorageFailed``."""
    cure = "choose another folder with --out DIR"
    return storage_errors(
        f"{path}: results cannot be written", folder=path, cure=cure, when_full=f"free some space or {cure}"
    )


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file, which gets its name only when it is complete; replace an earlier one.

    Until then the file has no name, if the file system supports that, so that SIGKILL leaves no file behind.
    """
    named = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        unnamed = _open_unnamed(path.parent)
        with named.open("xb") if unnamed is None else os.fdopen(unnamed, "wb") as file:
            write(file)
            file.flush()
            if unnamed is not None:
                new = not path.exists()
                _link(unnamed, path if new else named)
                if new:
                    return
        named.replace(path)
    except BaseException:
        with suppress(OSError):
            named.unlink()
        raise


def _open_unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError:
        # Network and some overlay file systems lack unnamed files; without write access the named file fails, too.
        return None


def _link(descriptor: int, path: Path) -> None:
    """Name a file that has no name."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(str(descriptor), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def compressed(source: Path) -> Callable[[IO[bytes]], None]:
    """Return a function that writes the content of a file compressed, for ``write_whole``."""

    def write(file: IO[bytes]) -> None:
        with source.open("rb") as text, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as kept:
            shutil.copyfileobj(text, kept)

    return write


def keep_list(folder: Path, urls: Path) -> None:
    """Keep a list in the folder of a run."""
    with storing(folder):
        write_whole(folder / URLS, compressed(urls))


def unpack(path: Path, what: str, cure: str) -> Iterator[bytes]:
    """Yield the content of a compressed file in pieces; raise ``UnreadableRun`` if it is missing or damaged."""
    try:
        with gzip.open(path, "rb") as kept:
            while piece := kept.read(1 << 20):
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise UnreadableRun(f"{path}: {what} cannot be read: {error.strerror}") from error
        raise UnreadableRun(f"{path}: {what} is damaged; {cure}") from error


def kept_list(folder: Path) -> Iterator[bytes]:
    """Yield the list that is kept in the folder of a run, in pieces."""
    return unpack(folder / URLS, "the list of URLs", "the run cannot be resumed")
