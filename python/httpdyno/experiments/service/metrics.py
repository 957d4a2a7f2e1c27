"""The metrics of a server: every figure of its table, under the name that people ask for it."""

from functools import partial
from typing import Final

from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.judge.figures import of_counter, of_record
from httpdyno.model import Column, ColumnKind, Direction, Metric

__all__ = ["RANKED_BY", "SERVICE_METRICS"]

RANKED_BY: Final = "overhead_p99_ms"
_LOWER, _HIGHER = Direction.LOWER, Direction.HIGHER
_TIME, _DURATION, _SIZE = ColumnKind.TIME, ColumnKind.DURATION, ColumnKind.SIZE
_MS: Final = 1e-6
_figure: Final = partial(of_record, ServiceSummary)


SERVICE_METRICS: Final = (
    Metric(
        Column(RANKED_BY, _TIME, "ms", "99th percentile of how far response times are from the ideal"),
        _figure("overhead_p99_ns", _MS),
        _LOWER,
        4,
        endless=True,
        phrase="ms from the ideal at p99",
    ),
    Metric(
        Column("overhead_p50_ms", _TIME, "ms", "median of how far response times are from the ideal"),
        _figure("overhead_p50_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("overhead_p999_ms", _TIME, "ms", "99.9th percentile of the same; null of fewer than 1,000 requests"),
        _figure("overhead_p999_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(Column("requestsPerSec", ColumnKind.DECIMAL, "1/s", "right answers a second"), _figure("per_s"), _HIGHER, 2),
    Metric(
        Column("p99", _DURATION, "ms", "99th percentile of the response time"),
        _figure("p99_ns", _MS),
        _LOWER,
        2,
        endless=True,
    ),
    Metric(
        Column("slowest5", _DURATION, "ms", "mean of the slowest 5 %: what rewrk prints as 95 %"),
        _figure("slowest_5_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(
        Column("cpu_per_request_ms", _TIME, "ms", "CPU time of the server for each answer"),
        _figure("cpu_per_request_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("memory_per_open_bytes", _SIZE, "bytes", "memory that the load adds, for each request in flight"),
        _figure("memory_per_open_bytes"),
        _LOWER,
    ),
    Metric(
        Column("peak_memory_bytes", _SIZE, "bytes", "highest memory in use"), of_counter("peak_memory_bytes"), _LOWER
    ),
    Metric(
        Column("errors", ColumnKind.INTEGER, "", "requests that failed or got another status"),
        _figure("errors"),
        _LOWER,
    ),
    Metric(Column("p50", _DURATION, "ms", "median response time", shown=False), _figure("p50_ns", _MS), _LOWER, 2),
    Metric(
        Column("p95", _DURATION, "ms", "95th percentile of the response time", shown=False),
        _figure("p95_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(
        Column("p999", _DURATION, "ms", "99.9th percentile of the response time", shown=False),
        _figure("p999_ns", _MS),
        _LOWER,
        2,
    ),
    Metric(Column("max", _DURATION, "ms", "longest response time", shown=False), _figure("max_ns", _MS), _LOWER, 2),
    Metric(Column("mean", _DURATION, "ms", "mean response time", shown=False), _figure("mean_ns", _MS), _LOWER, 2),
    Metric(
        Column("answers", ColumnKind.INTEGER, "", "right answers that the figures rest on", shown=False),
        _figure("answers"),
    ),
    Metric(
        Column("still_open", ColumnKind.INTEGER, "", "requests of them that were open at the end", shown=False),
        _figure("still_open"),
        _LOWER,
    ),
    Metric(
        Column("open", ColumnKind.DECIMAL, "", "requests in flight on average", shown=False),
        _figure("open_mean"),
        digits=1,
    ),
    Metric(
        Column("early", ColumnKind.INTEGER, "", "answers before the longest wait was over", shown=False),
        _figure("early"),
        _LOWER,
    ),
    Metric(
        Column("early_by_ms", _TIME, "ms", "how much too early the first of them was", shown=False),
        _figure("early_by_ns", _MS),
        _LOWER,
        4,
    ),
    Metric(
        Column("descriptors", ColumnKind.INTEGER, "", "most descriptors open at once", shown=False),
        _figure("descriptors_peak"),
        _LOWER,
    ),
    Metric(
        Column("ready", _DURATION, "ms", "from exec until it accepted a connection", shown=False),
        _figure("ready_ns", _MS),
        _LOWER,
        1,
    ),
)
"""In the order of the table, the one that ranks first."""
