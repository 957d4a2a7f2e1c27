"""How busy this machine is, by the counters of the kernel, and with which other programs."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.model import ProgramUse

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
_TICK_NS: Final = 10**9 // os.sysconf("SC_CLK_TCK")
_KERNEL: Final = 2
"""The parent of the kernel's own threads, which carry the packets of a trial, too."""
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)
"""User and system time, of its own and of its children that have ended."""
_STARTED: Final = 19
"""Places of these among the fields behind the name."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters that only grow, and the number of sockets that have lost their process."""

    at_ns: int
    """Of a clock that never jumps."""
    ticks: Mapping[int, tuple[int, int]]
    """For each CPU: ticks that it was busy, and all of them."""
    stalled_us: Mapping[str, int] = field(default_factory=dict)
    """For memory and disk: time in which a program waited for it; empty where the kernel does not say."""
    orphans: int | None = None
    """TCP sockets of all namespaces that are still open although their process is gone."""


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


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment."""

    name: str
    parent: int
    ticks: int
    """CPU time of its own and of those of its children that have ended."""
    started: int
    """Tells it apart from one that has got its number since."""


def read_processes(proc: Path = _PROC) -> dict[int, Process]:
    """Read all processes that can be seen, by their number."""
    return dict(_processes(proc))


def _processes(proc: Path) -> Iterator[tuple[int, Process]]:
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended since
        # A name may hold spaces and brackets.
        head, _, tail = text.rpartition(")")
        fields = tail.split()
        ticks = sum(int(field) for field in fields[_TIMES])
        name = head.partition("(")[2]
        yield int(folder.name), Process(name, int(fields[_PARENT]), ticks, int(fields[_STARTED]))


def busiest(
    before: Mapping[int, Process], after: Mapping[int, Process], *, own: int, most: int = 3
) -> tuple[ProgramUse, ...]:
    """Return the programs that used most CPU time in between, by name; neither ``own`` nor what descends from it.

    The earlier CPU time of a child that has ended since, and whose parent has its account, is not counted.
    """
    used: Counter[int] = Counter()
    for number, process in after.items():
        earlier = before.get(number)
        same = earlier is not None and earlier.started == process.started
        used[number] += process.ticks - (earlier.ticks if earlier and same else 0)
    for number, process in before.items():
        there = after.get(number)
        if there is None or there.started != process.started:
            used[_heir(process, before, after)] -= process.ticks
    by_name: Counter[str] = Counter()
    for number, ticks in used.items():
        if (
            ticks > 0
            and number in after
            and not _descends(number, after, own)
            and not _descends(number, after, _KERNEL)
        ):
            by_name[after[number].name] += ticks
    return tuple(ProgramUse(name, ticks * _TICK_NS) for name, ticks in by_name.most_common(most))


def _heir(process: Process, before: Mapping[int, Process], after: Mapping[int, Process]) -> int:
    """Return the process that has the account of an ended one: its parent, or the nearest ancestor that runs."""
    parent = process.parent
    while parent not in after and parent in before:
        parent = before[parent].parent
    return parent


def _descends(number: int, processes: Mapping[int, Process], ancestor: int) -> bool:
    while number in processes:
        if number == ancestor:
            return True
        number = processes[number].parent
    return False
