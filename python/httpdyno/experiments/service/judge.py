"""Judge the trials of servers: rules of validity, figures of the steady stretch, use of CPUs and memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.experiments.service.figures import HELD_WITHIN, ServicePoint, ServiceSummary
from httpdyno.experiments.service.outcome import Process, Reports, ServerArtifacts, Span, service_outcome
from httpdyno.experiments.service.steady import (
    RIGHT,
    SHARE_ALLOWED,
    Stretch,
    connections_of,
    early_by_ns,
    late_words,
    measure_steady,
    unit_ns,
    with_open,
)
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.judge.outcome import ending_from_report
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, JudgedTrial, trial_not_run, trial_refused
from httpdyno.judge.validity import Evidence, Reading, Rule, rules_for, with_validity
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import (
    Counters,
    Loop,
    Outcome,
    Tally,
    ToolLatency,
    ToolReport,
    Trial,
    TrialPlan,
    Validity,
    counters_from_report,
    format_time,
)
from httpdyno.stats import median

_ALLOWED_LAG_NS: Final = 100_000


def _late(trial: Trial) -> Reading:
    """Return the delay of the generator as a share of the measured overhead."""
    service = trial.get(ServiceSummary)
    if service is None or service.send_lag_p99_ns is None:
        return Reading(None, "a closed loop has no schedule to be late for")
    if not service.overhead_p99_ns or service.overhead_p99_ns <= 0:
        return Reading(None, "there is no overhead to compare it with")
    late_ns = max(service.send_lag_p99_ns - _ALLOWED_LAG_NS, 0)
    detail = f"{format_time(service.send_lag_p99_ns)} in {format_time(service.overhead_p99_ns)}"
    return Reading(100 * late_ns / service.overhead_p99_ns, detail)


def _cpu(trial: Trial) -> Reading:
    """Return how busy the load generator was.

    In an open loop, our generator reports its busy time, because it spins while it waits for a request to be due.
    Otherwise it is the CPU time as a share of its CPUs.
    """
    service = trial.get(ServiceSummary)
    if service is not None and service.generator_busy_share is not None:
        return Reading(100 * service.generator_busy_share)
    cpus = trial.counters.engine_cpus
    if service is None or service.generator_cpu_ns is None or not service.generator_wall_ns or not cpus:
        return Reading(None, "the generator did not count how busy it was")
    if service.generator_wall_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * service.generator_cpu_ns / (service.generator_wall_ns * len(cpus)))


SERVICE_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE, Evidence.PACE),
    own=(
        Rule(
            "generator_cpu",
            Validity.GENERATOR_LIMITED,
            85,
            "% of its CPUs",
            "use of the load generator's busiest thread, or its CPU time, during the load",
            "the load generator used {number} of its CPU time; from {threshold} on it limits the load",
            _cpu,
            Evidence.GENERATOR,
        ),
        Rule(
            "generator_late",
            Validity.GENERATOR_LIMITED,
            10,
            "% of the overhead",
            "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
            "the generator sent late by {number} of the overhead that it measured ({detail}; at most {threshold})",
            _late,
            Evidence.GENERATOR,
        ),
    ),
)


_SILENT_UNITS: Final = 3
_SILENT_AT_LEAST_NS: Final = 5_000_000_000
_WITHOUT_FIGURES: Final = frozenset({Outcome.INTERRUPTED, Outcome.CRASHED, Outcome.NEVER_LISTENED, Outcome.UNAVAILABLE})


def judge_service(
    plan: TrialPlan,
    artifacts: ServerArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    parser: str | None,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one server at the point of its condition.

    ``parser`` reads the output of another generator; None: our own generator sent.
    """
    point, send_s = plan.condition.get(ServicePoint), plan.condition.send_s
    assert point is not None, "a trial of a server has a point"
    assert send_s is not None, "a trial of a server sends for a time"
    if ending_from_report(artifacts.report).refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    sent_ns = round(send_s * 1e9)
    counters, reports, samples = counters_from_report(artifacts.report), Reports.of(artifacts), artifacts.samples
    stretch, began_ns, connections = Stretch.of(point, sent_ns=sent_ns), reports.load_began_ns, connections_of(point)
    all_open = None if began_ns is None else (began_ns + stretch.begin_ns, began_ns + sent_ns)
    outcome, reason = service_outcome(
        reports,
        artifacts,
        connections=connections,
        leak=None if all_open is None else reports.room.server.leak(all_open, connections=connections),
        silent_ns=_silence_ns(samples, point, sent_ns=sent_ns),
    )
    service = None
    if outcome not in _WITHOUT_FIGURES:
        try:
            service = _summary(artifacts, reports, counters, point, stretch, sent_ns=sent_ns, parser=parser)
        except UnreadableReport as error:
            if outcome is Outcome.OK:
                outcome, reason = Outcome.REFUSED, f"the generator: {error.line}"
    checks = reports.load.checks if reports.load else None
    # A generator without checks gives no tally.
    tally = Tally(right=checks.right, wrong_status=0, wrong_length=checks.wrong) if service and checks else None
    asked = 0 if samples is None else len(samples)
    trial = trial_not_run(plan, outcome, reason, circumstances, urls_given=asked)
    trial = replace(trial if service is None else trial.having(service), counters=counters, tally=tally)
    if outcome is Outcome.REFUSED:
        trial = replace(trial, validity=Validity.GENERATOR_LIMITED, validity_reason=reason)
    else:
        trial = with_validity(trial, rules)
    return JudgedTrial(trial, pl.DataFrame())


def _silence_ns(samples: pl.DataFrame | None, point: ServicePoint, *, sent_ns: int) -> int | None:
    """Return the time without answers at the end of a load; None if the server may just be slow.

    A slow server still answers some requests: while those of a saturated one wait, it works on others.
    """
    if samples is None or samples.is_empty():
        return None
    last_ns = samples.filter(pl.col("status_or_error") == RIGHT)["end_ns"].max()
    silent_ns = sent_ns - (last_ns if isinstance(last_ns, int) else 0)
    return silent_ns if silent_ns > max(_SILENT_UNITS * unit_ns(point), _SILENT_AT_LEAST_NS) else None


def _summary(
    artifacts: ServerArtifacts,
    reports: Reports,
    counters: Counters,
    point: ServicePoint,
    stretch: Stretch,
    *,
    sent_ns: int,
    parser: str | None,
) -> ServiceSummary | None:
    """Compute the figures of a trial; None if its generator left no results.

    Figures of our own generator are those of the steady stretch; those of another generator cover its whole run.
    """
    if parser is None:
        if artifacts.samples is None or reports.load is None:
            return None
        summary = measure_steady(with_open(artifacts.samples, point, sent_ns=sent_ns), stretch, point)
        load, begin_ns, end_ns = reports.load, stretch.begin_ns, stretch.end_ns
        # In a closed loop it spins only while connections start, so its CPU time shows how busy it is.
        busy_share = load.busy_share if point.loop is Loop.OPEN else None
        summary = replace(summary, generator_busy_share=busy_share, send_lag_p99_ns=load.send_lag.get("p99_ns"))
    elif artifacts.text.strip():
        claimed = read_tool_report(parser, artifacts.text)
        summary, begin_ns, end_ns = _claimed(claimed, point), unit_ns(point), claimed.duration_ns
    else:
        return None
    server, generator, began_ns = reports.room.server, reports.generator or Process(), reports.load_began_ns
    span = None if began_ns is None else (began_ns + begin_ns, began_ns + end_ns)
    readings = [(reading.elapsed_ns, reading.bytes) for reading in counters.memory or ()]
    idle = None if began_ns is None else memory_at(readings, began_ns)
    loaded = None if span is None else memory_over(readings, span)
    cpu_ns = None if span is None else cpu_between_ns(CpuSeries.of(artifacts.report), span)
    answers = None if span is None or summary.per_s is None else summary.per_s * (span[1] - span[0]) / 1e9
    added = None if idle is None or loaded is None else max(loaded - idle, 0)
    return replace(
        summary,
        cpu_per_request_ns=None if cpu_ns is None or not answers else cpu_ns / answers,
        memory_idle_bytes=idle,
        memory_loaded_bytes=loaded,
        memory_per_open_bytes=None if added is None or not summary.open_mean else added / summary.open_mean,
        descriptors_peak=server.peak,
        descriptor_limit=server.descriptor_limit,
        ready_ns=server.ready_ns,
        generator_cpu_ns=generator.cpu_ns,
        generator_wall_ns=generator.wall_ns,
    )


def _claimed(claimed: ToolReport, point: ServicePoint) -> ServiceSummary:
    """Return the figures of another generator's report: over its whole run, as single requests are unknown."""
    latency, ideal_ns = claimed.latency or ToolLatency(), point.ideal_ns
    p50, p95, p99, p999 = (latency.percentiles_ns.get(rank) for rank in (50.0, 95.0, 99.0, 99.9))
    answers, failed = claimed.requests - (claimed.non_2xx or 0), claimed.error_count + (claimed.non_2xx or 0)
    ended, mean_ns = claimed.requests + claimed.error_count, latency.mean_ns
    held = why = None
    if p99 is not None and claimed.requests and ideal_ns:
        if failed > SHARE_ALLOWED * ended:
            why = f"{100 * failed / ended:.1f} % of the requests failed"
        elif p99 >= HELD_WITHIN * ideal_ns:
            why = late_words(p99, point)
        held = why is None
    # Little's law: requests in flight are the rate of answers times their duration.
    in_flight = None if mean_ns is None or not claimed.requests_per_s else claimed.requests_per_s * mean_ns / 1e9
    return ServiceSummary(
        answers=answers,
        errors=failed,
        measured_ns=claimed.duration_ns,
        per_s=claimed.requests_per_s,
        mean_ns=mean_ns,
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=latency.max_ns,
        overhead_p50_ns=None if p50 is None else abs(p50 - ideal_ns),
        overhead_p99_ns=None if p99 is None else abs(p99 - ideal_ns),
        overhead_p999_ns=None if p999 is None else abs(p999 - ideal_ns),
        slowest_5_ns=latency.slowest_means_ns.get(5.0),
        early_by_ns=early_by_ns(latency.min_ns, ideal_ns),
        open_mean=in_flight,
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
        claimed_mean_ns=mean_ns,
        held=held,
        why_not=why,
    )


def cpu_between_ns(cpu: CpuSeries | None, span: Span) -> float | None:
    """Return the CPU time of a span; None if the readings do not cover it."""
    if cpu is None or cpu.elapsed_ns[-1] < span[1]:
        return None
    return cpu.between(cpu.started_at_ns + span[0], cpu.started_at_ns + span[1])


def memory_at(readings: Sequence[tuple[int, int]], moment_ns: int) -> int | None:
    """Return the last reading ``(elapsed_ns, bytes)`` up to a moment; None before the first one."""
    before = [size for at, size in readings if at <= moment_ns]
    return before[-1] if before else None


def memory_over(readings: Sequence[tuple[int, int]], span: Span) -> int | None:
    """Return the median reading of a span; None if there is none."""
    within = median([float(size) for at, size in readings if span[0] <= at <= span[1]])
    return None if within is None else round(within)
