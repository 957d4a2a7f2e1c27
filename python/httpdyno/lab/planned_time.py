"""How long a web plans to take for a list of URLs, and how long a trial with that list takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model import SubjectKind, TrialPlan
from httpdyno.stats import FloatArray

__all__ = [
    "OVERHEAD_S",
    "START_S",
    "PlannedTime",
    "guess_s",
    "planned_time",
    "read_planned_s",
    "read_planned_time",
    "read_slow",
]

OVERHEAD_S: Final = 1.0
"""What a trial takes besides its subject's own time: a room is made, answers are judged, the machine cools down."""
START_S: Final = 0.5
"""What a program takes until its first request: an interpreter a half of it, a JVM on a busy machine or a browser
more."""
_REQUEST_S: Final = 0.001
"""Libraries take 0.05 ms to 1.5 ms of CPU time for a request: an unknown one is taken for a slow one."""
_CHECKED_S: Final = 0.0025
"""With a document of 16 KB that is parsed: 0.4 ms to 3.5 ms."""
_TOOL_S: Final = 0.0005
"""A load tool parses nothing."""
_PLANNED_MS: Final = pl.col("planned_ms")
_SERVFAIL: Final = "servfail"


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """What a web plans for one pass through a list of URLs, for a client that costs no time itself."""

    total_s: float
    """Of all exchanges, one after the other; one that never ends counts with the client's timeout."""
    longest_s: float
    """Of the longest exchange."""
    urls: int = 0
    """How many exchanges there are."""
    late: tuple[tuple[float, float], ...] = ()
    """The exchanges that may be the last to end, because none after them is longer: the time of all before one, and its
    own. Empty: the order of the list is not known, and the longest exchange may be its last."""

    @property
    def mean_ns(self) -> float | None:
        """The mean of an exchange; None where the plan has no time at all."""
        return self.total_s / self.urls * 1e9 if self.total_s else None

    def per_s(self, in_flight: int) -> float | None:
        """Return the URLs a second that the plan allows with so many in flight; None where it plans no time at all."""
        return self.urls * in_flight / self.total_s if self.total_s else None

    def end_s(self, busy_s: float) -> float:
        """Return the latest end of a list that keeps all slots busy for ``busy_s``, and is read in its order.

        An exchange begins when its share of the list has been begun, at the latest.

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
    """Guess how long a trial takes from what its web has planned and from what a program needs for itself.

    What requests take the subject itself is added one after the other, since it has a processor to itself, but is done
    while others wait.
    """
    waited_s = planned.total_s + planned.urls * plan.condition.link.round_trip_ns / 1e9
    own_s = planned.urls * _request_s(plan)
    list_s = planned.end_s(max((waited_s + own_s) / plan.concurrency, own_s))
    return min(START_S + list_s, plan.condition.deadline_s) + OVERHEAD_S


def _request_s(plan: TrialPlan) -> float:
    """Guess what a request takes the subject itself: what it says of itself, else what such ones take."""
    if plan.subject.request_ms is not None:
        return plan.subject.request_ms / 1000
    if plan.subject.kind is SubjectKind.TOOL:
        return _TOOL_S
    return _CHECKED_S if plan.condition.workload.check else _REQUEST_S


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
    """Add up what ``engine expect`` says of each URL of a list."""
    return planned_time(read_planned_s(expectations, timeout_s=timeout_s))


def read_planned_s(expectations: Path, *, timeout_s: float) -> FloatArray:
    """Read how long each exchange of a list takes, from what ``engine expect`` says of it; at most the timeout."""
    return _read(expectations, _PLANNED_MS.fill_null(timeout_s * 1000).clip(upper_bound=timeout_s * 1000) / 1000)


def read_slow(expectations: Path, *, timeout_s: float) -> tuple[int, ...]:
    """Read which URLs of a list are the slowest, by their places from 0.

    First come those that only the timeout ends, then those whose name server fails: it takes 2 s in ``top-sites``, and
    most clients ask twice.
    """
    timed_out = (timeout_s * 1000 <= _PLANNED_MS).fill_null(value=True)
    kind = _read(expectations, pl.when(timed_out).then(2).when(pl.col("cause") == _SERVFAIL).then(1).otherwise(0))
    return tuple(np.concatenate((np.flatnonzero(kind == 2), np.flatnonzero(kind == 1))).tolist())


def _read(expectations: Path, column: pl.Expr) -> FloatArray:
    types = {"planned_ms": pl.Float64(), "cause": pl.String()}
    try:
        rows = pl.scan_csv(expectations, schema_overrides=types).select(column.alias("column")).collect()
    except pl.exceptions.NoDataError:
        return np.empty(0)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise EngineFailed(f"the engine's expectations cannot be read ({reason}): {RENEW_ENGINE}") from error
    return rows.to_series().cast(pl.Float64).to_numpy()
