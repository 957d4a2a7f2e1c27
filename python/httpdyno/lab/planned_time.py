"""Time that a web plans for a list of URLs, and duration of a trial with that list."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.lines import read_engine_csv
from httpdyno.model import SubjectKind, TrialPlan
from httpdyno.stats import FloatArray

OVERHEAD_S: Final = 1.0
"""Duration of a trial in addition to its subject's own: creating the room, judging answers, cooling down."""
START_S: Final = 0.5
"""Time until a program's first request: an interpreter takes half of it, a browser or a busy JVM more."""
_REQUEST_S: Final = 0.001
"""Assumed CPU time of a request in an unknown library, as in a slow one: they take 0.05 ms to 1.5 ms."""
_CHECKED_S: Final = 0.0025
"""The same for a 16 KB document that is parsed: 0.4 ms to 3.5 ms."""
_TOOL_S: Final = 0.0005
"""The same for a load tool, which does not parse."""
_SERVFAIL: Final = "servfail"


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """Times that a web plans for one pass through a list of URLs, without the client's own time."""

    total_s: float
    """Sum of all exchanges; one that never ends counts with the client's timeout."""
    longest_s: float
    """Duration of the longest exchange."""
    urls: int = 0
    """Number of exchanges."""
    late: tuple[tuple[float, float], ...] = ()
    """Exchanges that may end last, because no later one is longer: the total time before each, and its own. If empty,
    the
    order of the list is unknown, and the longest exchange may be the last."""
    slow: tuple[int, ...] = ()
    """Indices of the slowest URLs in the list, from 0: first those that only the client's timeout ends, then those
    whose
    name server fails. That takes 2 s in ``top-sites``, and most clients query it twice."""

    @property
    def mean_ns(self) -> float | None:
        """Mean of an exchange; None if the plan has no time."""
        return self.total_s / self.urls * 1e9 if self.total_s else None

    def per_s(self, in_flight: int) -> float | None:
        """Return the URLs per second that the plan allows with this many in flight; None if it has no time."""
        return self.urls * in_flight / self.total_s if self.total_s else None

    def end_s(self, busy_s: float) -> float:
        """Return the latest end of a list that keeps all slots busy for ``busy_s``, and is read in order.

        An exchange begins at the latest when its share of the list has been started.

        References
        ----------
        Graham, Bounds for certain multiprocessing anomalies (1966), Bell System Technical Journal 45(9): list
        scheduling.
        """
        late = self.late if self.total_s else ()
        return max(
            (before_s / self.total_s * busy_s + own_s for before_s, own_s in late), default=busy_s + self.longest_s
        )


def guess_s(plan: TrialPlan, planned: PlannedTime) -> float:
    """Estimate the duration of a trial from the times that its web plans and the time that its subject needs.

    The subject's own time for requests is serial, because it has one processor, but passes while other requests wait.
    """
    waited_s = planned.total_s + planned.urls * plan.condition.link.round_trip_ns / 1e9
    request_s = _CHECKED_S if plan.condition.workload.check else _REQUEST_S
    if plan.subject.request_ms is not None:
        request_s = plan.subject.request_ms / 1000
    elif plan.subject.kind is SubjectKind.TOOL:
        request_s = _TOOL_S
    own_s = planned.urls * request_s
    list_s = planned.end_s(max((waited_s + own_s) / plan.concurrency, own_s))
    return min(START_S + list_s, plan.condition.deadline_s) + OVERHEAD_S


def planned_time(planned_s: FloatArray) -> PlannedTime:
    """Add up the exchanges of a list, given in its order, in seconds."""
    if not len(planned_s):
        return PlannedTime(0.0, 0.0)
    before_s = np.cumsum(planned_s) - planned_s
    longest_after_s = np.append(np.maximum.accumulate(planned_s[::-1])[::-1][1:], -1.0)
    late = np.flatnonzero(planned_s > longest_after_s)
    ends = zip(before_s[late].tolist(), planned_s[late].tolist(), strict=True)
    return PlannedTime(float(planned_s.sum()), float(planned_s.max()), len(planned_s), tuple(ends))


def read_planned_time(expectations: Path, *, timeout_s: float) -> PlannedTime:
    """Add up the exchanges of a list from the output of ``engine expect``; each takes at most the client's timeout.

    Raises ``EngineFailed`` if the file cannot be read.
    """
    timeout_ms = timeout_s * 1000
    rows = read_engine_csv(expectations, {"planned_ms": pl.Float64(), "cause": pl.String()}, "expectations")
    planned_ms = rows["planned_ms"].fill_null(timeout_ms).clip(upper_bound=timeout_ms)
    timed_out = planned_ms >= timeout_ms
    failed = (rows["cause"] == _SERVFAIL).fill_null(value=False) & ~timed_out
    slow = (*timed_out.arg_true(), *failed.arg_true())
    return replace(planned_time(planned_ms.to_numpy() / 1000), slow=slow)
