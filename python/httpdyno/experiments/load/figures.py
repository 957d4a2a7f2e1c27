"""What a load generator measured, as figures of a trial: figures of one load, and one row a second."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from httpdyno.model.counters import Count
from httpdyno.model.record import Embedded, FigureRecord, Recorded

__all__ = ["LoadChecks", "LoadSecond", "LoadSummary", "LoadTimes"]


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """The distribution of one kind of time."""

    count: Annotated[int, Recorded("how many were counted")]
    min_ns: Annotated[int, Recorded("the shortest", unit="ns")]
    mean_ns: Annotated[float, Recorded("mean", unit="ns")]
    stdev_ns: Annotated[float, Recorded("standard deviation", unit="ns")]
    p50_ns: Annotated[int, Recorded("median", unit="ns")]
    p75_ns: Annotated[int, Recorded("75th percentile", unit="ns")]
    p90_ns: Annotated[int, Recorded("90th percentile", unit="ns")]
    p95_ns: Annotated[int, Recorded("95th percentile", unit="ns")]
    p99_ns: Annotated[int, Recorded("99th percentile", unit="ns")]
    p99_9_ns: Annotated[int, Recorded("99.9th percentile", unit="ns")]
    p99_99_ns: Annotated[int, Recorded("99.99th percentile", unit="ns")]
    max_ns: Annotated[int, Recorded("the longest", unit="ns")]


@dataclass(frozen=True, slots=True)
class LoadChecks:
    """How many answers were what ``--check`` asked for."""

    right: Annotated[int, Recorded("answers that met every check")]
    wrong_status: Annotated[int, Recorded("answers with another status")]
    wrong_length: Annotated[int, Recorded("answers whose content has another length")]
    wrong_content: Annotated[int, Recorded("answers whose content has another hash")]
    wrong_json: Annotated[int, Recorded("answers whose JSON has another value, or none")]

    @property
    def wrong(self) -> int:
        """Answers that did not meet a check."""
        return self.wrong_status + self.wrong_length + self.wrong_content + self.wrong_json


@dataclass(frozen=True, slots=True)
class LoadSecond:
    """One second of a load."""

    at_s: Annotated[int, Recorded("when it began, since the start", unit="s")]
    sent: Annotated[int, Recorded("requests that were sent in it")]
    requests: Annotated[int, Recorded("answers that ended in it")]
    errors: Annotated[int, Recorded("requests that failed in it")]
    response_p50_ns: Annotated[int | None, Recorded("median response time", unit="ns")]
    response_p99_ns: Annotated[int | None, Recorded("99th percentile of the response time", unit="ns")]
    response_max_ns: Annotated[int | None, Recorded("longest response time", unit="ns")]
    service_p99_ns: Annotated[int | None, Recorded("99th percentile of the service time", unit="ns")]
    send_lag_p99_ns: Annotated[int | None, Recorded("99th percentile of the generator's own lag", unit="ns")]
    open: Annotated[int | None, Recorded("requests without an answer at its end")]


@dataclass(frozen=True, slots=True)
class LoadSummary(FigureRecord):
    """One load in figures, from the generator's report."""

    prefix: ClassVar[str] = "load_"

    elapsed_ns: Annotated[int, Recorded("from the first request to the end", unit="ns")]
    sent: Annotated[int, Recorded("requests that were sent")]
    requests: Annotated[int, Recorded("answers that came whole, whatever their status")]
    requests_per_s: Annotated[float, Recorded("answers for each second of `load_elapsed_ns`", unit="1/s")]
    errors: Annotated[int, Recorded("requests and connections that failed")]
    resent: Annotated[
        int | None, Recorded("requests sent again, as the server closed their connection before it can have seen them")
    ]
    open_loop: Annotated[bool, Recorded("whether requests were sent on a schedule, and not when an answer came")]
    rate_per_s: Annotated[float | None, Recorded("rate of the schedule, at its start where it is a ramp", unit="1/s")]
    rate_end_per_s: Annotated[float | None, Recorded("rate at the end of a ramp", unit="1/s")]
    unsent: Annotated[int | None, Recorded("requests that were due and never sent, for want of a free connection")]
    censored: Annotated[int, Recorded("requests that were connecting or sent when the load ended; in no other count")]
    censored_oldest_ns: Annotated[int | None, Recorded("age of the oldest of them", unit="ns")]
    cpu_user_ns: Annotated[int | None, Recorded("CPU time of the generator in user mode", unit="ns")]
    cpu_system_ns: Annotated[int | None, Recorded("CPU time of the generator in the kernel", unit="ns")]
    busy_share: Annotated[float | None, Recorded("share of time in which its busiest thread was busy, 0 to 1")]
    waiting_share: Annotated[
        float | None,
        Recorded("share of time in which others had the CPU of the thread that waited longest for it, 0 to 1"),
    ]
    peak_memory_bytes: Annotated[int | None, Recorded("most memory that the generator used", unit="bytes")]
    sent_bytes: Annotated[int | None, Recorded("bytes on the wire to the server", unit="bytes")]
    received_bytes: Annotated[int | None, Recorded("bytes on the wire from the server", unit="bytes")]
    content_bytes: Annotated[int | None, Recorded("bytes of content in the answers, as they were sent", unit="bytes")]
    connections_opened: Annotated[int | None, Recorded("connections that were made")]
    connections_failed: Annotated[int | None, Recorded("connections that could not be made")]
    tls_full: Annotated[int | None, Recorded("full TLS handshakes")]
    tls_resumed: Annotated[int | None, Recorded("resumed TLS handshakes")]
    statuses: Annotated[tuple[Count, ...], Recorded("answers by status code")] = ()
    failures: Annotated[tuple[Count, ...], Recorded("failed requests by the name of the error")] = ()
    series: Annotated[tuple[LoadSecond, ...], Recorded("second by second")] = ()
    checks: Annotated[LoadChecks | None, Embedded("check_")] = None
    response: Annotated[LoadTimes | None, Embedded("response_")] = None
    service: Annotated[LoadTimes | None, Embedded("service_")] = None
    send_lag: Annotated[LoadTimes | None, Embedded("send_lag_")] = None
    dns: Annotated[LoadTimes | None, Embedded("dns_")] = None
    connect: Annotated[LoadTimes | None, Embedded("connect_")] = None
    tls: Annotated[LoadTimes | None, Embedded("tls_")] = None
    first_byte: Annotated[LoadTimes | None, Embedded("first_byte_")] = None
    content: Annotated[LoadTimes | None, Embedded("content_")] = None

    @property
    def ramp(self) -> bool:
        """Whether the rate changed on purpose."""
        return self.rate_end_per_s is not None and self.rate_end_per_s != self.rate_per_s

    @property
    def error_share(self) -> float | None:
        """Failed ones among the requests that ended, 0 to 1; None when none ended."""
        ended = self.requests + self.errors
        return self.errors / ended if ended else None

    @property
    def not_2xx(self) -> int:
        """Answers with another status than 200 to 299."""
        return sum(status.count for status in self.statuses if not status.name.startswith("2"))
