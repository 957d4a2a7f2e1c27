"""The folder of a run before it has its name and after: nobody sees a run without its manifest, also after a kill."""

import errno
import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from httpdyno.errors import StorageFailed
from httpdyno.store.lock import holder_of

__all__ = ["make_unborn", "name_born", "take_back"]

_UNBORN: Final = re.compile(r"\.[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+\.[0-9a-f]{8}")
_FORGOTTEN_S: Final = 60
"""Whoever makes one gives it its name within milliseconds."""
_NAMES_TRIED: Final = 1000
_TAKEN: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


def make_unborn(root: Path, name: str) -> Path:
    """Make a hidden folder below ``root``, which is made if it must be; remove those that kills have left there."""
    root.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a folder that may be written, but not listed
        for left in root.iterdir():
            if _UNBORN.fullmatch(left.name) and _forgotten(left):
                shutil.rmtree(left, ignore_errors=True)
    unborn = _without_name(root, name)
    unborn.mkdir()
    return unborn


def name_born(unborn: Path, wanted: Path) -> Path:
    """Rename the folder to the wanted name, or that with the first number behind it that is free; return its path."""
    for attempt in range(1, _NAMES_TRIED):
        folder = wanted if attempt == 1 else wanted.with_name(f"{wanted.name}-{attempt}")
        try:
            # An empty folder of that name would be replaced: it is no run.
            return unborn.rename(folder)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
    raise StorageFailed(f"{wanted}: too many runs within one second; move some of them away")


def take_back(folder: Path) -> None:
    """Remove the folder of a run; one that cannot lose its name stays as it is, with its manifest."""
    unborn = _without_name(folder.parent, folder.name)
    with suppress(OSError):
        folder.rename(unborn)
        shutil.rmtree(unborn, ignore_errors=True)


def _without_name(root: Path, name: str) -> Path:
    return root / f".{name}.{secrets.token_hex(4)}"


def _forgotten(folder: Path) -> bool:
    try:
        age_s = time.time() - folder.stat().st_mtime
    except OSError:
        return False
    return age_s > _FORGOTTEN_S and holder_of(folder) is None
