"""Keeps CPUs from sleeping while times are measured on them."""

import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from httpdyno.lab import keep_awake
from httpdyno.lab.pinning import pinned

__all__ = ["kept_awake"]


@contextmanager
def kept_awake(cpus: Collection[int]) -> Iterator[None]:
    """While the block lasts, let none of these CPUs sleep; what else runs there loses nothing.

    The host of a virtual machine may take milliseconds to run a processor that slept, and no counter says so. That
    would stand in the times of whoever waits on that processor, and is no work of theirs. Each CPU gets a process of
    the kernel's idle class, which has ended when the block has: its CPU time is among that of this process's
    children.
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
