"""Files that exist completely or not at all, also after a kill; the list of URLs and the load reports of a run."""

import gzip
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

from httpdyno.errors import UnreadableRun
from httpdyno.storage import storage_errors
from httpdyno.store.folder import URLS


def storing(path: Path) -> AbstractContextManager[None]:
    """Turn errors of writing results to a folder into ``StorageFailed``."""
    cure = "choose another folder with --out DIR"
    return storage_errors(
        f"{path}: results cannot be written", folder=path, cure=cure, when_full=f"make room or {cure}"
    )


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file and give it its name only when it is complete; replaces an earlier one.

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


_FASTEST: Final = 1


def keep_list(folder: Path, urls: Path) -> None:
    """Keep a list in the folder of a run."""

    def compress(file: IO[bytes]) -> None:
        with urls.open("rb") as lines, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_FASTEST, mtime=0) as kept:
            shutil.copyfileobj(lines, kept)

    with storing(folder):
        write_whole(folder / URLS, compress)


def has_list(folder: Path) -> bool:
    """Return whether a list is kept in the folder of a run."""
    return (folder / URLS).is_file()


def restore_list(folder: Path, into: IO[bytes]) -> None:
    """Write the list that is kept in the folder of a run."""
    path = folder / URLS
    try:
        kept = gzip.open(path, "rb")  # noqa: SIM115  # closed below; only opening it means that it is missing
    except OSError as error:
        raise UnreadableRun(f"{path}: the list of URLs cannot be read: {error.strerror}") from error
    with kept:
        while piece := _next_piece(path, kept):
            with storage_errors("preparing the list of URLs: cannot write"):
                into.write(piece)
    with storage_errors("preparing the list of URLs: cannot write"):
        into.flush()


def _next_piece(path: Path, kept: gzip.GzipFile) -> bytes:
    try:
        return kept.read(1 << 20)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableRun(f"{path}: the list of URLs is damaged; the run cannot be resumed") from error
