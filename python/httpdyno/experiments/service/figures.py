"""A point of the service question, and what a server did there, as figures of a trial."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, ClassVar, Final

from httpdyno.errors import InvalidValue
from httpdyno.model.record import FigureRecord, Recorded
from httpdyno.model.subject import Loop

DEFAULT_WORKLOADS_MS: Final = (500, 1000, 2000)
"""Default waits of a request, all at once."""
HELD_WITHIN: Final = 1.1
"""A point is held when 99 % of the requests take less than this many times the ideal."""
MOST_CONNECTIONS: Final = 50_000
"""One address of a client has some 64,000 ports towards one server."""
_MS: Final = 10**6
_LONGEST_MS: Final = 60_000
_ns: Final = partial(Recorded, unit="ns")
_bytes: Final = partial(Recorded, unit="bytes")


class Endpoint(StrEnum):
    """Endpoints of a server: ``subjects/CONTRACT.md``."""

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
    loop: Annotated[Loop, Recorded("whether requests are sent on a schedule, or when an answer came")]
    rate_per_s: Annotated[float | None, Recorded("open loop: requests a second; null in a closed one", unit="1/s")]
    threads: Annotated[int | None, Recorded("`THREADS` of the server; null: as many as it takes", type="int32")]
    workers: Annotated[int | None, Recorded("`WORKERS` of the server; null: its own", type="int32")]
    endpoint: Annotated[Endpoint, Recorded("what is asked for")]
    workloads_ms: Annotated[str, Recorded("waits of a request, all at once, in ms; empty for other endpoints")]
    timeout_ms: Annotated[int | None, Recorded("after which the server gives a request up; null: never", unit="ms")]
    generator: Annotated[str, Recorded("name of the folder of the tool that sends")]
    cpus: Annotated[
        int | None,
        Recorded("CPUs that the server has, where their number is asked for; null: those of `--cpus`", type="int16"),
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
        """Duration of a request on a server without any cost: its longest wait; 0 if it has none."""
        return max(self.waits_ms, default=0) * _MS


@dataclass(frozen=True, slots=True)
class ServiceSummary(FigureRecord):
    """Figures of a server at a point, over the steady stretch of the trial. A figure without any request is None.

    Times are response times: from when a request was due, in a closed loop from when its connection was free for it.
    A request that was still open at the end counts with the time that it had waited; a failed request has an infinite
    time.
    """

    prefix: ClassVar[str] = "service_"

    answers: Annotated[int, Recorded("right answers that ended in the steady stretch")]
    errors: Annotated[int, Recorded("requests that began in it and failed, or were answered wrongly")]
    failures: Annotated[
        str | None, Recorded("what those failed with, the most frequent first: `1,204 x 503, 3 x ConnectionReset`")
    ] = None
    still_open: Annotated[int | None, Recorded("requests that began in it and were open at the end of the trial")] = (
        None
    )
    measured_ns: Annotated[int | None, _ns("length of the steady stretch")] = None
    per_s: Annotated[float | None, Recorded("right answers for each second of it", unit="1/s")] = None
    mean_ns: Annotated[float | None, _ns("mean response time")] = None
    p50_ns: Annotated[float | None, _ns("median response time")] = None
    p95_ns: Annotated[float | None, _ns("95th percentile of the response time")] = None
    p99_ns: Annotated[float | None, _ns("99th percentile of the response time")] = None
    p999_ns: Annotated[float | None, _ns("99.9th percentile of the response time; null of fewer than 1,000")] = None
    max_ns: Annotated[float | None, _ns("longest response time")] = None
    slowest_5_ns: Annotated[
        float | None, _ns("mean of the slowest 5 % of the response times: what rewrk prints as 95 %")
    ] = None
    at_least: Annotated[
        bool | None, Recorded("whether percentiles are lower bounds, as requests were open that decide them")
    ] = None
    overhead_p50_ns: Annotated[
        float | None, _ns("median of how far response times are from the ideal, below it as above")
    ] = None
    overhead_p99_ns: Annotated[float | None, _ns("99th percentile of how far they are from it, below it as above")] = (
        None
    )
    overhead_p999_ns: Annotated[
        float | None, _ns("99.9th percentile of how far they are from it, below it as above")
    ] = None
    open_mean: Annotated[float | None, Recorded("requests in flight, mean over the steady stretch")] = None
    cpu_per_request_ns: Annotated[float | None, _ns("CPU time of the server for each answer of the steady stretch")] = (
        None
    )
    memory_idle_bytes: Annotated[int | None, _bytes("memory of the server before the load")] = None
    memory_loaded_bytes: Annotated[int | None, _bytes("memory of the server in the steady stretch, median")] = None
    memory_per_open_bytes: Annotated[float | None, _bytes("what the load adds to it, for each request in flight")] = (
        None
    )
    descriptors_peak: Annotated[int | None, Recorded("most descriptors that the server had open")] = None
    descriptor_limit: Annotated[int | None, Recorded("as many as it may have")] = None
    ready_ns: Annotated[int | None, _ns("from exec until it accepted a connection")] = None
    held: Annotated[
        bool | None, Recorded("whether 99 % of the requests took less than 1.1 times the ideal; null: there is none")
    ] = None
    why_not: Annotated[str | None, Recorded("why it is not held, with its figure")] = None
    send_lag_p99_ns: Annotated[int | None, _ns("open loop: 99th percentile of the generator's own lag")] = None
    generator_cpu_ns: Annotated[int | None, _ns("CPU time of the generator")] = None
    generator_wall_ns: Annotated[int | None, _ns("how long the generator ran")] = None
    generator_busy_share: Annotated[
        float | None, Recorded("open loop: share of time in which its busiest thread was at work, 0 to 1")
    ] = None
    claimed_answers: Annotated[int | None, Recorded("answers that the generator says it got in all")] = None
    claimed_per_s: Annotated[float | None, Recorded("rate that it states, over its whole run", unit="1/s")] = None
    claimed_mean_ns: Annotated[float | None, _ns("mean time that it states")] = None
    early: Annotated[
        int | None, Recorded("answers of the steady stretch that came before the longest wait was over")
    ] = None
    early_by_ns: Annotated[float | None, _ns("how much too early the first of them was; null: none was")] = None
