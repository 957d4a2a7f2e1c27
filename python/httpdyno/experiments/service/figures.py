"""A point of the service experiment, and the results of a server at it, as figures of a trial."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from httpdyno.errors import InvalidValue
from httpdyno.model.record import FigureRecord, Recorded, measured
from httpdyno.model.subject import Loop

DEFAULT_WORKLOADS_MS: Final = (500, 1000, 2000)
"""Default waits of a request, which run in parallel."""
HELD_WITHIN: Final = 1.1
"""A point is held if 99 % of the requests take less than this multiple of the ideal."""
MOST_CONNECTIONS: Final = 50_000
"""Most connections: one address of a client has about 64,000 ports towards one server."""
_MS: Final = 10**6
_LONGEST_MS: Final = 60_000


class Endpoint(StrEnum):
    """Endpoints of a server, as defined in ``subjects/CONTRACT.md``."""

    PLAIN = "plain"
    JSON = "json"
    WORKLOADS = "workloads"


@dataclass(frozen=True, slots=True)
class ServicePoint(FigureRecord):
    """One point of the grid: connections, loop, and the settings of the server."""

    prefix: ClassVar[str] = "service_point_"

    connections: Annotated[
        int, Recorded("closed loop: connections; open loop: requests in flight of an ideal server", type="int32")
    ]
    loop: Annotated[Loop, Recorded("open: requests are sent on a schedule; closed: after an answer")]
    rate_per_s: Annotated[float | None, Recorded("open loop: requests a second; null in a closed one", unit="1/s")]
    threads: Annotated[int | None, Recorded("`THREADS` of the server; null: its default", type="int32")]
    workers: Annotated[int | None, Recorded("`WORKERS` of the server; null: its default", type="int32")]
    endpoint: Annotated[Endpoint, Recorded("requested endpoint")]
    workloads_ms: Annotated[str, Recorded("waits of a request, all at once, in ms; empty for other endpoints")]
    timeout_ms: Annotated[
        int | None, Recorded("time after which the server gives up a request; null: never", unit="ms")
    ]
    generator: Annotated[str, Recorded("load generator: the folder of the tool")]
    cpus: Annotated[
        int | None,
        Recorded("number of CPUs of the server by `--server-cpus`; null: those of `--cpus`", type="int16"),
    ] = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not 1 <= self.connections <= MOST_CONNECTIONS:
            raise InvalidValue(f"--connections: 1 to {MOST_CONNECTIONS:,}, not {self.connections:,}")
        if (self.loop is Loop.OPEN) != (self.rate_per_s is not None):
            raise InvalidValue("service: an open loop has a rate, a closed one has none")
        if self.rate_per_s is not None and not self.rate_per_s > 0:
            raise InvalidValue(f"--rate: more than 0 requests a second, not {self.rate_per_s:g}")
        for option, count in (
            ("--threads", self.threads),
            ("--workers", self.workers),
            ("--server-cpus", self.cpus),
        ):
            if count is not None and count < 1:
                raise InvalidValue(f"{option}: 1 or more, not {count}")
        if bool(self.workloads_ms) != (self.endpoint is Endpoint.WORKLOADS):
            raise InvalidValue(f"service: /{self.endpoint} has no waits, and the workloads need some")
        if any(not 1 <= wait <= _LONGEST_MS for wait in self.waits_ms):
            raise InvalidValue(f"--workloads-ms: 1 to {_LONGEST_MS:,} ms each, not {self.workloads_ms}")
        if self.timeout_ms is not None and self.timeout_ms < 1:
            raise InvalidValue(f"--timeout-ms: 1 or more, not {self.timeout_ms}")

    @property
    def waits_ms(self) -> tuple[int, ...]:
        """Waits of a request; empty if it has none."""
        try:
            return tuple(int(wait) for wait in self.workloads_ms.split(",")) if self.workloads_ms else ()
        except ValueError as error:
            raise InvalidValue(f"--workloads-ms: write it like 500,1000,2000, not {self.workloads_ms!r}") from error

    @property
    def ideal_ns(self) -> int:
        """Duration of a request on a server without any overhead: its longest wait; 0 if it has none."""
        return max(self.waits_ms, default=0) * _MS


@dataclass(frozen=True, slots=True)
class ServiceSummary(FigureRecord):
    """Figures of a server at a point, over the steady stretch of the trial. A figure without any request is None.

    Times are response times: from when a request was due or, in a closed loop, from when its connection was free. A
    request that was still open at the end counts with the time that it had waited; a failed request has an infinite
    time.
    """

    prefix: ClassVar[str] = "service_"

    answers: Annotated[int, Recorded("right answers that ended in the steady stretch")]
    errors: Annotated[int, Recorded("requests of the steady stretch that failed or got a wrong answer")]
    failures: str | None = measured(
        "errors of those requests, the most frequent first: `1,204 x 503, 3 x ConnectionReset`"
    )
    still_open: int | None = measured("requests of the steady stretch that were open at the end of the trial")
    measured_ns: int | None = measured("length of the steady stretch")
    per_s: float | None = measured("right answers for each second of the steady stretch", unit="1/s")
    mean_ns: float | None = measured("mean response time")
    p50_ns: float | None = measured("median response time")
    p95_ns: float | None = measured("95th percentile of the response time")
    p99_ns: float | None = measured("99th percentile of the response time")
    p999_ns: float | None = measured("99.9th percentile of the response time; null of fewer than 1,000")
    max_ns: float | None = measured("longest response time")
    slowest_5_ns: float | None = measured("mean of the slowest 5 % of the response times: what rewrk prints as 95 %")
    at_least: bool | None = measured("whether percentiles are lower bounds, because requests were still open")
    overhead_p50_ns: float | None = measured(
        "median difference between a response time and the ideal, in either direction"
    )
    overhead_p99_ns: float | None = measured("99th percentile of that difference")
    overhead_p999_ns: float | None = measured("99.9th percentile of that difference")
    open_mean: float | None = measured("requests in flight, mean over the steady stretch")
    cpu_per_request_ns: float | None = measured("CPU time of the server for each answer of the steady stretch")
    memory_idle_bytes: int | None = measured("memory of the server before the load")
    memory_loaded_bytes: int | None = measured("memory of the server in the steady stretch, median")
    memory_per_open_bytes: float | None = measured("memory that the load adds, for each request in flight")
    descriptors_peak: int | None = measured("most descriptors that the server had open")
    descriptor_limit: int | None = measured("limit of open descriptors of the server")
    ready_ns: int | None = measured("time from exec until the server accepted a connection")
    held: bool | None = measured("whether 99 % of the requests took less than 1.1 times the ideal; null: there is none")
    why_not: str | None = measured("reason why the point is not held, with its figure")
    send_lag_p99_ns: int | None = measured("open loop: 99th percentile of the generator's own lag")
    generator_cpu_ns: int | None = measured("CPU time of the generator")
    generator_wall_ns: int | None = measured("duration of the generator")
    generator_busy_share: float | None = measured("open loop: share of time in which its busiest thread worked, 0 to 1")
    claimed_answers: int | None = measured("all answers that the generator reports")
    claimed_per_s: float | None = measured("rate that the generator reports, over its whole run", unit="1/s")
    claimed_mean_ns: float | None = measured("mean time that the generator reports")
    early: int | None = measured("answers of the steady stretch before the end of the longest wait")
    early_by_ns: float | None = measured("time by which the earliest answer was too early; null: none was")
