"""The figures of a load, and its rules of validity."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from httpdyno.judge.validity import RULES, Evidence, Reading, Rule
from httpdyno.model import Validity
from httpdyno.model.counters import Count
from httpdyno.model.record import Embedded, FigureRecord, Recorded

_ns: Final = partial(Recorded, unit="ns")
_bytes: Final = partial(Recorded, unit="bytes")


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """The distribution of one kind of time."""

    count: Annotated[int, Recorded("number of values")]
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
    """Numbers of answers by the result of ``--check``."""

    right: Annotated[int, Recorded("answers that passed every check")]
    wrong_status: Annotated[int, Recorded("answers with another status")]
    wrong_header: Annotated[int, Recorded("answers without a header, or with another value of it")]
    wrong_length: Annotated[int, Recorded("answers whose content has another length")]
    wrong_content: Annotated[int, Recorded("answers whose content has another hash")]
    wrong_contains: Annotated[int, Recorded("answers whose content lacks a text")]
    wrong_regex: Annotated[int, Recorded("answers whose content a pattern does not match")]
    wrong_json: Annotated[int, Recorded("answers whose JSON has another value, or none")]

    @property
    def wrong(self) -> int:
        """Answers that failed a check."""
        return sum(getattr(self, one.name) for one in fields(self) if one.name != "right")


@dataclass(frozen=True, slots=True)
class LoadSecond:
    """One second of a load."""

    at_s: Annotated[int, Recorded("start of this second, since the start of the load", unit="s")]
    sent: Annotated[int, Recorded("requests sent in this second")]
    requests: Annotated[int, Recorded("answers that ended in this second")]
    errors: Annotated[int, Recorded("requests that failed in this second")]
    response_p50_ns: Annotated[int | None, _ns("median response time")]
    response_p99_ns: Annotated[int | None, _ns("99th percentile of the response time")]
    response_max_ns: Annotated[int | None, _ns("longest response time")]
    service_p99_ns: Annotated[int | None, _ns("99th percentile of the service time")]
    send_lag_p99_ns: Annotated[int | None, _ns("99th percentile of the generator's own lag")]
    open: Annotated[int | None, Recorded("requests in flight at its end")]


@dataclass(frozen=True, slots=True)
class LoadStage:
    """One stage of an open loop: the requests that were meant for it."""

    stage: Annotated[str, Recorded("the stage as it was given: `0..1000/30s`")]
    at_s: Annotated[float, Recorded("when it begins, since the start", unit="s")]
    duration_s: Annotated[float, Recorded("how long it takes", unit="s")]
    from_per_s: Annotated[float, Recorded("rate at its start", unit="1/s")]
    to_per_s: Annotated[float, Recorded("rate at its end", unit="1/s")]
    planned_per_s: Annotated[float, Recorded("planned rate, on the average", unit="1/s")]
    sent: Annotated[int, Recorded("requests that were sent")]
    requests: Annotated[int, Recorded("good answers")]
    rps: Annotated[float | None, Recorded("good answers for each second of the stage", unit="1/s")]
    errors: Annotated[int, Recorded("requests that failed: without an answer, or with one that is not good")]
    response_p50_ns: Annotated[int | None, _ns("median response time of good answers")]
    response_p99_ns: Annotated[int | None, _ns("99th percentile of it")]


@dataclass(frozen=True, slots=True)
class FindStep:
    """One step of a search: an open loop at one rate."""

    rate_per_s: Annotated[float, Recorded("rate of its schedule", unit="1/s")]
    achieved_per_s: Annotated[float, Recorded("good answers per second", unit="1/s")]
    duration_s: Annotated[float, Recorded("time whose requests were counted", unit="s")]
    requests: Annotated[int, Recorded("requests that were counted")]
    over: Annotated[str, Recorded("requests beyond each limit of the objective, in its order: `3, 0`")]
    p50_ns: Annotated[int | None, _ns("median response time of good answers")]
    p99_ns: Annotated[int | None, _ns("99th percentile of it")]
    errors: Annotated[int, Recorded("requests that failed: without an answer, or with one that is not good")]
    send_lag_p99_ns: Annotated[int | None, _ns("99th percentile of the generator's own lag")]
    server_cpu: Annotated[float | None, Recorded("CPUs that the server used, if it runs on this machine")]
    connections: Annotated[int, Recorded("connections")]
    limited_by: Annotated[str | None, Recorded("why the generator limited the step; none if it did not")]


@dataclass(frozen=True, slots=True)
class LoadSummary(FigureRecord):
    """The figures of one load, from the generator's report."""

    prefix: ClassVar[str] = "load_"

    elapsed_ns: Annotated[int, _ns("time from the first request to the end")]
    sent: Annotated[int, Recorded("sent requests")]
    requests: Annotated[int, Recorded("complete answers, whatever their status")]
    requests_per_s: Annotated[float, Recorded("good answers per second of `load_elapsed_ns`", unit="1/s")]
    errors: Annotated[int, Recorded("requests that failed: without an answer, or with one that is not good")]
    failed_answers: Annotated[
        int | None,
        Recorded(
            "answers that are not good: neither 2xx nor 3xx, or failed by a check; only the times of `all` include them"
        ),
    ]
    resent: Annotated[
        int | None,
        Recorded("requests sent again, because the server closed their connection before it could have seen them"),
    ]
    open_loop: Annotated[bool, Recorded("whether requests were sent on a schedule, not when an answer arrived")]
    rate_per_s: Annotated[float | None, Recorded("rate of the schedule, at its start where it is a ramp", unit="1/s")]
    rate_end_per_s: Annotated[float | None, Recorded("rate at the end of a ramp", unit="1/s")]
    unsent: Annotated[int | None, Recorded("requests that were due but never sent, because no connection was free")]
    censored: Annotated[
        int, Recorded("requests in flight (connecting or sent) when the load ended; no other count includes them")
    ]
    censored_oldest_ns: Annotated[int | None, _ns("age of the oldest of them")]
    cpu_user_ns: Annotated[int | None, _ns("CPU time of the generator in user mode")]
    cpu_system_ns: Annotated[int | None, _ns("CPU time of the generator in the kernel")]
    busy_share: Annotated[float | None, Recorded("share of time in which its busiest thread was busy, 0 to 1")]
    waiting_share: Annotated[
        float | None,
        Recorded(
            "share of time in which the thread that waited longest was ready but other programs had its CPU, 0 to 1"
        ),
    ]
    peak_memory_bytes: Annotated[int | None, _bytes("peak memory of the generator")]
    sent_bytes: Annotated[int | None, _bytes("bytes on the wire to the server")]
    received_bytes: Annotated[int | None, _bytes("bytes on the wire from the server")]
    content_bytes: Annotated[int | None, _bytes("bytes of content in the answers, before decoding")]
    connections_opened: Annotated[int | None, Recorded("opened connections")]
    connections_failed: Annotated[int | None, Recorded("failed attempts to connect")]
    tls_full: Annotated[int | None, Recorded("full TLS handshakes")]
    tls_resumed: Annotated[int | None, Recorded("resumed TLS handshakes")]
    data_rows: Annotated[int | None, Recorded("rows of the data of placeholders")]
    data_used_up: Annotated[bool | None, Recorded("whether the load ended because each row had been picked once")]
    statuses: Annotated[tuple[Count, ...], Recorded("answers by status code")] = ()
    failures: Annotated[tuple[Count, ...], Recorded("failed requests by the name of the error")] = ()
    series: Annotated[tuple[LoadSecond, ...], Recorded("second by second")] = ()
    until: Annotated[str | None, Recorded("the condition that was to end it: `ci(p99) < 5%`")] = None
    until_met: Annotated[bool | None, Recorded("whether it ended by that condition")] = None
    until_estimate_ns: Annotated[float | None, _ns("the estimate")] = None
    until_low_ns: Annotated[float | None, _ns("lower end of its 95 % interval")] = None
    until_high_ns: Annotated[float | None, _ns("upper end of it")] = None
    until_half_width_share: Annotated[float | None, Recorded("half of its width, as a share of the estimate")] = None
    warm_up_ns: Annotated[int | None, _ns("how long the warm-up took, whose requests are in no other figure")] = None
    warm_up_requests: Annotated[int | None, Recorded("requests that were begun in the warm-up")] = None
    warm_up_failures: Annotated[tuple[Count, ...] | None, Recorded("those that failed, by their error or status")] = (
        None
    )
    tolerated: Annotated[
        tuple[Count, ...] | None, Recorded("answers that were not well-formed but accepted, by the name of the oddity")
    ] = None
    expect_continued: Annotated[int | None, Recorded("requests with `Expect: 100-continue` that were answered 100")] = (
        None
    )
    expect_answered: Annotated[
        int | None, Recorded("those that were answered before their content, which was not sent")
    ] = None
    expect_silent: Annotated[int | None, Recorded("those that waited a second without an answer")] = None
    proxy: Annotated[str | None, Recorded("the proxies, and where they were set")] = None
    stages: Annotated[tuple[LoadStage, ...] | None, Recorded("stage by stage")] = None
    replay: Annotated[str | None, Recorded("the replayed recording: JSON text, as the report has it")] = None
    find_objective: Annotated[str | None, Recorded("the objective of a search: `p99 < 50 ms, errors < 0.1 %`")] = None
    find_verdict: Annotated[
        str | None, Recorded("how it ended: `found`, `two_states`, `generator_limited`, `never_held` or `not_broken`")
    ] = None
    find_first_broken: Annotated[str | None, Recorded("the limit that is missed first above the found rate")] = None
    found_per_s: Annotated[
        float | None,
        Recorded(
            "the highest rate that meets the objective; the other figures are those of a step near it", unit="1/s"
        ),
    ] = None
    found_low_per_s: Annotated[float | None, Recorded("lower end of its 95 % interval", unit="1/s")] = None
    found_high_per_s: Annotated[float | None, Recorded("upper end of it", unit="1/s")] = None
    find_duration_s: Annotated[float | None, Recorded("time of the search", unit="s")] = None
    find_steps: Annotated[tuple[FindStep, ...] | None, Recorded("step by step")] = None
    checks: Annotated[LoadChecks | None, Embedded("check_")] = None
    wrong_examples: Annotated[
        tuple[str, ...] | None,
        Recorded("the first wrong answer by each kind of check: `wrong by status=200: got 500, ...`"),
    ] = None
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
        """Share of failed requests among those that ended, 0 to 1; None if none ended."""
        return self.errors / self.ended if self.ended else None

    @property
    def ended(self) -> int:
        """Requests that ended, with an answer or without."""
        return self.requests + sum(failure.count for failure in self.failures)

    @property
    def not_2xx(self) -> int:
        """Answers with another status than 200 to 299."""
        return sum(status.count for status in self.statuses if not status.name.startswith("2"))


_UNREAD: Final = Reading(None, "the engine left no reading of this rule")


def _rule(name: str, threshold: float, meaning: str, unit: str = "% of the load") -> Rule:
    verdict, needs = Validity.GENERATOR_LIMITED, Evidence.GENERATOR
    return Rule(name, verdict, threshold, unit, meaning, "{detail}", lambda _: _UNREAD, needs)


LOAD_RULES: Final = (
    _rule("generator_waiting", 10, "time in which a thread of the generator was ready to run and others had its CPU"),
    _rule(
        "generator_lag",
        10,
        "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        "% of the median response time",
    ),
    _rule("generator_busy", 85, "open loop: use of the generator's busiest thread"),
    _rule("generator_saturated", 95, "closed loop: use of the generator's busiest thread"),
    *(replace(rule, reason="{detail}") for rule in RULES if rule.name in {"wrong_answers", "drift"}),
)
"""The rules by which the engine judges a load; ``rules_of_reports`` returns them with its findings."""


def rules_of_reports(reports: Mapping[int, Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules of a load, each with what the engine found; ``reports`` are its own, by trial number."""
    found = {
        (number, one["rule"]): Reading(one["number"], one["sentence"] or one["detail"])
        for number, report in reports.items()
        for one in (report.get("validity") or {}).get("rules", ())
    }

    def with_findings(rule: Rule) -> Rule:
        return replace(rule, read=lambda trial: found.get((trial.trial, rule.name), _UNREAD))

    return tuple(map(with_findings, LOAD_RULES))
