"""The list of URLs in the folder of a run, compressed: kept until the run is complete and it is not needed any more."""

import gzip
import shutil
import zlib
from pathlib import Path
from typing import IO, Final

from httpdyno.errors import UnreadableRun
from httpdyno.storage import storage_errors
from httpdyno.store.files import storing, write_whole
from httpdyno.store.layout import URLS

__all__ = ["has_list", "keep_list", "restore_list"]

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
