"""CPUs while something is measured: processes are pinned to them, they are kept awake, their idle time is read."""

import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from httpdyno.lab import keep_awake

_STAT: Final = Path("/proc/stat")
_LINE: Final = re.compile(r"^cpu([0-9]+) ([0-9 ]+)$", re.MULTILINE)
_NO_PROGRAM: Final = (3, 4, 5, 6)
"""Places of idle, iowait, irq and softirq among the fields of ``/proc/stat``.

The kernel measures the idle time, where it only samples the others: a program that wakes up with each tick of the clock
seems to run all the time, and one that sleeps at each never.
"""


@contextmanager
def pinned(cpus: Collection[int]) -> Iterator[None]:
    """Pin this thread, and the processes that it starts, to these CPUs within the block; the processes stay there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def kept_awake(cpus: Collection[int]) -> Iterator[None]:
    """Keep these CPUs from sleeping within the block; other programs on them lose nothing.

    The host of a virtual machine may take milliseconds to run a processor that slept, without any counter of it. That
    delay would count as time of the measured program. Each CPU gets a process of the kernel's idle class, which has
    ended when the block has: its CPU time is among that of this process's children.
    """
    with ExitStack() as processes:
        for cpu in cpus:
            with pinned({cpu}):
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", keep_awake.__file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    # Ctrl-C in a terminal reaches the parent only.
                    process_group=0,
                )
            # Left, a process is waited for behind the end of its standard input.
            processes.enter_context(process)
        yield


def without_program_s(cpus: Collection[int], *, stat: Path = _STAT, ticks_per_s: int | None = None) -> float:
    """Return the seconds since the machine's start in which no program ran on these CPUs, summed over them."""
    text = stat.read_text(encoding="ascii", errors="replace")
    lines = ((int(cpu), [int(part) for part in fields.split()]) for cpu, fields in _LINE.findall(text))
    ticks = sum(fields[place] for cpu, fields in lines if cpu in cpus for place in _NO_PROGRAM if place < len(fields))
    return ticks / (ticks_per_s or os.sysconf("SC_CLK_TCK"))
