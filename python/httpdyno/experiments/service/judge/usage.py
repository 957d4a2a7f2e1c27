"""What a server used: CPU for each answer, memory for each request in flight, descriptors over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np

from httpdyno.stats import median

__all__ = ["Descriptors", "Span", "cpu_between_ns", "memory_at", "memory_over"]

_FEWEST: Final = 4
"""Readings that a growth can be told from."""
_FOR_A_CONNECTION: Final = 1.25
"""Descriptors that a server may have for one: itself, and now and then one that is not closed yet."""
_ALWAYS_ALLOWED: Final = 24
"""Descriptors that a server may open in the midst of a load: threads, a log, a garbage collection that is late."""
_RISING: Final = 0.6
"""Of the steps between readings, those that go up in a leak; around a level half of them do at most."""
_AT_LIMIT: Final = 0.97

Series = Sequence[Sequence[int]]
Span = tuple[int, int]
"""From when to when, since the server's exec, in nanoseconds."""


def cpu_between_ns(series: Series | None, span: Span) -> float | None:
    """Return the CPU time that was used in a span, from readings ``[elapsed_ns, user_ns, system_ns]`` that only grow.

    Between readings it is taken to grow evenly. None where the readings do not cover the span.
    """
    if not series or span[0] >= span[1] or series[0][0] > span[0] or series[-1][0] < span[1]:
        return None
    at = np.array([reading[0] for reading in series], dtype=float)
    used = np.array([reading[1] + reading[2] for reading in series], dtype=float)
    before, after = np.interp(span, at, used)
    return float(after - before)


def memory_at(readings: Series, moment_ns: int) -> int | None:
    """Return the last reading ``[elapsed_ns, bytes]`` up to a moment; None before the first one."""
    before = [size for at, size in readings if at <= moment_ns]
    return before[-1] if before else None


def memory_over(readings: Series, span: Span) -> int | None:
    """Return the median reading of a span; None where there is none."""
    within = median([float(size) for at, size in readings if span[0] <= at <= span[1]])
    return None if within is None else round(within)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The open descriptors of a server's processes over time."""

    readings: tuple[tuple[int, int], ...]
    """``(elapsed_ns, count)``."""
    limit: int | None
    """As many as one process may have; None: not known."""
    most_of_one: int | None
    """Most that one process had."""

    @classmethod
    def of(cls, server: Mapping[str, Any]) -> Self:
        """Read them from the engine's report of a server."""
        readings = tuple((int(at), int(count)) for at, count in server.get("descriptors") or ())
        return cls(readings, server.get("descriptor_limit"), server.get("most_descriptors_of_one_process"))

    @property
    def peak(self) -> int | None:
        """The most that were open at once; None where nobody counted."""
        return max((count for _, count in self.readings), default=None)

    def exhausted(self, *, connections: int) -> str | None:
        """State that a process had as many as it may have, though the connections do not take them all; else None."""
        most = self.most_of_one if self.most_of_one is not None else self.peak
        if self.limit is None or most is None or most < _AT_LIMIT * self.limit:
            return None
        if self.limit <= _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections:
            return None
        return f"used up its descriptors, {most:,} of {self.limit:,}, with at most {connections:,} connections"

    def leak(self, span: Span, *, connections: int) -> str | None:
        """State that more and more were open over a span, and more than the connections of its load explain; else None.

        In ``span`` all connections were open, ``connections`` of them at most.
        """
        within = [count for at, count in self.readings if span[0] <= at <= span[1]]
        if len(within) < _FEWEST:
            return None
        steps = list(pairwise(within))
        rising = sum(after > before for before, after in steps)
        before_load = min(count for at, count in self.readings if at <= span[1])
        explained = before_load + _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections
        if within[-1] <= explained or within[-1] <= within[0] or rising < _RISING * len(steps):
            return None
        seconds = (span[1] - span[0]) / 1e9
        return (
            f"descriptors grew from {within[0]:,} to {within[-1]:,} in {seconds:.1f} s, "
            f"while at most {connections:,} connections were open"
        )
