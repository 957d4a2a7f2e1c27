"""Runs a load generator to its end, on CPUs of its own, and gives what it printed."""

import contextlib
import resource
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import Interrupted, NothingMeasured
from httpdyno.lab.cpus import kept_awake, pinned, without_program_s
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.scratch import ScratchFile
from httpdyno.subjects import supervisor

__all__ = ["LoadToolRun", "run_load_tool"]

_PAUSE_S: Final = 0.05
_SAID: Final = 300


@dataclass(frozen=True, slots=True)
class LoadToolRun:
    """What came of it."""

    text: str
    """All of standard output, whatever the exit status: whether it is a report is for its parser to say."""
    foreign_share: float
    """The share of the time of its CPUs, 0 to 1, that other programs had."""


def run_load_tool(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    cpus: Collection[int],
    deadline_s: float,
    interruption: Interruption,
) -> LoadToolRun:
    """Run a command under a supervisor that ends all it started when this process is gone.

    Its CPUs are kept awake meanwhile. A signal kills it at once: half of a measurement is none. Raises
    ``NothingMeasured`` when it does not end in time, or fails without a word on standard output; what it prints counts
    though it fails.
    """
    with ScratchFile() as printed, ScratchFile() as said:
        begun, idle_before_s, own_before_s = time.monotonic(), without_program_s(cpus), _children_cpu_s()
        with kept_awake(cpus):
            with pinned(cpus):
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", supervisor.__file__, *argv],
                    stdin=subprocess.PIPE,
                    stdout=printed.file,
                    stderr=said.file,
                    cwd=folder,
                    env=dict(environment),
                    process_group=0,
                )
            try:
                _wait(process, argv[0], deadline_s, interruption)
            finally:
                _end(process)
        available_s = (time.monotonic() - begun) * len(cpus)
        idle_s, own_s = without_program_s(cpus) - idle_before_s, _children_cpu_s() - own_before_s
        text = printed.read_text()
        if process.returncode != 0 and not text.strip():
            reason = " ".join(said.read_text(_SAID).split()) or "it says nothing"
            raise NothingMeasured(f"{Path(argv[0]).name} ended with exit status {process.returncode}: {reason}")
        return LoadToolRun(text, max(0.0, available_s - idle_s - own_s) / available_s)


def _wait(process: "subprocess.Popen[bytes]", program: str, deadline_s: float, interruption: Interruption) -> None:
    end = time.monotonic() + deadline_s
    while process.poll() is None:
        if interruption.requested:
            raise Interrupted("interrupted while a generator was running")
        if time.monotonic() > end:
            raise NothingMeasured(
                f"{Path(program).name} did not end within {deadline_s:.0f} s, and was killed;"
                " leave it out, or try again when this machine has less to do"
            )
        time.sleep(_PAUSE_S)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close the supervisor's leash: whatever still runs is killed."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()


def _children_cpu_s() -> float:
    """Return the CPU time of all processes that were started here and have ended, with all that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
