"""Jobs that run supervised commands, several at a time: builds of subjects, and installations of their needs."""

import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from httpdyno.errors import Interrupted
from httpdyno.storage import storage_errors
from httpdyno.subjects.cache import tool_environment
from httpdyno.subjects.supervisor import start_supervised

_PAUSE_S: Final = 0.05
OVERDUE: Final = 124
"""The exit status of a command that was ended because it took too long."""
_ResultT = TypeVar("_ResultT")
Job = Generator[bool, None, _ResultT]
"""Yields True while its command runs, and False while it waits for something else; returns its result."""


def run_command(
    argv: Sequence[str],
    log: Path,
    folder: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    longest_s: float = float("inf"),
) -> Job[int]:
    """Run a command as a part of a job; return its exit status, ``OVERDUE`` if it takes longer than ``longest_s``.

    Its output is appended to the log, and ``environment`` to the variables of tools. Closing the job ends the command
    with everything that it started.
    """
    with log.open("ab") as output:
        variables = {**tool_environment(), **environment}
        process = start_supervised(argv, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=variables)
    deadline_s = time.monotonic() + longest_s
    try:
        while (status := process.poll()) is None and time.monotonic() < deadline_s:
            yield True
    finally:
        process.communicate()
    return OVERDUE if status is None else status


def run_jobs(
    jobs: Iterable[Job[_ResultT]], *, parallel: int, stop: Callable[[], bool], activity: str
) -> list[_ResultT]:
    """Run jobs, at most ``parallel`` commands at a time; return their results in order.

    ``stop`` is called about twenty times a second. Once it is true, running commands are ended, and Interrupted is
    raised. ``activity`` is part of its message and of that of StorageFailed.
    """
    busy = dict.fromkeys(jobs, False)
    results: dict[Job[_ResultT], _ResultT] = {}
    try:
        while len(results) < len(busy):
            if stop():
                raise Interrupted(f"interrupted while {activity}")
            with storage_errors(f"{activity}: cannot write"):
                for job in [job for job in busy if job not in results]:
                    if not busy[job] and sum(busy.values()) >= parallel:
                        continue
                    try:
                        busy[job] = next(job)
                    except StopIteration as end:
                        results[job], busy[job] = end.value, False
            if len(results) < len(busy):
                time.sleep(_PAUSE_S)
    finally:
        for job in busy:
            job.close()
    return [results[job] for job in busy]
