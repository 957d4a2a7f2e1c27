"""Jobs that run supervised commands, several at a time: builds of subjects, and installations of what they need."""

import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from httpdyno.errors import Interrupted
from httpdyno.storage import storage_errors
from httpdyno.subjects.cache import tool_environment
from httpdyno.subjects.supervisor import start_supervised

_PAUSE_S: Final = 0.05
OVERDUE: Final = 124
"""The exit status of a command that was ended because it took too long."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a job."""

    argv: list[str]
    log: Path
    """Its output is appended to this file."""
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those of tools."""
    longest_s: float = float("inf")


_ResultT = TypeVar("_ResultT")
Job = Generator[Command | None, int, _ResultT]
"""Yields each command, or None when it has to wait; receives the command's exit status, and returns its result."""


class _Running(Generic[_ResultT]):
    """A job, and the command that runs for it."""

    def __init__(self, job: Job[_ResultT]) -> None:
        self._job = job
        self._deadline_s = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.result: _ResultT

    def is_done(self, *, may_start: bool) -> bool:
        """Start the next command when the last one has ended; return whether the job is done, with its result."""
        if self.process is None and not may_start:
            return False
        status = None
        if self.process is not None:
            status = self.process.poll()
            if status is None and time.monotonic() < self._deadline_s:
                return False
            self._end_process()
            status = OVERDUE if status is None else status
        try:
            # A job that has not begun, or waits, is sent nothing.
            command = next(self._job) if status is None else self._job.send(status)
        except StopIteration as end:
            self.result = end.value
            return True
        if command is not None:
            self._start(command)
        return False

    def end(self) -> None:
        """End the job, and everything that its command started."""
        self._end_process()
        self._job.close()

    def _start(self, command: Command) -> None:
        with command.log.open("ab") as log:
            environment = {**tool_environment(), **command.environment}
            self.process = start_supervised(
                command.argv, stdout=log, stderr=subprocess.STDOUT, cwd=command.folder, env=environment
            )
        self._deadline_s = time.monotonic() + command.longest_s

    def _end_process(self) -> None:
        if self.process is not None:
            self.process.communicate()
        self.process = None


def run_jobs(
    jobs: Iterable[Job[_ResultT]], *, parallel: int, stop: Callable[[], bool], activity: str
) -> list[_ResultT]:
    """Run jobs, at most ``parallel`` commands at a time; return their results in order.

    ``stop`` is called about twenty times a second: once it is true, running commands are ended, and Interrupted is
    raised. ``activity`` is for its message and that of StorageFailed.
    """
    every = [_Running(job) for job in jobs]
    pending = list(every)
    try:
        while pending:
            if stop():
                raise Interrupted(f"interrupted while {activity}")
            with storage_errors(f"{activity}: cannot write"):
                for running in list(pending):
                    busy = sum(one.process is not None for one in pending)
                    if running.is_done(may_start=busy < parallel):
                        pending.remove(running)
            if pending:
                time.sleep(_PAUSE_S)
    finally:
        for running in pending:
            running.end()
    return [running.result for running in every]
