"""Metrics of a crawl, by the names of their columns."""

from typing import Final

from httpdyno.judge.figures import Figure, of_counter, wire_bytes
from httpdyno.judge.notes import http_2_share
from httpdyno.model import Aspect, Column, ColumnKind, Direction, Metric, Trial

__all__ = ["CRAWL_METRICS", "RANKED_BY"]

_INTEGER, _DECIMAL, _DURATION = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.DURATION
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_MS: Final = 1e-6


def _summary(name: str, scale: float = 1.0) -> Figure:
    def figure(trial: Trial) -> float | None:
        value = getattr(trial.summary, name, None)
        return None if value is None else value * scale

    return figure


def _per_core(trial: Trial) -> float | None:
    cpu_ns = trial.summary.cpu_per_right_ns if trial.summary else None
    return 1e9 / cpu_ns if cpu_ns else None


def _in_flight_per_core(trial: Trial) -> float | None:
    """Little's law (Operations Research 9, 1961): answers a second times the duration of one."""
    per_s = _per_core(trial)
    if per_s is None or trial.summary is None:
        return None
    # The web's planned times are the same for every client, and do not include a link's distance.
    planned_ns = trial.summary.planned_mean_ns if trial.link == "direct" else None
    taken_ns = planned_ns or trial.summary.mean_ns
    return per_s * taken_ns * 1e-9 if taken_ns else None


def _duration(name: str, description: str, figure: Figure, label: str) -> Metric:
    return Metric(Column(name, _DURATION, "ms", description, label=label), figure, _LOWER, 1)


def _cpu(name: str, description: str, figure: Figure) -> Metric:
    return Metric(Column(name, _DURATION, "ms", description), figure, _LOWER, aspect=Aspect.CPU)


CRAWL_METRICS: Final = (
    # The seeds' columns come first, under their names and, as they print them, in whole milliseconds.
    Metric(Column("totalUrls", _INTEGER, description="lines that the client printed"), _summary("urls")),
    Metric(Column("time", _DURATION, "ms", "from exec to the last line"), _summary("time_ns", _MS), _LOWER),
    Metric(Column("avg", _DURATION, "ms", "mean duration of a URL"), _summary("mean_ns", _MS), _LOWER),
    Metric(Column("max", _DURATION, "ms", "longest duration of a URL"), _summary("max_ns", _MS), _LOWER),
    Metric(Column("okReqsSec", _INTEGER, "1/s", "2xx for each second of time"), _summary("ok_per_s"), _HIGHER),
    Metric(Column("okReqsPct", _DECIMAL, description="share of 2xx, 0 to 1"), _summary("ok_share"), _HIGHER, 2),
    Metric(Column("avgBodyLen", _INTEGER, "bytes", "mean length of the content of 2xx"), _summary("mean_body_length")),
    Metric(Column("2xx", _INTEGER), _summary("status_2xx")),
    Metric(Column("3xx", _INTEGER), _summary("status_3xx")),
    Metric(Column("4xx", _INTEGER), _summary("status_4xx")),
    Metric(Column("5xx", _INTEGER), _summary("status_5xx")),
    Metric(Column("Exception", _INTEGER, description="lines without a status"), _summary("exceptions")),
    Metric(
        Column(
            "right_per_s",
            _DECIMAL,
            "1/s",
            "right answers for each second until the list was exhausted",
            label="right/s",
        ),
        _summary("right_per_s"),
        _HIGHER,
        1,
        "right answers a second",
    ),
    _duration("p50_ms", "median duration of a URL", _summary("p50_ns", _MS), "p50 ms"),
    _duration("p99_ms", "99th percentile of the durations", _summary("p99_ns", _MS), "p99 ms"),
    _cpu("cpu_user_ms", "CPU time in user mode", of_counter("cpu_user_ns", _MS)),
    _cpu("cpu_system_ms", "CPU time in the kernel", of_counter("cpu_system_ns", _MS)),
    Metric(
        Column(
            "cpu_per_right_ms",
            _DECIMAL,
            "ms",
            "CPU time for each right answer, once the cost of one had settled",
            label="CPU ms",
        ),
        _summary("cpu_per_right_ns", _MS),
        _LOWER,
        3,
        "ms of CPU time a right answer",
        Aspect.CPU,
    ),
    Metric(
        Column(
            "right_per_core_s",
            _DECIMAL,
            "1/s",
            "right answers a second that the CPU time of one core allows",
            label="per core/s",
        ),
        _per_core,
        _HIGHER,
        1,
        "right answers per core-second",
        Aspect.CPU,
    ),
    Metric(
        Column(
            "in_flight_per_core",
            _INTEGER,
            description="requests in flight at that rate (Little's law)",
            label="needed",
        ),
        _in_flight_per_core,
        aspect=Aspect.CPU,
    ),
    _cpu("start_cpu_ms", "CPU time until the first URL", _summary("start_cpu_ns", _MS)),
    _cpu(
        "warm_up_cpu_ms",
        "CPU time beyond that, before the cost of an answer had settled",
        _summary("warm_up_cpu_ns", _MS),
    ),
    Metric(
        Column("peak_memory_bytes", ColumnKind.SIZE, "bytes", "highest memory in use", label="memory"),
        of_counter("peak_memory_bytes"),
        _LOWER,
        aspect=Aspect.MEMORY,
    ),
    Metric(
        Column("wire_bytes", ColumnKind.SIZE, "bytes", "sent and received on the wire", label="on the wire"), wire_bytes
    ),
    Metric(
        Column("connections", _INTEGER, description="TCP connections that the origin accepted"),
        of_counter("connections"),
    ),
    Metric(
        Column(
            "http2_share",
            _DECIMAL,
            description="share of the requests that came by HTTP/2, 0 to 1",
            shown=False,
            label="HTTP/2",
        ),
        http_2_share,
        digits=2,
    ),
)
"""Metrics of a crawl, in the order of its table."""

RANKED_BY: Final = "right_per_core_s"
"""The ranking metric."""
