"""Programs that are pinned to CPUs and charged for their CPU time; none of them outlives this one."""

import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from httpdyno.errors import NothingMeasured

__all__ = ["Ended", "Server", "run_pinned"]

_PATIENCE_S: Final = 5.0
_LOOK_EVERY_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ran to its end, and what that cost."""

    stdout: str
    elapsed_s: float
    cpu_s: float
    """User and system time of the program and of all children that it waited for."""
    peak_memory_bytes: int
    """The kernel's own high-water mark, as it stood when it was last looked at; 0 where it never was."""


def _pinned(argv: Sequence[str | Path], cpus: Sequence[int]) -> list[str]:
    """Pin a command, and let it die with this process, also when that is killed outright."""
    numbers = ",".join(str(cpu) for cpu in cpus)
    return ["setpriv", "--pdeathsig", "KILL", "--", "taskset", "-c", numbers, *(str(part) for part in argv)]


def run_pinned(
    argv: Sequence[str | Path],
    *,
    cpus: Sequence[int],
    scratch: Path,
    environment: Mapping[str, str] | None = None,
    longest_s: float = 120.0,
    accepted: Sequence[int] = (0,),
) -> Ended:
    """Run a program to its end.

    Raises
    ------
    NothingMeasured
        If it cannot be started, ends with another status than those accepted, or does not end.
    """
    out, err = scratch / "stdout", scratch / "stderr"
    name = Path(argv[0]).name
    with out.open("wb") as stdout, err.open("wb") as stderr:
        began = time.monotonic()
        process = subprocess.Popen(
            _pinned(argv, cpus),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
        )
        try:
            status, usage, peak = _wait(process, began + longest_s)
        except BaseException:
            process.kill()
            process.wait()
            raise
        elapsed = time.monotonic() - began
    if status is None:
        raise NothingMeasured(f"{name}: did not end within {longest_s:g} s")
    if status not in accepted:
        said = err.read_text(errors="replace").split("\n")[0] or out.read_text(errors="replace").split("\n")[0]
        raise NothingMeasured(f"{name}: ended with exit status {status}, saying: {said[:200] or 'nothing'}")
    return Ended(out.read_text(errors="replace"), elapsed, usage.ru_utime + usage.ru_stime, peak)


def _wait(process: "subprocess.Popen[bytes]", until: float) -> tuple[int | None, resource.struct_rusage, int]:
    """Wait for a program by hand: only the kernel's record of this one child tells what it cost."""
    peak = 0
    late = False
    ending = select.poll()
    descriptor = os.pidfd_open(process.pid)
    try:
        ending.register(descriptor, select.POLLIN)
        while not ending.poll(_LOOK_EVERY_MS):
            peak = max(peak, _high_water_bytes(process.pid))
            if time.monotonic() > until and not late:
                late = True
                process.kill()
    finally:
        os.close(descriptor)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (None if late else process.returncode), usage, peak


def _high_water_bytes(pid: int) -> int:
    """Read the most memory that a program ever had resident; the figure of wait4 begins with this program's own."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


class Server:
    """A server process, as a context: it ends with the block."""

    def __init__(self, argv: Sequence[str | Path], *, cpus: Sequence[int], scratch: Path) -> None:
        self._argv = argv
        self._cpus = cpus
        self._log = scratch / f"{Path(argv[0]).name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "a server is used inside its context"
        return self._process

    def __enter__(self) -> Self:
        """Start it."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                _pinned(self._argv, self._cpus), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it, politely first: what it writes at its end is wanted."""
        process = self._running
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def cpu_s(self) -> float:
        """Read the CPU time that all of its threads have used so far, to the nanosecond.

        Raises
        ------
        NothingMeasured
            If it has ended.
        """
        process = self._running
        if process.poll() is not None:
            raise NothingMeasured(f"{self._name}: ended while it was needed, saying: {self.said() or 'nothing'}")
        # The kernel's number of another process's CPU clock, as clock_getcpuclockid makes it: ~pid, then which clock.
        return time.clock_gettime_ns((~process.pid << 3) | 2) / 1e9

    def said(self) -> str:
        """Give the first line of what it printed."""
        return self._log.read_text(errors="replace").strip().split("\n")[0][:200]

    @property
    def _name(self) -> str:
        return Path(self._argv[0]).name
