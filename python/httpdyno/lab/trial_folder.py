"""The folder of one trial, for files that must have names; what a killed process left of an earlier one is removed."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from httpdyno.storage import storage_errors

__all__ = ["TrialFolder", "sweep"]

_PREFIX: Final = "httpdyno-trial-"
_NAME: Final = re.compile(rf"{_PREFIX}([0-9]+)-.+")


class TrialFolder:
    """A folder below ``$TMPDIR`` that is gone when its context ends.

    Its name tells whose it is: after SIGKILL nobody removes it, and the next one that is made does.
    """

    def __init__(self) -> None:
        with storage_errors("the files of a trial: cannot be made"):
            sweep(Path(tempfile.gettempdir()))
            self._folder = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
        self.path: Final = Path(self._folder.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()


def sweep(among: Path) -> None:
    """Remove the folders whose process is no more."""
    for folder in among.glob(f"{_PREFIX}*"):
        owner = _NAME.fullmatch(folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            shutil.rmtree(folder, ignore_errors=True)
