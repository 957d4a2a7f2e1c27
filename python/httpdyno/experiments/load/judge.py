"""The figures of a load, and its rules of validity."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Final

import numpy as np

from httpdyno.judge.validity import RULES, Evidence, Reading, Rule, rules_for
from httpdyno.judge.validity.readings import NO_ANSWERS, ON_SCHEDULE, drift_of
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import Trial, Validity, format_time
from httpdyno.model.counters import Count
from httpdyno.model.record import Embedded, FigureRecord, Recorded

_ns: Final = partial(Recorded, unit="ns")
_bytes: Final = partial(Recorded, unit="bytes")


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """The distribution of one kind of time."""

    count: Annotated[int, Recorded("how many were counted")]
    min_ns: Annotated[int, _ns("the shortest")]
    mean_ns: Annotated[float, _ns("mean")]
    stdev_ns: Annotated[float, _ns("standard deviation")]
    p50_ns: Annotated[int, _ns("median")]
    p75_ns: Annotated[int, _ns("75th percentile")]
    p90_ns: Annotated[int, _ns("90th percentile")]
    p95_ns: Annotated[int, _ns("95th percentile")]
    p99_ns: Annotated[int, _ns("99th percentile")]
    p99_9_ns: Annotated[int, _ns("99.9th percentile")]
    p99_99_ns: Annotated[int, _ns("99.99th percentile")]
    max_ns: Annotated[int, _ns("the longest")]


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
    response_p50_ns: Annotated[int | None, _ns("median response time")]
    response_p99_ns: Annotated[int | None, _ns("99th percentile of the response time")]
    response_max_ns: Annotated[int | None, _ns("longest response time")]
    service_p99_ns: Annotated[int | None, _ns("99th percentile of the service time")]
    send_lag_p99_ns: Annotated[int | None, _ns("99th percentile of the generator's own lag")]
    open: Annotated[int | None, Recorded("requests without an answer at its end")]


@dataclass(frozen=True, slots=True)
class LoadSummary(FigureRecord):
    """One load in figures, from the generator's report."""

    prefix: ClassVar[str] = "load_"

    elapsed_ns: Annotated[int, _ns("from the first request to the end")]
    sent: Annotated[int, Recorded("requests that were sent")]
    requests: Annotated[int, Recorded("answers that came whole, whatever their status")]
    requests_per_s: Annotated[float, Recorded("good answers for each second of `load_elapsed_ns`", unit="1/s")]
    errors: Annotated[int, Recorded("requests that failed: without an answer, or with one that is not good")]
    failed_answers: Annotated[
        int | None,
        Recorded("answers that are not good: neither 2xx nor 3xx, or wrong by a check; in no times but `all`"),
    ]
    resent: Annotated[
        int | None, Recorded("requests sent again, as the server closed their connection before it can have seen them")
    ]
    open_loop: Annotated[bool, Recorded("whether requests were sent on a schedule, and not when an answer came")]
    rate_per_s: Annotated[float | None, Recorded("rate of the schedule, at its start where it is a ramp", unit="1/s")]
    rate_end_per_s: Annotated[float | None, Recorded("rate at the end of a ramp", unit="1/s")]
    unsent: Annotated[int | None, Recorded("requests that were due and never sent, for want of a free connection")]
    censored: Annotated[int, Recorded("requests that were connecting or sent when the load ended; in no other count")]
    censored_oldest_ns: Annotated[int | None, _ns("age of the oldest of them")]
    cpu_user_ns: Annotated[int | None, _ns("CPU time of the generator in user mode")]
    cpu_system_ns: Annotated[int | None, _ns("CPU time of the generator in the kernel")]
    busy_share: Annotated[float | None, Recorded("share of time in which its busiest thread was busy, 0 to 1")]
    waiting_share: Annotated[
        float | None,
        Recorded("share of time in which others had the CPU of the thread that waited longest for it, 0 to 1"),
    ]
    peak_memory_bytes: Annotated[int | None, _bytes("most memory that the generator used")]
    sent_bytes: Annotated[int | None, _bytes("bytes on the wire to the server")]
    received_bytes: Annotated[int | None, _bytes("bytes on the wire from the server")]
    content_bytes: Annotated[int | None, _bytes("bytes of content in the answers, as they were sent")]
    connections_opened: Annotated[int | None, Recorded("connections that were made")]
    connections_failed: Annotated[int | None, Recorded("connections that could not be made")]
    tls_full: Annotated[int | None, Recorded("full TLS handshakes")]
    tls_resumed: Annotated[int | None, Recorded("resumed TLS handshakes")]
    statuses: Annotated[tuple[Count, ...], Recorded("answers by status code")] = ()
    failures: Annotated[tuple[Count, ...], Recorded("failed requests by the name of the error")] = ()
    series: Annotated[tuple[LoadSecond, ...], Recorded("second by second")] = ()
    checks: Annotated[LoadChecks | None, Embedded("check_")] = None
    response: Annotated[LoadTimes | None, Embedded("response_")] = None
    all: Annotated[LoadTimes | None, Embedded("all_")] = None
    service: Annotated[LoadTimes | None, Embedded("service_")] = None
    send_lag: Annotated[LoadTimes | None, Embedded("send_lag_")] = None
    dns: Annotated[LoadTimes | None, Embedded("dns_")] = None
    connect: Annotated[LoadTimes | None, Embedded("connect_")] = None
    tls: Annotated[LoadTimes | None, Embedded("tls_")] = None
    first_byte: Annotated[LoadTimes | None, Embedded("first_byte_")] = None
    content: Annotated[LoadTimes | None, Embedded("content_")] = None

    @property
    def error_share(self) -> float | None:
        """Failed ones among the requests that ended, 0 to 1; None when none ended."""
        return self.errors / self.ended if self.ended else None

    @property
    def ended(self) -> int:
        """Requests that ended, with an answer or without."""
        return self.requests + sum(failure.count for failure in self.failures)

    @property
    def not_2xx(self) -> int:
        """Answers with another status than 200 to 299."""
        return sum(status.count for status in self.statuses if not status.name.startswith("2"))


_ALLOWED_LAG_NS: Final = 100_000
_MOST_FAILED: Final = 0.005
"""Largest share of failures at which the 99th percentile of the lag still describes the generator: requests that waited
behind many of them are all due at once."""
_SECOND_NS: Final = 1_000_000_000


def _lag(trial: Trial) -> Reading:
    """Return how late the generator sent what it could have sent, as a share of the median response time."""
    load = trial.get(LoadSummary)
    if load is None or not load.open_loop:
        return Reading(None, "a closed loop has no schedule to be late for")
    failed = load.ended - load.requests + (load.resent or 0) + (load.connections_failed or 0)
    if failed > _MOST_FAILED * (load.requests + failed):
        return Reading(None, "requests failed, and the requests that waited behind them were sent at once")
    if load.send_lag is None or load.response is None or not load.response.p50_ns:
        return Reading(None, "nothing was sent on schedule")
    late_ns, median_ns = load.send_lag.p99_ns, load.response.p50_ns
    detail = f"{format_time(late_ns)} in {format_time(median_ns)}"
    return Reading(100 * max(late_ns - _ALLOWED_LAG_NS, 0) / median_ns, detail)


def _busy(trial: Trial, *, open_loop: bool, otherwise: str) -> Reading:
    """Return the use of the generator's busiest thread; loads of the other kind have ``otherwise`` instead."""
    if (load := trial.get(LoadSummary)) is not None and load.open_loop is not open_loop:
        return Reading(None, otherwise)
    return _share(trial, "busy_share", "the generator did not count how busy it was")


def _share(trial: Trial, name: str, absent: str) -> Reading:
    load = trial.get(LoadSummary)
    share: float | None = getattr(load, name, None)
    if load is None or share is None:
        return Reading(None, absent)
    return Reading(None, TOO_SHORT) if load.elapsed_ns < SHORTEST_NS else Reading(100 * share)


def _checked(trial: Trial) -> Reading:
    """Return the share of answers that did not meet a ``--check``."""
    load = trial.get(LoadSummary)
    if load is None or load.checks is None:
        return Reading(None, "no --check says what is right")
    wrong = load.checks.wrong
    answers = load.checks.right + wrong
    return Reading(100 * wrong / answers, f"{wrong} of {answers}") if answers else Reading(None, NO_ANSWERS)


def _drift(trial: Trial) -> Reading:
    """Return the drift of the answers in each whole second of a load, which has no list to be exhausted."""
    load = trial.get(LoadSummary)
    if load is None:
        return drift_of(np.empty(0), 0)
    if load.open_loop:
        return ON_SCHEDULE
    whole = load.elapsed_ns // _SECOND_NS
    answers = [second.requests for second in load.series if second.at_s < whole]
    return drift_of(np.trim_zeros(np.array(answers, dtype=np.float64), "f"), _SECOND_NS)


_READ: Final = {
    "unverified": lambda _: Reading(None, "without --check a load does not know which answers are right"),
    "wrong_answers": _checked,
    "drift": _drift,
}
_busy_rule: Final = partial(Rule, verdict=Validity.GENERATOR_LIMITED, needs=Evidence.GENERATOR, unit="% of the load")
_GENERATOR: Final = (
    _busy_rule(
        "generator_waiting",
        threshold=10,
        meaning="time in which a thread of the generator was ready to run and others had its CPU",
        reason="a thread of the generator waited for its CPU for {number} of the load (at most {threshold}), which is "
        "in every time that it tells: give it a CPU of its own (--cpus), or end what else runs",
        read=partial(
            _share,
            name="waiting_share",
            absent="the kernel did not count how long the generator waited for its CPU",
        ),
    ),
    _busy_rule(
        "generator_lag",
        threshold=10,
        unit="% of the median response time",
        meaning="open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        reason="the generator itself sent late, by {number} of the median response time ({detail}; at most "
        "{threshold}): give it more CPUs (--cpus), or a lower rate",
        read=_lag,
    ),
    _busy_rule(
        "generator_busy",
        threshold=85,
        meaning="open loop: use of the generator's busiest thread",
        reason="a thread of the generator was busy for {number} of the load; from {threshold} on requests wait for it: "
        "give it more CPUs (--cpus), or a lower rate",
        read=partial(
            _busy, open_loop=True, otherwise="a closed loop sends when an answer came, and is late for nothing"
        ),
    ),
    _busy_rule(
        "generator_saturated",
        threshold=95,
        meaning="closed loop: use of the generator's busiest thread",
        reason="a thread of the generator was busy for {number} of the load, so that the throughput is the generator's "
        "limit and not the server's; give it more CPUs (--cpus), or send at a --rate",
        read=partial(_busy, open_loop=False, otherwise="in an open loop the schedule sets the throughput"),
    ),
)
LOAD_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.LINK, Evidence.MACHINE, Evidence.PACE),
    own=(*(replace(rule, read=_READ[rule.name]) for rule in RULES if rule.name in _READ), *_GENERATOR),
)
