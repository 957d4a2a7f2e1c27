"""Starts the engine's load generator, and ends it whatever happens.

Imports next to nothing: ``httpdyno load`` must start at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.lab.scratch import ScratchFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["StartedLoad", "start_load"]

_DESCRIPTORS = "/proc/self/fd/"


class StartedLoad:
    """A load under way.

    Attributes
    ----------
    engine : str
        The program.
    process : subprocess.Popen
        Its process.
    progress : int
        Descriptor from which its progress is read.
    report : ScratchFile
        Where it leaves its report.
    said : ScratchFile
        What it writes to stdout and stderr.
    """

    __slots__ = ("engine", "process", "progress", "report", "said")

    def __init__(
        self, engine: str, process: subprocess.Popen[bytes], progress: int, report: ScratchFile, said: ScratchFile
    ) -> None:
        self.engine = engine
        self.process = process
        self.progress = progress
        self.report = report
        self.said = said


@contextmanager
def start_load(engine: str, arguments: Sequence[str]) -> Iterator[StartedLoad]:
    """Start a load; at the end of the block its process is gone, killed if it has not ended by itself.

    ``arguments`` are those of ``load_arguments``.
    """
    with ScratchFile() as report, ScratchFile() as said:
        reading, writing = os.pipe()
        try:
            try:
                process = _start(engine, arguments, report, said, writing)
            finally:
                os.close(writing)
            try:
                yield StartedLoad(engine, process, reading, report, said)
            finally:
                _end(process)
        finally:
            os.close(reading)


def _start(
    engine: str, arguments: Sequence[str], report: ScratchFile, said: ScratchFile, writing: int
) -> subprocess.Popen[bytes]:
    argv = [engine, "load", f"--report={_DESCRIPTORS}{report.descriptor}", f"--progress={writing}", *arguments]
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=said.file,
            stderr=said.file,
            pass_fds=[report.descriptor, writing, *_inherited(arguments)],
            # Ctrl-C in a terminal reaches this process only, which then ends the load in order.
            process_group=0,
        )
    except OSError as error:
        raise EngineFailed(f"the engine {engine} cannot be started: {error.strerror}; {RENEW_ENGINE}") from error


def _inherited(arguments: Sequence[str]) -> list[int]:
    """Return the descriptors of files that have no name: a list of standard input, what goes into a pipe."""
    prefixes = tuple(f"{name}={_DESCRIPTORS}" for name in ("--urls", "--requests-file", "--samples", "--hdr-log"))
    numbers = [word.rpartition("/")[2] for word in arguments if word.startswith(prefixes)]
    return [int(number) for number in numbers if number.isdecimal()]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
