"""The steady stretch of a load: its bounds, its samples, and their distribution."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl

from httpdyno.experiments.service.figures import HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.model import Loop, format_time
from httpdyno.stats import nearest_rank

SHORTEST_UNIT_NS: Final = 500_000_000
"""Assumed length of a round if requests do not wait: long enough for the number of requests that figures need."""
_DRAIN_UNITS: Final = 1.5
"""Longer than the 1.1 times the ideal within which a point is held, so that late requests at the end are detected."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time in which a request must begin to count, in ns since the load began.

    If all connections of a closed loop started at once, they would always send at the same moments: each answer of a
    server that waits 2 s arrives 2 s later, and triggers the next request. Connections therefore start one after
    another over one ideal (``ramp_ns``), which spreads the requests as evenly as random delays would after a long time.
    After another ideal, the first requests of all connections have ended, and with them the cost of opening
    connections. Requests of the last one and a half ideals do not count, because the load ends before they could be
    late.

    References
    ----------
    Little, A proof for the queuing formula L = λW, Operations Research 9 (1961): the relation of requests in flight,
    their rate and their duration holds only while all three are steady.
    """

    begin_ns: int
    end_ns: int

    @classmethod
    def of(cls, point: ServicePoint, *, sent_ns: int) -> Self:
        """Return the stretch of a load that sends for ``sent_ns``; it is empty if that is too short."""
        begin_ns = ramp_ns(point) + unit_ns(point)
        return cls(begin_ns, max(begin_ns, sent_ns - round(_DRAIN_UNITS * unit_ns(point))))

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.begin_ns


def unit_ns(point: ServicePoint) -> int:
    """Return the length of a round: the ideal of a request, if the request has one."""
    return max(point.ideal_ns, SHORTEST_UNIT_NS)


def ramp_ns(point: ServicePoint) -> int:
    """Return the time over which the connections of a closed loop start; 0 for an open loop, which has a schedule.

    It is exactly one ideal: with one and a quarter, a quarter of the connections would always send together with
    others.
    """
    return point.ideal_ns or SHORTEST_UNIT_NS if point.loop is Loop.CLOSED else 0


def send_ns(point: ServicePoint, measured_ns: int) -> int:
    """Return the time to send that gives a steady stretch of this length."""
    return ramp_ns(point) + unit_ns(point) + measured_ns + round(_DRAIN_UNITS * unit_ns(point))


def connections_of(point: ServicePoint) -> int:
    """Return the connections of a load: an open loop has twice as many as an ideal server needs.

    With fewer connections, requests to a slow server would wait in the generator.
    """
    return point.connections if point.loop is Loop.CLOSED else 2 * point.connections + 1


OPEN: Final = "Open"
"""End of a sample that was still open when the load ended."""
FEWEST_OF_P999: Final = 1000
"""Fewest requests for a 99.9th percentile: with fewer, it would be the maximum."""
_SLOWEST: Final = 0.05
RIGHT: Final = "200"
SHARE_ALLOWED: Final = 0.01
"""Share of failed requests up to which a point is held."""
_Times = np.ndarray[tuple[int], np.dtype[np.float64]]


def measure_steady(samples: pl.DataFrame, stretch: Stretch, point: ServicePoint) -> ServiceSummary:
    """Return the figures of the steady stretch, from the samples of our own generator.

    Requests count if they began in the stretch or outlasted it: a connection that waits for an answer throughout begins
    none in it. In a closed loop, a request that outlasted the stretch counts as often as others were answered in that
    time. A request that was open at the end counts with the time that it had waited; a failed request has an infinite
    time.

    A time below the ideal has the same overhead as a time equally far above it: a server that answers before the wait
    is over did not wait, which must not be an advantage.

    ``samples`` have ``intended_ns`` and ``end_ns``, since the load began, and ``status_or_error``: a row for each
    request, including those that were open at the end (``OPEN``).
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
    within = np.minimum(ends, stretch.end_ns) - np.maximum(begins, stretch.begin_ns)
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
        # At least one request, as in rewrk.
        slowest_5_ns=_mean(times[-max(1, int(len(times) * _SLOWEST)) :]),
        at_least=p99_ns is not None and bool(len(waiting)) and p99_ns >= float(waiting.min()),
        overhead_p50_ns=_percentile(overheads, 50.0),
        overhead_p99_ns=_percentile(overheads, 99.0),
        overhead_p999_ns=_percentile(overheads, 99.9),
        early=int((answered < ideal_ns).sum()),
        early_by_ns=early_by_ns(float(answered.min()) if len(answered) else None, ideal_ns),
        # The area under the number of requests in flight over time.
        open_mean=float(np.maximum(within, 0).sum() / stretch.length_ns) if stretch.length_ns and len(begins) else None,
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
    """Return how much too early the first early answer was; None if there is none."""
    return None if shortest_ns is None or shortest_ns >= ideal_ns else ideal_ns - shortest_ns


def time_percentile(ascending: _Times, rank: float) -> float:
    """Return the smallest value that ``rank`` per cent of the values do not exceed; nan for an empty array.

    Nothing is interpolated, because some values are infinite.
    """
    if not len(ascending):
        return float("nan")
    return float(ascending[nearest_rank(len(ascending), rank) - 1])


def _percentile(ascending: _Times, rank: float) -> float | None:
    """Return a percentile; None if there are too few values, or if that request failed."""
    few = 99 < rank < 100 and len(ascending) < FEWEST_OF_P999
    value = time_percentile(ascending, rank)
    return None if few or not np.isfinite(value) else value


def _mean(times: _Times) -> float | None:
    return float(times.mean()) if len(times) and np.isfinite(times[-1]) else None


def with_open(samples: pl.DataFrame, point: ServicePoint, *, sent_ns: int) -> pl.DataFrame:
    """Add a row for each request that was due but had not ended at the end of the load.

    In a closed loop each connection has one such request, which began with its last answer, or without an answer when
    the connection started. In an open loop, the schedule gives all requests that were due.

    ``samples`` have ``intended_ns``, ``end_ns``, ``status_or_error`` and ``connection``; the result has these without
    the connection. ``sent_ns`` is the time for which the generator sent.
    """
    if point.loop is Loop.CLOSED:
        begins = np.arange(point.connections, dtype=np.int64) * ramp_ns(point) // point.connections
        ended = samples.group_by("connection").agg(pl.col("end_ns").max())
        begins[ended["connection"].to_numpy()] = ended["end_ns"].to_numpy()
    else:
        assert point.rate_per_s is not None, "an open loop has a rate"
        # The schedule is even: the number of a request gives its time.
        due = np.arange(int(np.ceil(sent_ns * point.rate_per_s / 1e9)), dtype=np.int64)
        ended_numbers = np.rint(samples["intended_ns"].to_numpy() * point.rate_per_s / 1e9).astype(np.int64)
        begins = np.rint(np.setdiff1d(due, ended_numbers) * 1e9 / point.rate_per_s).astype(np.int64)
    begins = begins[begins < sent_ns]
    still = pl.DataFrame(
        {
            "intended_ns": begins,
            "end_ns": np.full(len(begins), sent_ns, dtype=np.int64),
            "status_or_error": pl.Series([OPEN] * len(begins), dtype=pl.String()),
        }
    )
    return pl.concat([samples.select(still.columns), still])
