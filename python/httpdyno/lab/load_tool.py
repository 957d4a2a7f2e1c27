"""Runs a load generator to its end, on dedicated CPUs."""

import resource
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import Interrupted, NothingMeasured
from httpdyno.lab.cpus import kept_awake, pinned
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.machine_use import without_program_s
from httpdyno.lab.scratch import ScratchFile
from httpdyno.subjects.supervisor import start_supervised

_PAUSE_S: Final = 0.05
_REASON_BYTES: Final = 300


@dataclass(frozen=True, slots=True)
class LoadToolRun:
    """Result of a load generator."""

    text: str
    """All of standard output, whatever the exit status."""
    foreign_share: float
    """Share of the time of its CPUs, 0 to 1, that other programs used."""


def run_load_tool(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    cpus: Collection[int],
    deadline_s: float,
    interruption: Interruption,
) -> LoadToolRun:
    """Run a command under a supervisor that ends all its processes when this process ends; keep its CPUs awake.

    Raises ``Interrupted`` at a signal: the command is killed at once. Raises ``NothingMeasured`` if it does not end in
    time, or fails without standard output; if a failed command printed something, its output counts.
    """
    with ScratchFile() as printed, ScratchFile() as messages:
        begun, idle_before_s, own_before_s = time.monotonic(), without_program_s(cpus), _children_cpu_s()
        with kept_awake(cpus):
            with pinned(cpus):
                process = start_supervised(
                    argv, stdout=printed.file, stderr=messages.file, cwd=folder, env=dict(environment)
                )
            try:
                _wait(process, Path(argv[0]).name, deadline_s, interruption)
            finally:
                process.communicate()
        available_s = (time.monotonic() - begun) * len(cpus)
        idle_s, own_s = without_program_s(cpus) - idle_before_s, _children_cpu_s() - own_before_s
        text = printed.read_text()
        if process.returncode != 0 and not text.strip():
            reason = " ".join(messages.read_text(_REASON_BYTES).split()) or "it printed nothing"
            raise NothingMeasured(f"{Path(argv[0]).name} ended with exit status {process.returncode}: {reason}")
        return LoadToolRun(text, max(0.0, available_s - idle_s - own_s) / available_s)


def _wait(process: "subprocess.Popen[bytes]", program: str, deadline_s: float, interruption: Interruption) -> None:
    end = time.monotonic() + deadline_s
    while process.poll() is None:
        if interruption.requested:
            raise Interrupted("interrupted while a generator was running")
        if time.monotonic() > end:
            raise NothingMeasured(
                f"{program} did not end within {deadline_s:.0f} s, and was killed;"
                " leave it out, or try again when this machine is less busy"
            )
        time.sleep(_PAUSE_S)


def _children_cpu_s() -> float:
    """Return the CPU time of all ended processes that this one started, with their descendants."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
