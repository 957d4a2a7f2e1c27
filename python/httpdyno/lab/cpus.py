"""CPUs during a measurement: pins processes to them, and keeps them awake."""

import os
import subprocess
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from httpdyno.lab import keep_awake
from httpdyno.subjects.supervisor import start_script


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
    """Keep these CPUs from sleeping within the block, without taking time from other programs on them.

    The host of a virtual machine may take milliseconds to run a sleeping processor, which no counter shows. That delay
    would count as time of the measured program. Each CPU gets a process of the kernel's idle class, which ends with the
    block; its CPU time is part of that of this process's children.
    """
    with ExitStack() as processes:
        for cpu in cpus:
            with pinned({cpu}):
                process = start_script(keep_awake.__file__, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Popen closes its standard input at the end, and waits for it.
            processes.enter_context(process)
        yield
