"""The metrics of a load: every figure of its table, under the name that ``--fail-if`` and ``compare`` know it by."""

from functools import partial
from typing import Final

from httpdyno.experiments.load.figures import LoadSummary, LoadTimes
from httpdyno.judge.figures import Figure, of_record
from httpdyno.model import Column, ColumnKind, Direction, Metric

__all__ = ["LOAD_METRICS", "PHASES", "TIMES"]

_INTEGER, _NUMBER, _TIME, _SIZE = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SIZE
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_MS: Final = 1e-6

PHASES: Final = {
    "dns": "to find the address of the host",
    "connect": "to make a connection",
    "tls": "of the TLS handshake",
    "first_byte": "from the request to the first byte of its answer",
    "content": "from the first to the last byte of an answer",
}
"""The phases of a request: what each takes, by name."""
TIMES: Final = {
    "response": "response time, which counts from when the request was due",
    "service": "service time, which counts from when the request was sent",
    "send_lag": "lag of the generator: how much later than it could it sent",
    **{name: f"time {what}" for name, what in PHASES.items()},
}
"""Everything that has a distribution, by the name of its field in the records."""
_FIGURES: Final = {
    "mean": "mean",
    "p50": "median",
    "p75": "75th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
    "max": "longest",
}
_load: Final = partial(of_record, LoadSummary)


def _time(kind: str, name: str) -> Figure:
    def figure(load: LoadSummary) -> float | None:
        times: LoadTimes | None = getattr(load, kind)
        return None if times is None else getattr(times, f"{name}_ns")

    return _load(figure, _MS)


def _times(kind: str) -> tuple[Metric, ...]:
    """Return the figures of one distribution; those of the response time have no prefix: ``p99``."""
    prefix = "" if kind == "response" else f"{kind}_"
    return tuple(
        Metric(Column(prefix + name, _TIME, "ms", f"{words} of the {TIMES[kind]}"), _time(kind, name), _LOWER, 6)
        for name, words in _FIGURES.items()
    )


def _cpu_s(load: LoadSummary) -> float | None:
    user, system = load.cpu_user_ns, load.cpu_system_ns
    return None if user is None or system is None else (user + system) / 1e9


def _per_cpu_s(load: LoadSummary) -> float | None:
    cpu_s = _cpu_s(load)
    return load.requests / cpu_s if cpu_s else None


def _statuses(first_digit: str) -> Figure:
    return _load(lambda load: sum(one.count for one in load.statuses if one.name.startswith(first_digit)))


LOAD_METRICS: Final = (
    Metric(
        Column("requests", _INTEGER, description="answers that came whole, whatever their status"), _load("requests")
    ),
    Metric(
        Column("rps", _NUMBER, "1/s", "answers a second"),
        _load("requests_per_s"),
        _HIGHER,
        1,
        phrase="answers a second",
    ),
    Metric(Column("errors", _INTEGER, description="requests and connections that failed"), _load("errors"), _LOWER),
    Metric(
        Column("error_share", _NUMBER, description="failed ones among the requests that ended, 0 to 1"),
        _load(lambda load: load.error_share),
        _LOWER,
        6,
    ),
    Metric(
        Column(
            "resent",
            _INTEGER,
            description="requests sent again, as the server closed their connection before it can have seen them",
        ),
        _load("resent"),
        _LOWER,
    ),
    *(metric for kind in TIMES for metric in _times(kind)),
    Metric(Column("sent", _INTEGER, description="requests that were sent"), _load("sent")),
    Metric(
        Column("censored", _INTEGER, description="requests that were connecting or sent when the load ended"),
        _load("censored"),
    ),
    Metric(
        Column("censored_oldest", _TIME, "ms", "age of the oldest of them"), _load("censored_oldest_ns", _MS), digits=6
    ),
    Metric(
        Column("unsent", _INTEGER, description="requests that were due and never sent, for want of a free connection"),
        _load("unsent"),
        _LOWER,
    ),
    Metric(
        Column("checks", _INTEGER, description="answers that did not meet a check"),
        _load(lambda load: load.checks.wrong if load.checks else None),
        _LOWER,
    ),
    Metric(Column("not_2xx", _INTEGER, description="answers with another status than 2xx"), _load("not_2xx"), _LOWER),
    *(
        Metric(Column(f"{digit}xx", _INTEGER, description=f"answers of {digit}xx"), _statuses(digit))
        for digit in "2345"
    ),
    Metric(Column("elapsed_s", _NUMBER, "s", "how long it lasted"), _load("elapsed_ns", 1e-9), digits=6),
    Metric(Column("sent_bytes", _SIZE, "bytes", "on the wire to the server"), _load("sent_bytes")),
    Metric(Column("received_bytes", _SIZE, "bytes", "on the wire from the server"), _load("received_bytes")),
    Metric(Column("content_bytes", _SIZE, "bytes", "content of the answers, as it was sent"), _load("content_bytes")),
    Metric(Column("connections_opened", _INTEGER, description="connections made"), _load("connections_opened")),
    Metric(
        Column("connections_failed", _INTEGER, description="connections that could not be made"),
        _load("connections_failed"),
        _LOWER,
    ),
    Metric(Column("tls_full", _INTEGER, description="full TLS handshakes"), _load("tls_full")),
    Metric(Column("tls_resumed", _INTEGER, description="resumed TLS handshakes"), _load("tls_resumed")),
    Metric(Column("cpu_s", _NUMBER, "s", "CPU time of the generator"), _load(_cpu_s), digits=6),
    Metric(Column("cpu_user_s", _NUMBER, "s", "in user mode"), _load("cpu_user_ns", 1e-9), digits=6),
    Metric(Column("cpu_system_s", _NUMBER, "s", "in the kernel"), _load("cpu_system_ns", 1e-9), digits=6),
    Metric(
        Column("requests_per_cpu_s", _NUMBER, "1/s", "answers for each second of the generator's CPU time"),
        _load(_per_cpu_s),
        digits=1,
    ),
    Metric(
        Column("busy_share", _NUMBER, description="time in which the generator's busiest thread was busy, 0 to 1"),
        _load("busy_share"),
        digits=4,
    ),
    Metric(
        Column(
            "waiting_share",
            _NUMBER,
            description="time in which others had the CPU that its thread was ready for, 0 to 1",
        ),
        _load("waiting_share"),
        digits=4,
    ),
    Metric(Column("peak_memory_bytes", _SIZE, "bytes", "memory of the generator"), _load("peak_memory_bytes")),
)
"""In the order of the columns of ``--format json``."""
