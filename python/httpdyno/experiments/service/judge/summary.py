"""The figures of a server: from the samples of our own generator, or from what another one claims."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from httpdyno.experiments.service.figures import HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.experiments.service.judge.artifacts import ServerArtifacts, load_began_ns
from httpdyno.experiments.service.judge.open_requests import with_open
from httpdyno.experiments.service.judge.steady import Steady
from httpdyno.experiments.service.judge.stretch import Stretch, unit_ns
from httpdyno.experiments.service.judge.usage import Descriptors, Span, cpu_between_ns, memory_at, memory_over
from httpdyno.model import Counters, Loop, ToolReport, format_time

__all__ = ["claimed_summary", "connections_of", "leak_of", "measured_summary", "silence_ns", "span_of"]

_SILENT_UNITS: Final = 3
_SILENT_AT_LEAST_NS: Final = 5_000_000_000
_SHARE_ALLOWED: Final = 0.01
_PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)


def connections_of(point: ServicePoint) -> int:
    """Return how many connections there may be: an open loop has twice as many as an ideal server needs.

    So many requests are let in before the generator, and not the server, would be where they wait.
    """
    return point.connections if point.loop is Loop.CLOSED else 2 * point.connections + 1


def measured_summary(
    artifacts: ServerArtifacts, counters: Counters, point: ServicePoint, *, sent_ns: int
) -> ServiceSummary:
    """Put the samples of our own generator into figures of the steady stretch."""
    assert artifacts.samples is not None, "only our own generator is measured by its samples"
    stretch = Stretch.of(point, sent_ns=sent_ns)
    steady = Steady.of(with_open(artifacts.samples, point, sent_ns=sent_ns), stretch, point.loop)
    p50, p95, p99, p999 = (steady.percentile_ns(rank) for rank in _PERCENTILES)
    ideal = point.ideal_ns
    summary = ServiceSummary(
        answers=steady.answers,
        errors=steady.errors,
        failures=_named(steady.failures),
        still_open=steady.still_open,
        measured_ns=stretch.length_ns,
        per_s=steady.answers * 1e9 / stretch.length_ns if stretch.length_ns else None,
        mean_ns=steady.mean_ns,
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=steady.percentile_ns(100.0),
        slowest_5_ns=steady.slowest_5_ns,
        at_least=steady.at_least(p99),
        overhead_p50_ns=steady.overhead_ns(50.0, ideal),
        overhead_p99_ns=steady.overhead_ns(99.0, ideal),
        overhead_p999_ns=steady.overhead_ns(99.9, ideal),
        early=steady.early_of(ideal),
        early_by_ns=_early_by(float(steady.answered_ns.min()) if steady.answers else None, ideal),
        open_mean=steady.open_mean,
        # In a closed loop it spins while connections begin, and no longer: its CPU time tells.
        generator_busy_share=_busiest(artifacts.load) if point.loop is Loop.OPEN else None,
        send_lag_p99_ns=((artifacts.load or {}).get("send_lag") or {}).get("p99_ns"),
    )
    if point.endpoint is Endpoint.WORKLOADS:
        why = _why_not(steady, summary, point)
        summary = replace(summary, held=why is None, why_not=why)
    return _with_usage(summary, artifacts, counters, span_of(artifacts, stretch))


def claimed_summary(
    artifacts: ServerArtifacts, counters: Counters, claimed: ToolReport, point: ServicePoint
) -> ServiceSummary:
    """Put what another generator claims into figures: of its whole run, as nobody sees its single requests."""
    latency = claimed.latency
    percentiles = latency.percentiles_ns if latency else {}
    p50, p95, p99, p999 = (percentiles.get(rank) for rank in _PERCENTILES)
    failed = claimed.error_count + (claimed.non_2xx or 0)
    summary = ServiceSummary(
        answers=claimed.requests - (claimed.non_2xx or 0),
        errors=failed,
        measured_ns=claimed.duration_ns,
        per_s=claimed.requests_per_s,
        mean_ns=latency.mean_ns if latency else None,
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=latency.max_ns if latency else None,
        slowest_5_ns=latency.slowest_means_ns.get(5.0) if latency else None,
        overhead_p50_ns=_from_ideal(p50, point.ideal_ns),
        overhead_p99_ns=_from_ideal(p99, point.ideal_ns),
        overhead_p999_ns=_from_ideal(p999, point.ideal_ns),
        early_by_ns=_early_by(latency.min_ns if latency else None, point.ideal_ns),
        open_mean=_in_flight(claimed),
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
        claimed_mean_ns=latency.mean_ns if latency else None,
    )
    if latency and claimed.requests and point.ideal_ns and p99 is not None:
        late = p99 >= HELD_WITHIN * point.ideal_ns
        ended = claimed.requests + claimed.error_count
        why = f"{100 * failed / ended:.1f} % of the requests failed" if failed > _SHARE_ALLOWED * ended else None
        why = why or (_late_words(p99, point, at_least=False) if late else None)
        summary = replace(summary, held=why is None, why_not=why)
    began_ns = load_began_ns(artifacts)
    whole = None if began_ns is None else (began_ns + unit_ns(point), began_ns + claimed.duration_ns)
    return _with_usage(summary, artifacts, counters, whole)


def span_of(artifacts: ServerArtifacts, stretch: Stretch) -> Span | None:
    """Return from when to when the steady stretch was, since the server's exec; None where there was no load."""
    began_ns = load_began_ns(artifacts)
    return None if began_ns is None else (began_ns + stretch.begin_ns, began_ns + stretch.end_ns)


def leak_of(artifacts: ServerArtifacts, point: ServicePoint, *, sent_ns: int) -> str | None:
    """Describe how descriptors grew while all connections were open; None if they did not."""
    began_ns = load_began_ns(artifacts)
    if began_ns is None:
        return None
    span = (began_ns + Stretch.of(point, sent_ns=sent_ns).begin_ns, began_ns + sent_ns)
    server = artifacts.report.get("server") or {}
    return Descriptors.of(server).leak(span, connections=connections_of(point))


def silence_ns(samples: pl.DataFrame | None, point: ServicePoint, *, sent_ns: int) -> int | None:
    """Return for how long nothing was answered at the end of a load; None where that may be slowness.

    Slow servers answer some: requests of a saturated one wait, but it works on others meanwhile.
    """
    if samples is None or samples.is_empty():
        return None
    last_ns = Steady.of(samples, Stretch.of(point, sent_ns=sent_ns)).last_answer_ns or 0
    silent_ns = sent_ns - last_ns
    return silent_ns if silent_ns > max(_SILENT_UNITS * unit_ns(point), _SILENT_AT_LEAST_NS) else None


def _with_usage(
    summary: ServiceSummary, artifacts: ServerArtifacts, counters: Counters, span: Span | None
) -> ServiceSummary:
    report: dict[str, Any] = dict(artifacts.report)
    server, subject = report.get("server") or {}, report.get("subject") or {}
    generator = (artifacts.drive or {}).get("generator") or {}
    descriptors = Descriptors.of(server)
    readings = [(point.elapsed_ns, point.bytes) for point in counters.memory or ()]
    began_ns = load_began_ns(artifacts)
    idle = None if began_ns is None else memory_at(readings, began_ns)
    loaded = None if span is None else memory_over(readings, span)
    cpu_ns = None if span is None else cpu_between_ns(subject.get("cpu"), span)
    in_flight = summary.open_mean
    added = None if idle is None or loaded is None else max(loaded - idle, 0)
    answers = _answers_in(summary, span)
    return replace(
        summary,
        cpu_per_request_ns=None if cpu_ns is None or not answers else cpu_ns / answers,
        memory_idle_bytes=idle,
        memory_loaded_bytes=loaded,
        memory_per_open_bytes=None if added is None or not in_flight else added / in_flight,
        descriptors_peak=descriptors.peak,
        descriptor_limit=descriptors.limit,
        ready_ns=server.get("ready_ns"),
        generator_cpu_ns=_sum(generator.get("cpu_user_ns"), generator.get("cpu_system_ns")),
        generator_wall_ns=generator.get("wall_ns"),
    )


def _answers_in(summary: ServiceSummary, span: Span | None) -> float | None:
    """Return how many answers a stretch had that lies within the measured one."""
    if span is None or summary.per_s is None:
        return None
    return summary.per_s * (span[1] - span[0]) / 1e9


def _why_not(steady: Steady, summary: ServiceSummary, point: ServicePoint) -> str | None:
    if not steady.count:
        return "no request began in the steady stretch: all waited for an answer"
    limit_ns = HELD_WITHIN * point.ideal_ns
    late = int((steady.times_ns >= limit_ns).sum())
    if steady.errors / steady.count > _SHARE_ALLOWED:
        return f"{100 * steady.errors / steady.count:.1f} % of the requests failed: {summary.failures}"
    if summary.p99_ns is not None and summary.p99_ns >= limit_ns:
        return _late_words(summary.p99_ns, point, at_least=bool(summary.at_least))
    return f"{late:,} of {steady.count:,} requests failed or were late" if summary.p99_ns is None else None


def _named(failures: Sequence[tuple[str, int]]) -> str | None:
    """Return what requests failed with, and how often, in one line."""
    return ", ".join(f"{count:,} x {ended_with}" for ended_with, count in failures) or None


def _late_words(p99_ns: float, point: ServicePoint, *, at_least: bool) -> str:
    times = p99_ns / point.ideal_ns
    least = "at least " if at_least else ""
    return f"p99 is {least}{format_time(p99_ns)}, {times:.2f} times the ideal of {format_time(point.ideal_ns)}"


def _busiest(load: Mapping[str, Any] | None) -> float | None:
    shares = [thread.get("busy_share") for thread in (load or {}).get("threads") or ()]
    return max((share for share in shares if share is not None), default=None)


def _in_flight(claimed: ToolReport) -> float | None:
    """Return how many requests were in flight by Little's law: what comes a second, times how long it stays."""
    mean_ns = claimed.latency.mean_ns if claimed.latency else None
    return None if mean_ns is None or not claimed.requests_per_s else claimed.requests_per_s * mean_ns / 1e9


def _from_ideal(time_ns: float | None, ideal_ns: int) -> float | None:
    return None if time_ns is None else abs(time_ns - ideal_ns)


def _early_by(shortest_ns: float | None, ideal_ns: int) -> float | None:
    """Return by how much the first answer that came too early did; None where none is known to have."""
    return None if shortest_ns is None or shortest_ns >= ideal_ns else ideal_ns - shortest_ns


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
