"""Use of this machine, from the counters of the kernel, and the other programs that use it."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.model import ProgramUse

_PROC: Final = Path("/proc")
_STALLING: Final = ("io", "memory")
"""Resources with pressure counters, without the CPU: its pressure is of the whole machine, while trials read their
CPUs."""
_CPU_LINE: Final = re.compile(r"^cpu([0-9]+) ([0-9 ]+)$", re.MULTILINE)
_STALL_LINE: Final = re.compile(r"some .*total=([0-9]+)")
_ORPHANS: Final = re.compile(r"^TCP: .*\borphan ([0-9]+)", re.MULTILINE)
_IDLE_FIELDS: Final = (3, 4)
"""Indices of idle and iowait among the fields of ``/proc/stat``."""
_NO_PROGRAM_FIELDS: Final = (3, 4, 5, 6)
"""Indices of idle, iowait, irq and softirq.

The kernel measures only the idle time, and samples the others: a program that wakes up with each clock tick seems to
run all the time, and one that sleeps at each tick never.
"""
_GUEST_FIELD: Final = 8
"""Index of the first field that is part of user and nice."""
_TICK_NS: Final = 10**9 // os.sysconf("SC_CLK_TCK")
_KERNEL: Final = 2
"""PID of the parent of the kernel's own threads, which also carry the packets of a trial."""
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)
"""User and system time of the process, and of its ended children."""
_STARTED: Final = 19
"""Indices of these among the fields after the name."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters that only increase, and the number of sockets without a process."""

    at_ns: int
    """Time of a monotonic clock."""
    ticks: Mapping[int, tuple[int, int]]
    """For each CPU: busy ticks, and all ticks."""
    stalled_us: Mapping[str, int] = field(default_factory=dict)
    """For memory and disk: time in which a program waited for it; empty if the kernel has no pressure counters."""
    orphans: int | None = None
    """TCP sockets of all namespaces that are open although their process has ended."""


@dataclass(frozen=True, slots=True)
class MachineUse:
    """Use of the machine between two snapshots, as shares from 0 to 1."""

    busy: Mapping[int, float]
    """By CPU."""
    stalled: Mapping[str, float] = field(default_factory=dict)
    """By resource."""
    orphans: int | None = None


def use_between(before: Snapshot, after: Snapshot) -> MachineUse:
    """Return the use of the machine between two snapshots.

    A CPU whose counters did not change counts as idle: a kernel without ticks shows that.
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
    """Read the counters of some CPUs and of the whole machine; unreadable ones are absent."""
    stalls = {name: _STALL_LINE.search(_text(proc / "pressure" / name)) for name in _STALLING}
    orphans = _ORPHANS.search(_text(proc / "net" / "sockstat"))
    fields = _cpu_fields(proc, cpus)
    return Snapshot(
        at_ns=clock_ns(),
        ticks={cpu: (sum(of) - sum(of[place] for place in _IDLE_FIELDS), sum(of)) for cpu, of in fields.items()},
        stalled_us={name: int(found[1]) for name, found in stalls.items() if found},
        orphans=int(orphans[1]) if orphans else None,
    )


def without_program_s(cpus: Collection[int], *, proc: Path = _PROC, ticks_per_s: int | None = None) -> float:
    """Return the seconds since the machine's start in which no program ran on these CPUs, summed over them."""
    fields = _cpu_fields(proc, cpus).values()
    ticks = sum(of[place] for of in fields for place in _NO_PROGRAM_FIELDS)
    return ticks / (ticks_per_s or os.sysconf("SC_CLK_TCK"))


def _cpu_fields(proc: Path, cpus: Collection[int]) -> dict[int, list[int]]:
    """Read the ticks of each CPU by kind, without guest time."""
    lines = _CPU_LINE.findall(_text(proc / "stat"))
    return {int(cpu): [int(part) for part in line.split()][:_GUEST_FIELD] for cpu, line in lines if int(cpu) in cpus}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment."""

    name: str
    parent: int
    ticks: int
    """CPU time of the process, and of its ended children."""
    started: int
    """Start time, which distinguishes it from a later process with the same number."""


def read_processes(proc: Path = _PROC) -> dict[int, Process]:
    """Read all visible processes, by number."""
    processes = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        # A name may contain spaces and brackets.
        head, _, tail = text.rpartition(")")
        fields = tail.split()
        ticks = sum(map(int, fields[_TIMES]))
        name, parent, started = head.partition("(")[2], int(fields[_PARENT]), int(fields[_STARTED])
        processes[int(folder.name)] = Process(name, parent, ticks, started)
    return processes


def busiest(
    before: Mapping[int, Process], after: Mapping[int, Process], *, own: int, most: int = 3
) -> tuple[ProgramUse, ...]:
    """Return the programs that used most CPU time in between, by name, without ``own`` and its descendants.

    If a child has ended, and its parent counts its CPU time, its earlier CPU time is not counted again.
    """
    used: Counter[int] = Counter()
    for number, process in after.items():
        earlier = before.get(number)
        used[number] += process.ticks - (earlier.ticks if earlier and earlier.started == process.started else 0)
    for number, process in before.items():
        there = after.get(number)
        if there is None or there.started != process.started:
            # Its CPU time is counted for its parent, or for the nearest ancestor that runs.
            heir = process.parent
            while heir not in after and heir in before:
                heir = before[heir].parent
            used[heir] -= process.ticks
    by_name: Counter[str] = Counter()
    for number in after:
        if used[number] > 0 and not any(_descends(number, after, ancestor) for ancestor in (own, _KERNEL)):
            by_name[after[number].name] += used[number]
    return tuple(ProgramUse(name, ticks * _TICK_NS) for name, ticks in by_name.most_common(most))


def _descends(number: int, processes: Mapping[int, Process], ancestor: int) -> bool:
    while number in processes:
        if number == ancestor:
            return True
        number = processes[number].parent
    return False
