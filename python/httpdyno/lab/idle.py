"""How long CPUs ran no program: they had nothing to do, or served interrupts."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

__all__ = ["without_program_s"]

_STAT: Final = Path("/proc/stat")
_LINE: Final = re.compile(r"^cpu([0-9]+) ([0-9 ]+)$", re.MULTILINE)
_NO_PROGRAM: Final = (3, 4, 5, 6)
"""Places of idle, iowait, irq and softirq among the fields of ``/proc/stat``.

The kernel measures the idle time, where it only samples the others: a program that wakes up with each tick of the clock
seems to run all the time, and one that sleeps at each never.
"""


def without_program_s(cpus: Collection[int], *, stat: Path = _STAT, ticks_per_s: int | None = None) -> float:
    """Return the seconds since the machine's start in which no program ran on these CPUs, summed over them."""
    text = stat.read_text(encoding="ascii", errors="replace")
    lines = ((int(cpu), [int(part) for part in fields.split()]) for cpu, fields in _LINE.findall(text))
    ticks = sum(fields[place] for cpu, fields in lines if cpu in cpus for place in _NO_PROGRAM if place < len(fields))
    return ticks / (ticks_per_s or os.sysconf("SC_CLK_TCK"))
