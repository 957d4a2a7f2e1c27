"""Artifacts of trials in the folder of a run: what the engine and the subject wrote, compressed, and the truth."""

import gzip
import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Final

from httpdyno.errors import UnreadableRun
from httpdyno.storage import storage_errors
from httpdyno.store.files import storing, write_whole
from httpdyno.store.folder import ARTIFACTS, artifacts_of

__all__ = [
    "artifacts_bytes",
    "has_artifacts",
    "keep_artifacts",
    "keep_truth",
    "open_artifacts",
    "read_truth",
    "remove_artifacts",
]

_FASTEST: Final = 1
_PIECE: Final = 1 << 20


def keep_artifacts(folder: Path, number: int, files: Mapping[str, Path], values: Mapping[str, bytes]) -> int:
    """Keep the files of a trial, and a few values as files; return how many bytes they take."""

    def archive(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_FASTEST) as kept:
            for name, content in values.items():
                kept.writestr(name, content)
            for name, path in files.items():
                with path.open("rb") as source, kept.open(name, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target)

    return _write(folder, artifacts_of(number), archive)


def keep_truth(folder: Path, source: Path) -> tuple[str, int]:
    """Keep what a web answers to a list, once; return its name, and how many bytes were written."""
    with source.open("rb") as content:
        name = f"truth-{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}.gz"
    if (folder / ARTIFACTS / name).exists():
        return name, 0

    def compress(file: IO[bytes]) -> None:
        with source.open("rb") as content, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_FASTEST) as kept:
            shutil.copyfileobj(content, kept)

    return name, _write(folder, f"{ARTIFACTS}/{name}", compress)


def remove_artifacts(folder: Path, number: int) -> None:
    """Remove the artifacts of a trial."""
    (folder / artifacts_of(number)).unlink()


def has_artifacts(folder: Path, number: int) -> bool:
    """Return whether the artifacts of a trial are in the folder of its run."""
    return (folder / artifacts_of(number)).is_file()


def artifacts_bytes(folder: Path) -> int:
    """Return how many bytes the artifacts of a run take."""
    return sum(file.stat().st_size for file in (folder / ARTIFACTS).glob("*"))


@contextmanager
def open_artifacts(folder: Path, number: int) -> Iterator[zipfile.ZipFile]:
    """Open the archive of a trial; what is damaged in it is an ``UnreadableRun``."""
    path = folder / artifacts_of(number)
    try:
        with zipfile.ZipFile(path) as kept:
            yield kept
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise UnreadableRun(f"{path}: the artifacts are damaged: {error}; remove the file") from error


def read_truth(folder: Path, name: str, into: IO[bytes]) -> None:
    """Write what ``keep_truth`` has kept under a name."""
    path = folder / ARTIFACTS / name
    try:
        with gzip.open(path) as kept:
            while piece := kept.read(_PIECE):
                with storage_errors("temporary files: cannot write"):
                    into.write(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableRun(f"{path}: the truth of the run is damaged: {error}; remove {path.parent}") from error
    into.flush()


def _write(folder: Path, name: str, write: Callable[[BinaryIO], object]) -> int:
    path = folder / name
    with storing(folder):
        path.parent.mkdir(exist_ok=True)
        write_whole(path, write)
        return path.stat().st_size
