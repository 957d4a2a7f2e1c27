"""Finds disturbances of a measurement, and repeats measurements that failed on a disturbed machine.

Only tests marked `measured` come here (`make measure`). A test that fails undisturbed has failed. A test that fails
disturbed three times is INCONCLUSIVE: it shows nothing about the program, and is skipped with the disturbance.
"""

import os
import re
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import pytest

__all__ = ["ATTEMPTS", "INCONCLUSIVE", "Moment", "disturbance", "measured", "skip_inconclusive", "wait_for_quiet"]

ATTEMPTS: Final = 3
INCONCLUSIVE: Final = "INCONCLUSIVE"
STOLEN: Final = 0.01
"""Share of a CPU that the host may take, as the kernel counts it."""
OTHERS: Final = 0.1
"""Share of a CPU that other programs may use."""
STALLED: Final = 0.1
"""Share of the time in which something may wait for memory or a disk."""
QUIET_S: Final = 1.0
PATIENCE_S: Final = 60.0
"""How long to wait for a quiet second."""
_STALL: Final = re.compile(r"some .*total=([0-9]+)")
_THROTTLED: Final = re.compile(r"^throttled_(?:usec|time) ([0-9]+)$", re.MULTILINE)
_PROC: Final = Path("/proc")
_GROUPS: Final = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))


class Report(Protocol):
    """Reports of an attempt."""

    @property
    def failed(self) -> bool: ...


R = TypeVar("R", bound=Report)


@dataclass(frozen=True, slots=True)
class Moment:
    """Counters that only grow, in seconds."""

    at_s: float
    stolen_s: float = 0.0
    """By the host, summed over this process's CPUs."""
    busy_s: float = 0.0
    """Of this process's CPUs."""
    own_s: float = 0.0
    """Of the CPU, by this process and its children that have ended."""
    stalled_s: float = 0.0
    """In which a task waited for memory or a disk."""
    throttled: int = 0
    """By the quota of a control group, in units of its own."""

    @classmethod
    def now(cls) -> "Moment":
        """Read the kernel's counters."""
        own = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
        lines = [line.split() for line in (_PROC / "stat").read_text(encoding="ascii").splitlines()]
        fields = [[int(field) for field in line[1:9]] for line in lines if line[0] in own]
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        stalls = [_STALL.search(_text(_PROC / "pressure" / name)) for name in ("io", "memory")]
        throttled = [found for path in _GROUPS for found in _THROTTLED.findall(_text(path))]
        return cls(
            time.monotonic(),
            # user, nice, system, idle, waiting for a disk, interrupts of both kinds, stolen
            stolen_s=sum(cpu[7] for cpu in fields) * tick_s,
            busy_s=sum(sum(cpu[:3]) + cpu[5] + cpu[6] for cpu in fields) * tick_s,
            own_s=sum(one.ru_utime + one.ru_stime for one in usage),
            stalled_s=sum(int(found[1]) for found in stalls if found) / 1e6,
            throttled=sum(int(found) for found in throttled),
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def disturbance(before: Moment, after: Moment) -> str | None:
    """Name the disturbance between two moments; None without one."""
    lasted_s = max(after.at_s - before.at_s, 1e-9)
    stolen = (after.stolen_s - before.stolen_s) / lasted_s
    others = (after.busy_s - before.busy_s - (after.own_s - before.own_s)) / lasted_s
    stalled = (after.stalled_s - before.stalled_s) / lasted_s
    found = [
        f"the host took {stolen:.0%} of a CPU" if stolen > STOLEN else "",
        f"other programs used {others:.0%} of a CPU" if others > OTHERS else "",
        f"memory or disks held it up {stalled:.0%} of the time" if stalled > STALLED else "",
        "a quota held it up" if after.throttled > before.throttled else "",
    ]
    return ", ".join(text for text in found if text) or None


def wait_for_quiet(now: Callable[[], Moment] = Moment.now, sleep: Callable[[float], None] = time.sleep) -> str | None:
    """Wait for a second without disturbance, but not for ever; return the remaining disturbance."""
    end_s = now().at_s + PATIENCE_S
    while True:
        before = now()
        sleep(QUIET_S)
        found = disturbance(before, now())
        if found is None or now().at_s > end_s:
            return found


def measured(
    once: Callable[[], Sequence[R]],
    *,
    now: Callable[[], Moment] = Moment.now,
    wait: Callable[[], object] = wait_for_quiet,
) -> tuple[Sequence[R], str | None]:
    """Measure until it passes or fails undisturbed, at most three times; wait for quiet before each repeat.

    Returns
    -------
    tuple
        The reports of the last attempt, and its disturbance if every attempt failed and was disturbed.
    """
    found = None
    for attempt in range(ATTEMPTS):
        if attempt:
            wait()
        before = now()
        reports = once()
        found = disturbance(before, now()) if any(report.failed for report in reports) else None
        if found is None:
            break
    return reports, found


def skip_inconclusive(reports: Sequence[pytest.TestReport], disturbed: str | None) -> Sequence[pytest.TestReport]:
    """Turn the failures of a test whose every attempt was disturbed into a skip, with the disturbance."""
    for report in reports:
        if disturbed and report.failed:
            path, line, _ = report.location
            report.outcome = "skipped"
            report.longrepr = (path, (line or 0) + 1, f"Skipped: {INCONCLUSIVE} {report.nodeid}: {disturbed}")
    return reports
