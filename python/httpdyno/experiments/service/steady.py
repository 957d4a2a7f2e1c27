"""The steady stretch of a load: its bounds, its samples, and their distribution."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl

from httpdyno.experiments.service.figures import HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.model import Loop, format_time
from httpdyno.stats import nearest_rank

SHORTEST_UNIT_NS: Final = 500_000_000
"""Assumed length of a round if requests do not wait: it fits the requests that figures need."""
_DRAIN_UNITS: Final = 1.5
"""More than the 1.1 times the ideal within which a point is held, so that late requests at the end are seen."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time in which a request must begin to count, in ns since the load began.

    If all connections of a closed loop began at once, they would send at the same moments for ever: each answer of a
    server that waits 2 s comes 2 s later, and the next request with it. Connections therefore begin one after the other
    over one ideal (``ramp_ns``), which spreads the requests evenly, as after a long time of random delays. After
    another ideal the first requests of all connections have ended, with the cost of opening connections. Requests of
    the last one and a half ideals do not count, since the load ends before they could be late.

    References
    ----------
    Little, A proof for the queuing formula L = λW, Operations Research 9 (1961): what is in flight, how often it comes
    and how long it stays go together only while none of them changes.
    """

    begin_ns: int
    end_ns: int

    @classmethod
    def of(cls, point: ServicePoint, *, sent_ns: int) -> Self:
        """Return the stretch of a load that sends for ``sent_ns``; an empty one where that is too short."""
        begin_ns = _settled_ns(point)
        return cls(begin_ns, max(begin_ns, sent_ns - _drain_ns(point)))

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.begin_ns


def unit_ns(point: ServicePoint) -> int:
    """Return the length of a round: the ideal of a request, if it has one."""
    return max(point.ideal_ns, SHORTEST_UNIT_NS)


def ramp_ns(point: ServicePoint) -> int:
    """Return the time over which the connections of a closed loop begin; 0 for an open loop, which has a schedule.

    It is one ideal, however short: with one and a quarter, a quarter of them would send together with others, for ever.
    """
    return point.ideal_ns or SHORTEST_UNIT_NS if point.loop is Loop.CLOSED else 0


def send_ns(point: ServicePoint, measured_ns: int) -> int:
    """Return how long to send so that the steady stretch is that long."""
    return _settled_ns(point) + measured_ns + _drain_ns(point)


def _settled_ns(point: ServicePoint) -> int:
    return ramp_ns(point) + unit_ns(point)


def _drain_ns(point: ServicePoint) -> int:
    return round(_DRAIN_UNITS * unit_ns(point))


def connections_of(point: ServicePoint) -> int:
    """Return the most connections of a load: an open loop has twice as many as an ideal server needs.

    With fewer, requests to a slow server would wait in the generator.
    """
    return point.connections if point.loop is Loop.CLOSED else 2 * point.connections + 1


OPEN: Final = "Open"
"""End of a sample that was still open when the load ended."""
FEWEST_OF_P999: Final = 1000
"""Fewer requests have no 99.9th percentile that is not the longest."""
_SLOWEST: Final = 0.05
RIGHT: Final = "200"
SHARE_ALLOWED: Final = 0.01
"""Share of failed requests with which a point is held."""
_Times = np.ndarray[tuple[int], np.dtype[np.float64]]
_Instants = np.ndarray[tuple[int], np.dtype[np.int64]]


def measure_steady(samples: pl.DataFrame, stretch: Stretch, point: ServicePoint) -> ServiceSummary:
    """Return the figures of the steady stretch, from the samples of our own generator.

    Requests count that began in the stretch or outlasted it, since a connection without an answer begins none in it. In
    a closed loop, a request that outlasted it counts as often as others were answered in that time. A request that was
    open at the end counts with the time that it had waited; a failed request has an infinite time.

    A time below the ideal has the same overhead as a time equally far above it: a server that answers before the wait
    is over did not wait, which is no advantage.

    ``samples`` have ``intended_ns`` and ``end_ns``, since the load began, and ``status_or_error``: a row for each
    request, also for those that were open at the end (``OPEN``).
    """
    begins, ends = samples["intended_ns"].to_numpy(), samples["end_ns"].to_numpy()
    endings, ideal_ns = samples["status_or_error"], point.ideal_ns
    right, still = (endings == RIGHT).to_numpy(), (endings == OPEN).to_numpy()
    outlasting = (begins < stretch.begin_ns) & (ends >= stretch.end_ns)
    counts = ((begins >= stretch.begin_ns) & (begins < stretch.end_ns)) | outlasting
    all_times = np.where(right | still, ends - begins, np.inf)
    answered = all_times[right & (ends >= stretch.begin_ns) & (ends < stretch.end_ns)]
    times, waiting = all_times[counts], (ends - begins)[counts & still]
    if point.loop is Loop.CLOSED and answered.size and outlasting.any():
        others = max(1, round(stretch.length_ns / float(np.median(answered))))
        times = np.concatenate([times, np.repeat(all_times[outlasting], others - 1)])
    times = np.sort(times)
    overheads = np.sort(np.abs(times - ideal_ns))
    failures = endings.filter(counts & ~right & ~still).value_counts(sort=True).rows()
    p99_ns = _percentile(times, 99.0)
    summary = ServiceSummary(
        answers=len(answered),
        errors=sum(count for _, count in failures),
        failures=", ".join(f"{count:,} x {ended_with}" for ended_with, count in failures) or None,
        still_open=len(waiting),
        measured_ns=stretch.length_ns,
        per_s=len(answered) * 1e9 / stretch.length_ns if stretch.length_ns else None,
        mean_ns=_mean(times),
        p50_ns=_percentile(times, 50.0),
        p95_ns=_percentile(times, 95.0),
        p99_ns=p99_ns,
        p999_ns=_percentile(times, 99.9),
        max_ns=_percentile(times, 100.0),
        # One request at least, as in rewrk.
        slowest_5_ns=_mean(times[-max(1, int(len(times) * _SLOWEST)) :]),
        at_least=p99_ns is not None and bool(len(waiting)) and p99_ns >= float(waiting.min()),
        overhead_p50_ns=_percentile(overheads, 50.0),
        overhead_p99_ns=_percentile(overheads, 99.0),
        overhead_p999_ns=_percentile(overheads, 99.9),
        early=int((answered < ideal_ns).sum()),
        early_by_ns=early_by_ns(float(answered.min()) if len(answered) else None, ideal_ns),
        open_mean=_mean_in_flight(begins, ends, stretch),
    )
    if point.endpoint is not Endpoint.WORKLOADS:
        return summary
    why = _why_not(summary, times, point)
    return replace(summary, held=why is None, why_not=why)


def _why_not(summary: ServiceSummary, times: _Times, point: ServicePoint) -> str | None:
    limit_ns = HELD_WITHIN * point.ideal_ns
    if not len(times):
        return "no request began in the steady stretch: all waited for an answer"
    if summary.errors / len(times) > SHARE_ALLOWED:
        return f"{100 * summary.errors / len(times):.1f} % of the requests failed: {summary.failures}"
    if summary.p99_ns is None:
        return f"{int((times >= limit_ns).sum()):,} of {len(times):,} requests failed or were late"
    return late_words(summary.p99_ns, point, at_least=bool(summary.at_least)) if summary.p99_ns >= limit_ns else None


def late_words(p99_ns: float, point: ServicePoint, *, at_least: bool = False) -> str:
    """Describe a p99 beyond the limit; ``at_least``: it is a lower bound."""
    times = p99_ns / point.ideal_ns
    least = "at least " if at_least else ""
    return f"p99 is {least}{format_time(p99_ns)}, {times:.2f} times the ideal of {format_time(point.ideal_ns)}"


def early_by_ns(shortest_ns: float | None, ideal_ns: int) -> float | None:
    """Return how much too early the first early answer was; None if none is known."""
    return None if shortest_ns is None or shortest_ns >= ideal_ns else ideal_ns - shortest_ns


def time_percentile(ascending: _Times, rank: float) -> float:
    """Return the smallest value that ``rank`` per cent of the values do not exceed; nan of none.

    Nothing is interpolated: between a time and infinity there is nothing.
    """
    if not len(ascending):
        return float("nan")
    return float(ascending[nearest_rank(len(ascending), rank) - 1])


def _percentile(ascending: _Times, rank: float) -> float | None:
    """Return a percentile; None of nothing, of too few, or where that request failed."""
    few = 99 < rank < 100 and len(ascending) < FEWEST_OF_P999
    value = time_percentile(ascending, rank)
    return None if few or not np.isfinite(value) else value


def _mean(times: _Times) -> float | None:
    """Return the mean; None of nothing, or where one failed."""
    return float(times.mean()) if len(times) and np.isfinite(times[-1]) else None


def _mean_in_flight(begins: _Instants, ends: _Instants, stretch: Stretch) -> float | None:
    """Return how many requests were in flight on average, as the area under their number over time."""
    if not stretch.length_ns or not len(begins):
        return None
    within = np.minimum(ends, stretch.end_ns) - np.maximum(begins, stretch.begin_ns)
    return float(np.maximum(within, 0).sum() / stretch.length_ns)


def with_open(samples: pl.DataFrame, point: ServicePoint, *, sent_ns: int) -> pl.DataFrame:
    """Add a row for each request that was due and had not ended at the end of the load.

    In a closed loop each connection has one, since when its last answer came; one without an answer, since it began. In
    an open loop the schedule names all that were due.

    ``samples`` have ``intended_ns``, ``end_ns``, ``status_or_error`` and ``connection``; the result has them but for
    the connection. ``sent_ns`` is for how long the generator sent.
    """
    begins = _in_turns(samples, point) if point.loop is Loop.CLOSED else _on_schedule(samples, point, sent_ns)
    begins = begins[begins < sent_ns]
    still = pl.DataFrame(
        {
            "intended_ns": begins,
            "end_ns": np.full(len(begins), sent_ns, dtype=np.int64),
            "status_or_error": pl.Series([OPEN] * len(begins), dtype=pl.String()),
        }
    )
    return pl.concat([samples.select(still.columns), still])


def _in_turns(samples: pl.DataFrame, point: ServicePoint) -> _Instants:
    numbers = np.arange(point.connections, dtype=np.int64)
    since = numbers * ramp_ns(point) // point.connections
    ended = samples.group_by("connection").agg(pl.col("end_ns").max())
    since[ended["connection"].to_numpy()] = ended["end_ns"].to_numpy()
    return since


def _on_schedule(samples: pl.DataFrame, point: ServicePoint, sent_ns: int) -> _Instants:
    """Return when those were due that the samples do not have; the schedule is even."""
    assert point.rate_per_s is not None, "an open loop has a rate"
    due = np.arange(int(np.ceil(sent_ns * point.rate_per_s / 1e9)), dtype=np.int64)
    ended = np.rint(samples["intended_ns"].to_numpy() * point.rate_per_s / 1e9).astype(np.int64)
    missing = np.setdiff1d(due, ended)
    begins: _Instants = np.rint(missing * 1e9 / point.rate_per_s).astype(np.int64)
    return begins
