"""How busy this machine is: counters of the kernel at one moment, and what two of them say."""

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["MachineUse", "Snapshot", "take_snapshot", "use_between"]

_PROC: Final = Path("/proc")
_STALLING: Final = ("io", "memory")
"""Pressure of the CPU is left out: it is of the whole machine, and the CPUs that matter are looked at one by one."""
_CPU_LINE: Final = re.compile(r"cpu([0-9]+) ([0-9 ]+)")
_STALL_LINE: Final = re.compile(r"some .*total=([0-9]+)")
_ORPHANS: Final = re.compile(r"^TCP: .*\borphan ([0-9]+)", re.MULTILINE)
_IDLE_FIELDS: Final = (3, 4)
"""Places of idle and iowait among the fields of ``/proc/stat``."""
_GUEST_FIELD: Final = 8
"""From here on the fields repeat what user and nice have counted already."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters that only grow, and the number of sockets that have lost their process."""

    at_ns: int
    """Of a clock that never jumps."""
    ticks: Mapping[int, tuple[int, int]]
    """For each CPU: ticks that it was busy, and all of them."""
    stalled_us: Mapping[str, int] = field(default_factory=dict)
    """For memory and disk: time in which somebody had to wait for it; empty where the kernel does not say."""
    orphans: int | None = None
    """TCP sockets of all namespaces that are still open although their process is gone."""


@dataclass(frozen=True, slots=True)
class MachineUse:
    """What the machine was doing between two snapshots, as shares from 0 to 1."""

    busy: Mapping[int, float]
    """By CPU."""
    stalled: Mapping[str, float] = field(default_factory=dict)
    """By resource."""
    orphans: int | None = None


def use_between(before: Snapshot, after: Snapshot) -> MachineUse:
    """Return what the machine was doing between two snapshots.

    A CPU whose counters did not move within the window counts as idle: that is what a kernel without ticks shows.
    """
    window_us = max((after.at_ns - before.at_ns) / 1000, 1)
    busy = {}
    for cpu, (busy_then, all_then) in before.ticks.items():
        if cpu in after.ticks:
            busy_now, all_now = after.ticks[cpu]
            busy[cpu] = (busy_now - busy_then) / (all_now - all_then) if all_now > all_then else 0.0
    stalled = {
        name: min((after.stalled_us[name] - then) / window_us, 1.0)
        for name, then in before.stalled_us.items()
        if name in after.stalled_us
    }
    return MachineUse(busy, stalled, after.orphans)


def take_snapshot(
    cpus: Collection[int], *, proc: Path = _PROC, clock_ns: Callable[[], int] = time.monotonic_ns
) -> Snapshot:
    """Read the counters of some CPUs and of the whole machine; what cannot be read is absent."""
    stalls = {name: _STALL_LINE.search(_text(proc / "pressure" / name)) for name in _STALLING}
    orphans = _ORPHANS.search(_text(proc / "net" / "sockstat"))
    return Snapshot(
        at_ns=clock_ns(),
        ticks={cpu: ticks for cpu, ticks in _ticks(_text(proc / "stat")).items() if cpu in cpus},
        stalled_us={name: int(found[1]) for name, found in stalls.items() if found},
        orphans=int(orphans[1]) if orphans else None,
    )


def _ticks(stat: str) -> dict[int, tuple[int, int]]:
    ticks = {}
    for cpu, line in _CPU_LINE.findall(stat):
        fields = [int(part) for part in line.split()][:_GUEST_FIELD]
        idle = sum(fields[place] for place in _IDLE_FIELDS)
        ticks[int(cpu)] = (sum(fields) - idle, sum(fields))
    return ticks


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
