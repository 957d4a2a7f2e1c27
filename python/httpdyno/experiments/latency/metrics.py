"""The metrics of the latency question: what a loop and a call cost, under the names that people ask for them."""

from functools import partial
from typing import Final

from httpdyno.experiments.latency.figures import LatencySummary
from httpdyno.judge.figures import of_record
from httpdyno.model import Column, ColumnKind, Direction, Metric

__all__ = ["LATENCY_METRICS", "MEAN"]

_MS: Final = 1e-6
_US: Final = 1e-3
_PERCENT: Final = 100.0
_LOWER: Final = Direction.LOWER
_EXACT: Final = 6
"""Decimals of a millisecond: nanoseconds."""
_figure: Final = partial(of_record, LatencySummary)


def _time(name: str, field: str, meaning: str, *, shown: bool = True) -> Metric:
    column = Column(name, ColumnKind.TIME, "ms", meaning, shown=shown)
    return Metric(column, _figure(field, _MS), _LOWER, _EXACT)


def _share(name: str, field: str, whose: str) -> Metric:
    def share(summary: LatencySummary) -> float | None:
        part: float | None = getattr(summary, field)
        return None if part is None or not summary.call_ns else part / summary.call_ns

    column = Column(name, ColumnKind.INTEGER, "%", f"share of a call's duration that is {whose}")
    return Metric(column, _figure(share, _PERCENT))


MEAN: Final = Metric(
    Column("mean", ColumnKind.TIME, "ms", "mean time of a loop: of all calls that are started at once", shown=False),
    _figure("mean_ns", _MS),
    _LOWER,
    _EXACT,
    "ms a loop",
)
LATENCY_METRICS: Final = (
    MEAN,
    Metric(
        Column("deviation", ColumnKind.NUMBER, "us", "standard deviation of the runs", shown=False),
        _figure("deviation_ns", _US),
        _LOWER,
        3,
    ),
    Metric(
        Column("runs", ColumnKind.INTEGER, description="runs of the figure", shown=False),
        _figure(lambda summary: len(summary.runs) or None),
    ),
    Metric(
        Column("loops", ColumnKind.INTEGER, description="loops of each run", shown=False),
        _figure("loops"),
    ),
    _time("p50", "p50_ns", "median duration of a call"),
    _time("p99", "p99_ns", "99th percentile of the durations"),
    _time("p999", "p999_ns", "99.9th percentile; empty for fewer than 1,000 calls"),
    _time("max", "max_ns", "longest duration", shown=False),
    _time("first", "first_ns", "duration of the first call of the cold process", shown=False),
    _time("cpu_per_call_ms", "cpu_per_call_ns", "CPU time of the subject for a call"),
    _share("client_share", "client_ns", "the client's own"),
    _share("wire_share", "wire_ns", "the bare network's"),
    _share("server_share", "server_ns", "the server's, as it stamped arrivals and answers"),
    Metric(
        Column("calls", ColumnKind.INTEGER, description="calls that the figures of single calls rest on", shown=False),
        _figure("calls"),
    ),
)
"""What a call is described by, in the order of its table."""
