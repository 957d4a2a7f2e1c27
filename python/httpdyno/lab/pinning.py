"""Starts processes on CPUs of their own."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

__all__ = ["pinned"]


@contextmanager
def pinned(cpus: Collection[int]) -> Iterator[None]:
    """While the block lasts, let this thread and what it starts run on these CPUs only; what it started stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
