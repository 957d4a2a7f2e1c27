"""Errors of writing, such as a full disk, as one line: for builds, lists and results."""

import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from httpdyno.errors import StorageFailed, StorageFull

_PROBE_BYTES: Final = 1024 * 1024
_OS_ERROR: Final = re.compile(r"\(os error ([0-9]{1,4})\)")
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def storage_errors(
    what: str, *, folder: Path | None = None, cure: str | None = None, when_full: str | None = None
) -> Iterator[None]:
    """Turn errors of writing, also those of polars, into ``StorageFailed``; into ``StorageFull`` if the disk is full.

    ``what`` begins the message ("building subjects: cannot write"); the file follows it, unless ``folder`` is given:
    then ``what`` names the place already. ``when_full`` replaces ``cure`` when there is no room.
    """
    # Most commands do not need polars, and importing it is slow.
    polars = sys.modules.get("polars")
    kinds: tuple[type[Any], ...] = (OSError, polars.exceptions.PolarsError) if polars else (OSError,)
    try:
        yield
    except kinds as error:
        place = f" {error.filename}" if folder is None and getattr(error, "filename", None) else ""
        number, reason = _reason(folder, error)
        full = number in _FULL
        advice = (when_full if full else None) or cure
        advice = advice or ("free some space" if full else "make it writable or name another")
        raise (StorageFull if full else StorageFailed)(f"{what}{place}: {reason}; {advice}") from error


def _reason(folder: Path | None, error: Exception) -> tuple[int | None, str]:
    """Return the number and the text of an error; those of polars contain the system's."""
    if isinstance(error, OSError) and error.strerror:
        return error.errno, error.strerror
    number = _OS_ERROR.search(str(error))
    if number:
        return int(number[1]), os.strerror(int(number[1]))
    # Polars reports some full disks as a "transport error": a second write shows the reason.
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as plain:
        return plain.errno, plain.strerror or str(plain)
    return None, str(error).partition("\n")[0]
