"""Runs a test again that failed while the host of a virtual machine held its CPUs up: that said nothing of the program.

A host that gives its CPUs to others stops a machine for milliseconds to seconds. The kernel counts it as steal, for
each CPU. A failure without it is a failure; one that comes again without it is one, too.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import pytest

__all__ = ["ATTEMPTS", "MOST_STOLEN", "CpuTicks", "read_ticks", "skip_unmeasured", "until_undisturbed"]

MOST_STOLEN: Final = 0.01
"""Of the time of a test's CPUs: with more taken, what it says is not trusted when it fails."""
NOTHING_MEASURED: Final = 0.05
"""With more taken in every attempt, a test that measures could not measure, and is skipped with the reason."""
ATTEMPTS: Final = 4
LONGEST_S: Final = 240.0
"""No attempt begins later: a test may take ten minutes in all."""
CALM_S: Final = 1.0
PATIENCE_S: Final = 20.0
"""How long it is waited for a second without steal."""
_STEAL_FIELD: Final = 8
_LAST_FIELD: Final = 9
"""The fields behind that of steal repeat what user and nice have counted already."""


class Report(Protocol):
    """What an attempt says of itself."""

    @property
    def failed(self) -> bool: ...


R = TypeVar("R", bound=Report)


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """What the kernel has counted of some CPUs since it started."""

    stolen: int
    all: int

    def share_since(self, earlier: "CpuTicks") -> float:
        """Give the share that was stolen since then, 0 to 1."""
        return (self.stolen - earlier.stolen) / max(1, self.all - earlier.all)


def read_ticks(text: str, cpus: Collection[int]) -> CpuTicks:
    """Read ``/proc/stat`` for some CPUs."""
    names = {f"cpu{cpu}" for cpu in cpus}
    lines = [line.split() for line in text.splitlines() if line.split(" ", 1)[0] in names]
    return CpuTicks(
        stolen=sum(int(line[_STEAL_FIELD]) for line in lines),
        all=sum(int(field) for line in lines for field in line[1:_LAST_FIELD]),
    )


def ticks_here() -> CpuTicks:
    """Read those of the CPUs that this process may use."""
    return read_ticks(Path("/proc/stat").read_text(encoding="ascii"), os.sched_getaffinity(0))


def wait_for_calm() -> None:
    """Wait until nothing is stolen for a second, but not for ever."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        before = ticks_here()
        time.sleep(CALM_S)
        if ticks_here().share_since(before) <= MOST_STOLEN:
            return


def until_undisturbed(
    once: Callable[[], Sequence[R]],
    *,
    longest_s: float = LONGEST_S,
    ticks: Callable[[], CpuTicks] = ticks_here,
    wait: Callable[[], None] = wait_for_calm,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Sequence[R], float]:
    """Run a test until it passes, or fails without having been disturbed; at most ``ATTEMPTS`` times.

    Returns
    -------
    tuple
        The reports of the last attempt, and the least share of CPU time that was stolen in an attempt that failed: 0
        when none has.
    """
    begun, least = clock(), 1.0
    for attempt in range(1, ATTEMPTS + 1):
        before = ticks()
        reports = once()
        if not any(report.failed for report in reports):
            return reports, 0.0
        least = min(least, ticks().share_since(before))
        if least <= MOST_STOLEN or attempt == ATTEMPTS or clock() - begun > longest_s:
            break
        wait()
    return reports, least


def skip_unmeasured(reports: Sequence[pytest.TestReport], stolen: float) -> None:
    """Make failures of a test that measures a skip, where it never had its CPUs: nobody could have measured there."""
    if stolen <= NOTHING_MEASURED:
        return
    for report in reports:
        if report.failed:
            path, line, _ = report.location
            reason = f"Skipped: the machine's host took {stolen:.0%} or more of this test's CPUs, each time it was run"
            report.outcome = "skipped"
            report.longrepr = (path, (line or 0) + 1, reason)
