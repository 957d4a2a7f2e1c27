"""Which programs beside our own used the CPU between two moments, as the kernel accounts for processes."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.model import ProgramUse

__all__ = ["Process", "busiest", "read_processes"]

_PROC: Final = Path("/proc")
_TICK_NS: Final = 10**9 // os.sysconf("SC_CLK_TCK")
_KERNEL: Final = 2
"""The parent of the kernel's own threads, which carry the packets of a trial, too."""
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)
"""User and system time, of its own and of its children that have ended."""
_STARTED: Final = 19
"""Places of these among the fields behind the name."""


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

    What a child had used before counts to nobody when it has ended since and its parent took its account over.
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
    """Return who has the account of a process that has ended: its parent, or whoever has that one's."""
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
