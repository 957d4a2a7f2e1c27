"""CPU time of a subject as it grew, as the room read it while the subject ran."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.stats import FloatArray, Int64Array

__all__ = ["CpuSeries", "Int64Array"]


@dataclass(frozen=True, slots=True)
class CpuSeries:
    """Readings of the CPU clock of a subject's processes, each shape (n,), ascending; cumulative since exec."""

    started_at_ns: int
    """Exec, since the Unix epoch."""
    elapsed_ns: Int64Array
    """Since exec."""
    cpu_ns: Int64Array
    """User and system time together."""

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Self | None:
        """Read them from the engine's report; None where it did not read the clock."""
        subject = report.get("subject") or {}
        readings, started_at_ns = subject.get("cpu"), subject.get("started_at_ns")
        if not readings or started_at_ns is None:
            return None
        try:
            elapsed, user, system = np.array(readings, dtype=np.int64).T
            return cls(int(started_at_ns), elapsed, user + system)
        except (OverflowError, TypeError, ValueError) as error:
            raise EngineFailed(f"the engine's readings of the CPU clock are none ({error}); {RENEW_ENGINE}") from error

    def at(self, elapsed_ns: FloatArray | Int64Array) -> FloatArray:
        """Return the CPU time that was used until each moment: on a straight line between two readings."""
        times = np.concatenate(([0], self.elapsed_ns))
        return np.asarray(np.interp(elapsed_ns, times, np.concatenate(([0], self.cpu_ns))))

    def between(self, begin_ns: int, end_ns: int) -> float | None:
        """Return the CPU time between two moments since the epoch; None where no reading stands before them."""
        begin, end = begin_ns - self.started_at_ns, end_ns - self.started_at_ns
        if not len(self.elapsed_ns) or begin < self.elapsed_ns[0] or end <= begin:
            return None
        used = np.interp([begin, end], self.elapsed_ns, self.cpu_ns)
        return float(used[1] - used[0])

    @property
    def interval_ns(self) -> float:
        """The usual time between two readings; infinite of fewer than two."""
        return float(np.median(np.diff(self.elapsed_ns))) if len(self.elapsed_ns) > 1 else float("inf")
