"""Lists of URLs as files, standard input or downloads; plain, gzip or ZIP."""

import gzip
import http.client
import io
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, cast

import httpdyno
from httpdyno.errors import UsageError
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import format_size
from httpdyno.standard_input import standard_input
from httpdyno.storage import storage_errors
from httpdyno.urls.source import STANDARD_INPUT, name_of_list

Received = Callable[[int, int | None], None]
"""Takes the number of bytes so far and the expected number, None if unknown."""

_LARGEST_BYTES: Final = 2 * 1024**3
"""Largest download; for comparison, ten million domains are 400 MiB, or 110 MiB compressed."""
_TIMEOUT_S: Final = 60.0
"""Longest silence of the server."""
_PIECE_BYTES: Final = 256 * 1024
_REASON_LENGTH: Final = 80


def download(url: str, into: IO[bytes], *, progress: Received | None = None) -> None:
    """Download a URL into a file, with redirects and proxies; raise UsageError beyond 2 GiB."""
    received, expected = 0, None
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"httpdyno/{httpdyno.__version__}"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            length = answer.headers.get("Content-Length")
            expected = int(length) if length and length.isdigit() else None
            while received <= _LARGEST_BYTES and (expected is None or expected <= _LARGEST_BYTES):
                if progress:
                    progress(received, expected)
                piece = answer.read(_PIECE_BYTES)
                if not piece:
                    break
                received += len(piece)
                with storage_errors("downloading the list: cannot write"):
                    into.write(piece)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UsageError(
            f"{url}: {_failure(error)}; check the address, or download it yourself and name the file"
        ) from error
    if max(received, expected or 0) > _LARGEST_BYTES:
        raise UsageError(f"{url}: larger than {format_size(_LARGEST_BYTES)}; download it yourself and name the file")
    if expected is not None and received < expected:
        raise UsageError(f"{url}: ended after {format_size(received)} of {format_size(expected)}; try again")
    with storage_errors("downloading the list: cannot write"):
        into.flush()


def _failure(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"the server answers {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"cannot be fetched: the server sent nothing for {_TIMEOUT_S:.0f} s"
    reason = getattr(cause, "strerror", None) or " ".join(str(cause).split())[:_REASON_LENGTH]
    return f"cannot be fetched: {reason or type(cause).__name__}"


_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
"""The first bytes of a packed list."""
_DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError, RuntimeError)


def is_remote(source: str) -> bool:
    """Return whether a list has to be downloaded."""
    return source.lower().startswith(("http://", "https://"))


@contextmanager
def opened_list(source: str, progress: Received | None = None) -> Iterator[IO[bytes]]:
    """Open a list, unpacked: a file, ``-`` for standard input, or a URL; read errors become UsageErrors."""
    name = name_of_list(source)
    with ExitStack() as stack:
        try:
            yield _open(source, progress, stack)
        except _DAMAGED as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UsageError(f"{name}: cannot be unpacked: {reason}; fetch it again, or unpack it yourself") from error
        except OSError as error:
            raise UsageError(f"{name}: cannot be read: {error.strerror or error}; name another file") from error


def _open(source: str, progress: Received | None, stack: ExitStack) -> IO[bytes]:
    if source == STANDARD_INPUT:
        stdin = standard_input().buffer
        packed = stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stdin))
    else:
        path = Path(source)
        if is_remote(source):
            file = stack.enter_context(ScratchFile())
            download(source, file.file, progress=progress)
            path = file.path
        packed = stack.enter_context(path.open("rb"))
    magic = packed.peek(len(_ZIP))
    if magic.startswith(_GZIP):
        return cast("IO[bytes]", stack.enter_context(gzip.open(packed)))
    if not magic.startswith(_ZIP):
        return packed
    if not packed.seekable():
        copy = stack.enter_context(ScratchFile())
        with storage_errors("unpacking the list: cannot write"):
            shutil.copyfileobj(packed, copy.file)
            copy.file.flush()
        packed = stack.enter_context(copy.path.open("rb"))
    archive = stack.enter_context(zipfile.ZipFile(packed))
    members = [member for member in archive.infolist() if not member.is_dir()]
    if not members:
        raise UsageError(f"{name_of_list(source)}: the archive has no file; name the list itself")
    # The archive may hold a licence, too.
    return stack.enter_context(archive.open(max(members, key=lambda member: member.file_size)))
