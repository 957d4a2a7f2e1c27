"""Metrics of a crawl, by the names of their columns."""

from functools import partial
from typing import Final

from httpdyno.judge.figures import Figure, metric, of_counter, of_record, wire_bytes
from httpdyno.judge.notes import http_2_share
from httpdyno.model import Aspect, ColumnKind, Direction, LinesSummary, Metric, Trial

_INTEGER, _DECIMAL, _DURATION, _SIZE = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.DURATION, ColumnKind.SIZE
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_MS: Final = 1e-6
_of_lines: Final = partial(of_record, LinesSummary)


def right_per_core(trial: Trial) -> float | None:
    """Return the right answers that cost one second of a core's CPU time."""
    cpu_ns = trial.summary.cpu_per_right_ns if trial.summary else None
    return 1e9 / cpu_ns if cpu_ns else None


def in_flight_per_core(trial: Trial) -> float | None:
    """Return the requests in flight that would keep one core busy: answers a second times the duration of one.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
    """
    per_s = right_per_core(trial)
    if per_s is None or trial.summary is None:
        return None
    # The web's planned times are the same for every client, but do not include the distance of a link.
    planned_ns = trial.summary.planned_mean_ns if trial.link == "direct" else None
    taken_ns = planned_ns or trial.summary.mean_ns
    return per_s * taken_ns * 1e-9 if taken_ns else None


def _cpu_ms(name: str, figure: Figure, description: str) -> Metric:
    return metric(name, figure, description, _DURATION, "ms", _LOWER, aspect=Aspect.CPU)


def _percentile(name: str, description: str) -> Metric:
    figure = _of_lines(f"{name}_ns", _MS)
    return metric(f"{name}_ms", figure, description, _DURATION, "ms", _LOWER, digits=1, label=f"{name} ms")


CRAWL_METRICS: Final = (
    # The published columns come first, with their names and, as published, in whole milliseconds.
    metric("totalUrls", _of_lines("urls"), "lines that the client printed"),
    metric("time", _of_lines("time_ns", _MS), "from exec to the last line", _DURATION, "ms", _LOWER),
    metric("avg", _of_lines("mean_ns", _MS), "mean duration of a URL", _DURATION, "ms", _LOWER),
    metric("max", _of_lines("max_ns", _MS), "longest duration of a URL", _DURATION, "ms", _LOWER),
    metric("okReqsSec", _of_lines("ok_per_s"), "2xx for each second of time", _INTEGER, "1/s", _HIGHER),
    metric("okReqsPct", _of_lines("ok_share"), "share of 2xx, 0 to 1", _DECIMAL, "", _HIGHER, digits=2),
    metric("avgBodyLen", _of_lines("mean_body_length"), "mean length of the content of 2xx", _INTEGER, "bytes"),
    *(metric(f"{first}xx", _of_lines(f"status_{first}xx")) for first in range(2, 6)),
    metric("Exception", _of_lines("exceptions"), "lines without a status"),
    metric(
        "right_per_s",
        _of_lines("right_per_s"),
        "right answers for each second until the list was exhausted",
        _DECIMAL,
        "1/s",
        _HIGHER,
        digits=1,
        phrase="right answers a second",
        label="right/s",
    ),
    _percentile("p50", "median duration of a URL"),
    _percentile("p99", "99th percentile of the durations"),
    _cpu_ms("cpu_user_ms", of_counter("cpu_user_ns", _MS), "CPU time in user mode"),
    _cpu_ms("cpu_system_ms", of_counter("cpu_system_ns", _MS), "CPU time in the kernel"),
    metric(
        "cpu_per_right_ms",
        _of_lines("cpu_per_right_ns", _MS),
        "CPU time for each right answer, once the cost of one had settled",
        _DECIMAL,
        "ms",
        _LOWER,
        digits=3,
        phrase="ms of CPU time per right answer",
        aspect=Aspect.CPU,
        label="CPU ms",
    ),
    metric(
        "right_per_core_s",
        right_per_core,
        "right answers a second that the CPU time of one core allows",
        _DECIMAL,
        "1/s",
        _HIGHER,
        digits=1,
        phrase="right answers per core-second",
        aspect=Aspect.CPU,
        label="per core/s",
    ),
    metric(
        "in_flight_per_core",
        in_flight_per_core,
        "requests in flight at that rate (Little's law)",
        aspect=Aspect.CPU,
        label="needed",
    ),
    _cpu_ms("start_cpu_ms", _of_lines("start_cpu_ns", _MS), "CPU time until the first URL"),
    _cpu_ms(
        "warm_up_cpu_ms",
        _of_lines("warm_up_cpu_ns", _MS),
        "CPU time of the warm-up after that, beyond steady state",
    ),
    metric(
        "peak_memory_bytes",
        of_counter("peak_memory_bytes"),
        "highest memory in use",
        _SIZE,
        "bytes",
        _LOWER,
        aspect=Aspect.MEMORY,
        label="memory",
    ),
    metric("wire_bytes", wire_bytes, "sent and received on the wire", _SIZE, "bytes", label="on the wire"),
    metric("connections", of_counter("connections"), "TCP connections that the origin accepted"),
    metric(
        "http2_share",
        http_2_share,
        "share of the requests that came by HTTP/2, 0 to 1",
        _DECIMAL,
        "",
        digits=2,
        shown=False,
        label="HTTP/2",
    ),
)
"""Metrics of a crawl, in the order of its table."""

RANKED_BY: Final = "right_per_core_s"
"""The ranking metric."""
