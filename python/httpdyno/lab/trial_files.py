"""Files that a trial left: the output of the engine and the subject, before anything is judged."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.errors import SubjectUnavailable
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.web_answers import Answers
from httpdyno.storage import storage_errors
from httpdyno.subjects.build import BuildOutcome

_PREFIX: Final = "httpdyno-trial-"
_NAME: Final = re.compile(rf"{_PREFIX}([0-9]+)-.+")


@dataclass(slots=True)
class NotRun:
    """A trial that could not be run, and the reason."""

    reason: str
    version: str | None = None
    """Version of the subject, if it was built."""
    install_command: str | None = None
    install_by_hand: str | None = None
    """What installs a program that is missing."""

    @classmethod
    def of(cls, outcome: BuildOutcome, role: str = "") -> Self:
        """Return the reason why there is no build; ``role`` is that of a program that is not the subject."""
        error = outcome.error or SubjectUnavailable("it was not built", option=outcome.subject.id)
        reason = f"{role}: {error.line}" if role else error.reason
        return cls(reason, install_command=error.install_command, install_by_hand=error.install_by_hand)


@dataclass(slots=True)
class TrialFiles:
    """Files and values that a trial left; the files can be read by their paths until ``close``."""

    report: dict[str, Any]
    """The engine's report of the room, version 1."""
    stdout: ScratchFile
    """Standard output of the subject."""
    stderr: ScratchFile
    """Standard error of the subject."""
    arrivals: ScratchFile
    """Log of the requests that our origin received, as CSV; empty if another server was the peer."""
    driver_output: ScratchFile
    """Output of the driver of a server, and of the generator that it started."""
    said: str = ""
    """End of the engine's own standard error."""
    more: dict[str, ScratchFile] = field(default_factory=dict)
    """Files that only some kinds of subjects leave, by name."""
    answers: Answers | None = None
    """The truth: the web's answers to the list; None for servers and load tools, which get no list."""
    version: str | None = None
    """Version of the subject."""
    parser: str | None = None
    """Parser of the report in ``driver_output``, if another generator than ours sent requests."""
    round_trip_ns: int | None = None
    """Round trip of a packet between subject and peer, measured in such a room; None if not measured."""

    def close(self) -> None:
        """Free the files."""
        for file in (self.stdout, self.stderr, self.arrivals, self.driver_output, *self.more.values()):
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def trial_folder() -> Iterator[Path]:
    """Create a folder below ``$TMPDIR`` for the block.

    Its name contains the number of this process: after SIGKILL, the next call removes it.
    """
    with storage_errors("the files of a trial: cannot be created"):
        sweep(Path(tempfile.gettempdir()))
        folder = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
    with folder as name:
        yield Path(name)


def sweep(among: Path) -> None:
    """Remove the folders whose process has ended."""
    for folder in among.glob(f"{_PREFIX}*"):
        owner = _NAME.fullmatch(folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            shutil.rmtree(folder, ignore_errors=True)
