"""The figures of a load, and its rules of validity."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np

from httpdyno.judge.validity import RULES, Evidence, Reading, Rule, rules_for
from httpdyno.judge.validity.readings import NO_ANSWERS, ON_SCHEDULE, drift_of
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import Trial, Validity, format_time
from httpdyno.model.counters import Count
from httpdyno.model.record import Embedded, FigureRecord, Recorded

__all__ = ["LOAD_RULES", "LoadChecks", "LoadSecond", "LoadSummary", "LoadTimes"]


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


_ALLOWED_LAG_NS: Final = 100_000
_NOT_COUNTED: Final = "the generator did not count how busy it was"
_SECOND_NS: Final = 1_000_000_000


def _lag(trial: Trial) -> Reading:
    """Return how late the generator sent what it could have sent, as a share of the median response time."""
    load = trial.get(LoadSummary)
    if load is None or not load.open_loop:
        return Reading(None, "a closed loop has no schedule to be late for")
    if load.send_lag is None or load.response is None or not load.response.p50_ns:
        return Reading(None, "nothing was sent on schedule")
    late_ns, median_ns = load.send_lag.p99_ns, load.response.p50_ns
    detail = f"{format_time(late_ns)} in {format_time(median_ns)}"
    return Reading(100 * max(late_ns - _ALLOWED_LAG_NS, 0) / median_ns, detail)


def _busy_on_schedule(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in an open loop."""
    if (load := trial.get(LoadSummary)) is not None and not load.open_loop:
        return Reading(None, "a closed loop sends when an answer came, and is late for nothing")
    return _busy(trial)


def _busy_in_turns(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in a closed loop."""
    if (load := trial.get(LoadSummary)) is not None and load.open_loop:
        return Reading(None, "in an open loop the schedule sets the throughput")
    return _busy(trial)


def _busy(trial: Trial) -> Reading:
    load = trial.get(LoadSummary)
    if load is None or load.busy_share is None:
        return Reading(None, _NOT_COUNTED)
    if load.elapsed_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * load.busy_share)


def _waiting(trial: Trial) -> Reading:
    """Return how long others had the CPU that a thread of the generator was ready to run on."""
    load = trial.get(LoadSummary)
    if load is None or load.waiting_share is None:
        return Reading(None, "the kernel did not count how long the generator waited for its CPU")
    if load.elapsed_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * load.waiting_share)


def _checked(trial: Trial) -> Reading:
    """Return the answers that did not meet what ``--check`` asks for."""
    load = trial.get(LoadSummary)
    if load is None or load.checks is None:
        return Reading(None, "no --check says what is right")
    answers = load.checks.right + load.checks.wrong
    wrong = load.checks.wrong
    return Reading(100 * wrong / answers, f"{wrong} of {answers}") if answers else Reading(None, NO_ANSWERS)


def _unverified(_: Trial) -> Reading:
    return Reading(None, "without --check a load does not know which answers are right")


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


_READ: Final = {"unverified": _unverified, "wrong_answers": _checked, "drift": _drift}
_GENERATOR: Final = (
    Rule(
        "generator_waiting",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the load",
        "time in which a thread of the generator was ready to run and others had its CPU",
        "a thread of the generator waited for its CPU for {number} of the load (at most {threshold}), which is in "
        "every time that it tells: give it a CPU of its own (--cpus), or end what else runs",
        _waiting,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_lag",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the median response time",
        "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        "the generator itself sent late, by {number} of the median response time ({detail}; at most {threshold}): "
        "give it more CPUs (--cpus), or a lower rate",
        _lag,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_busy",
        Validity.GENERATOR_LIMITED,
        85,
        "% of the load",
        "open loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load; from {threshold} on requests wait for it: "
        "give it more CPUs (--cpus), or a lower rate",
        _busy_on_schedule,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_saturated",
        Validity.GENERATOR_LIMITED,
        95,
        "% of the load",
        "closed loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load, so that the throughput is the generator's limit "
        "and not the server's; give it more CPUs (--cpus), or send at a --rate",
        _busy_in_turns,
        Evidence.GENERATOR,
    ),
)
LOAD_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.LINK, Evidence.MACHINE, Evidence.PACE),
    own=(*(replace(rule, read=_READ[rule.name]) for rule in RULES if rule.name in _READ), *_GENERATOR),
)
