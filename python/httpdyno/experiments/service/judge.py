"""Judges the trials of servers: rules of validity, use of CPUs, the steady stretch, and its figures."""

import signal as signals
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import polars as pl

from httpdyno.errors import EngineFailed, UnreadableReport
from httpdyno.experiments.service.figures import HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.installation import RENEW_ENGINE
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
    ToolReport,
    Trial,
    TrialPlan,
    Validity,
    counters_from_report,
    format_time,
)
from httpdyno.stats import median, nearest_rank

__all__ = [
    "FEWEST_OF_P999",
    "OPEN",
    "SERVICE_RULES",
    "SHORTEST_UNIT_NS",
    "Descriptors",
    "ServerArtifacts",
    "Steady",
    "Stretch",
    "connections_of",
    "cpu_between_ns",
    "judge_service",
    "memory_at",
    "memory_over",
    "ramp_ns",
    "send_ns",
    "time_percentile",
    "unit_ns",
    "with_open",
]

_ALLOWED_LAG_NS: Final = 100_000
_NOT_COUNTED: Final = "the generator did not count how busy it was"


def _late(trial: Trial) -> Reading:
    """Return how late the generator sent to a server, as a share of the overhead that is measured there."""
    service = trial.get(ServiceSummary)
    if service is None or service.send_lag_p99_ns is None:
        return Reading(None, "a closed loop has no schedule to be late for")
    if not service.overhead_p99_ns or service.overhead_p99_ns <= 0:
        return Reading(None, "there is no overhead that it could be a share of")
    late_ns = max(service.send_lag_p99_ns - _ALLOWED_LAG_NS, 0)
    detail = f"{format_time(service.send_lag_p99_ns)} in {format_time(service.overhead_p99_ns)}"
    return Reading(100 * late_ns / service.overhead_p99_ns, detail)


def _cpu(trial: Trial) -> Reading:
    """Return how busy the generator was that was sent against a server.

    In an open loop ours says itself how much of its time it was at work: while it waits for the moment of a request, it
    spins. Else it is its CPU time, as a share of its CPUs.
    """
    service = trial.get(ServiceSummary)
    if service is not None and service.generator_busy_share is not None:
        return Reading(100 * service.generator_busy_share)
    cpus = trial.counters.engine_cpus
    if service is None or service.generator_cpu_ns is None or not service.generator_wall_ns or not cpus:
        return Reading(None, _NOT_COUNTED)
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
            "use of the load generator's busiest thread, or its CPU time, while the load lasted",
            "the load generator used {number} of its CPU time; from {threshold} on it sets the pace",
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


@dataclass(frozen=True, slots=True)
class ServerArtifacts:
    """Artifacts of a server's trial."""

    report: Mapping[str, Any]
    """The engine's report of the room, version 1."""
    drive: Mapping[str, Any] | None
    """Its report of the drive: what was proved before, during and after the load; None: it wrote none."""
    load: Mapping[str, Any] | None
    """The report of our own generator; None: it wrote none, or another one sent."""
    samples: pl.DataFrame | None
    """Every request of our own generator."""
    text: str = ""
    """What another generator printed."""
    stderr: str = ""
    """The end of what the server wrote to its standard error."""
    said: str = ""
    """The end of what the engine and the generator wrote to theirs."""


def load_began_ns(artifacts: ServerArtifacts) -> int | None:
    """Return when the load began, since the server's exec; None where there was none."""
    started_at_ns = (artifacts.report.get("subject") or {}).get("started_at_ns")
    if started_at_ns is None:
        return None
    try:
        if artifacts.load is not None:
            began = datetime.fromisoformat(str(artifacts.load["started"]))
            return round(began.timestamp() * 1e6) * 1000 - int(started_at_ns)
        generator = (artifacts.drive or {}).get("generator") or {}
        began_at_ns = generator.get("started_at_ns")
        return None if began_at_ns is None else int(began_at_ns) - int(started_at_ns)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineFailed(f"when the load began cannot be read: {error}; {RENEW_ENGINE}") from error


_FEWEST: Final = 4
"""Fewest readings that can show a growth."""
_FOR_A_CONNECTION: Final = 1.25
"""Descriptors that a server may have for one: itself, and now and then one that is not closed yet."""
_ALWAYS_ALLOWED: Final = 24
"""Descriptors that a server may open in the midst of a load: threads, a log, a garbage collection that is late."""
_RISING: Final = 0.6
"""Of the steps between readings, those that go up in a leak; around a level half of them do at most."""
_AT_LIMIT: Final = 0.97

Series = Sequence[Sequence[int]]
Span = tuple[int, int]
"""From when to when, since the server's exec, in nanoseconds."""


def cpu_between_ns(series: Series | None, span: Span) -> float | None:
    """Return the CPU time that was used in a span, from readings ``[elapsed_ns, user_ns, system_ns]`` that only grow.

    Between readings it is taken to grow evenly. None where the readings do not cover the span.
    """
    if not series or span[0] >= span[1] or series[0][0] > span[0] or series[-1][0] < span[1]:
        return None
    at = np.array([reading[0] for reading in series], dtype=float)
    used = np.array([reading[1] + reading[2] for reading in series], dtype=float)
    before, after = np.interp(span, at, used)
    return float(after - before)


def memory_at(readings: Series, moment_ns: int) -> int | None:
    """Return the last reading ``[elapsed_ns, bytes]`` up to a moment; None before the first one."""
    before = [size for at, size in readings if at <= moment_ns]
    return before[-1] if before else None


def memory_over(readings: Series, span: Span) -> int | None:
    """Return the median reading of a span; None where there is none."""
    within = median([float(size) for at, size in readings if span[0] <= at <= span[1]])
    return None if within is None else round(within)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The open descriptors of a server's processes over time."""

    readings: tuple[tuple[int, int], ...]
    """``(elapsed_ns, count)``."""
    limit: int | None
    """As many as one process may have; None: not known."""
    most_of_one: int | None
    """Most that one process had."""

    @classmethod
    def of(cls, server: Mapping[str, Any]) -> Self:
        """Read them from the engine's report of a server."""
        readings = tuple((int(at), int(count)) for at, count in server.get("descriptors") or ())
        return cls(readings, server.get("descriptor_limit"), server.get("most_descriptors_of_one_process"))

    @property
    def peak(self) -> int | None:
        """The most that were open at once; None if not counted."""
        return max((count for _, count in self.readings), default=None)

    def exhausted(self, *, connections: int) -> str | None:
        """State that a process had as many as it may have, though the connections do not take them all; else None."""
        most = self.most_of_one if self.most_of_one is not None else self.peak
        if self.limit is None or most is None or most < _AT_LIMIT * self.limit:
            return None
        if self.limit <= _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections:
            return None
        return f"used up its descriptors, {most:,} of {self.limit:,}, with at most {connections:,} connections"

    def leak(self, span: Span, *, connections: int) -> str | None:
        """State that more and more were open over a span, and more than the connections of its load explain; else None.

        In ``span`` all connections were open, ``connections`` of them at most.
        """
        within = [count for at, count in self.readings if span[0] <= at <= span[1]]
        if len(within) < _FEWEST:
            return None
        steps = list(pairwise(within))
        rising = sum(after > before for before, after in steps)
        before_load = min(count for at, count in self.readings if at <= span[1])
        explained = before_load + _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections
        if within[-1] <= explained or within[-1] <= within[0] or rising < _RISING * len(steps):
            return None
        seconds = (span[1] - span[0]) / 1e9
        return (
            f"descriptors grew from {within[0]:,} to {within[-1]:,} in {seconds:.1f} s, "
            f"while at most {connections:,} connections were open"
        )


Found = tuple[Outcome, str | None]
_UNSUPPORTED: Final = 127
"""What a program ends with for a setting that it cannot honour: ``subjects/CONTRACT.md``."""
_LINES: Final = 2
_LENGTH: Final = 240
_NO_MORE: Final = ("Too many open files", "EMFILE", "ENFILE")


def service_outcome(
    artifacts: ServerArtifacts, *, connections: int, leak: str | None = None, silent_ns: int | None = None
) -> Found:
    """Return the outcome of a server with its reason in one line; None if it is ``ok``.

    The first that applies: it was stopped, could not be started, never listened, used up its descriptors, died,
    answered wrongly, leaked, stopped answering. That it was slow is none of them: that is what is measured.

    ``leak`` is the growth of its descriptors, where there was one; ``silent_ns`` is for how long nothing was answered
    at the end of the load, where that is too long to be slowness.
    """
    report = artifacts.report
    kind = str(report.get("outcome"))
    if kind == "interrupted":
        return Outcome.INTERRUPTED, str(report.get("reason") or "stopped before it was done")
    if kind == "failed_to_start":
        return Outcome.CRASHED, f"could not be started: {report.get('reason') or 'no reason given'}"
    if (report.get("server") or {}).get("ready_ns") is None:
        return _never_listened(artifacts)
    found = _broken(artifacts, connections, leak, silent_ns) or _answered_wrongly(artifacts)
    if found is None and leak:
        found = Outcome.LEAKED, leak
    return found or _ended(artifacts, silent_ns)


def _broken(artifacts: ServerArtifacts, connections: int, leak: str | None, silent_ns: int | None) -> Found | None:
    """Return the failure of a server that had listened; None if there was none."""
    died = artifacts.report.get("outcome") == "died"
    exhausted = Descriptors.of(artifacts.report.get("server") or {}).exhausted(connections=connections)
    if exhausted or (leak and (died or silent_ns is not None)):
        return Outcome.LEAKED, _leaked(exhausted, leak, artifacts.stderr)
    return (Outcome.DIED, f"{_end(artifacts.report, artifacts.stderr)}{_amid(artifacts)}") if died else None


def _answered_wrongly(artifacts: ServerArtifacts) -> Found | None:
    if silent := _unanswered((artifacts.drive or {}).get("before")):
        return Outcome.HUNG, f"before the load: {silent}"
    wrong = _wrong(artifacts)
    return None if wrong is None else (Outcome.WRONG_ANSWERS, wrong)


def _ended(artifacts: ServerArtifacts, silent_ns: int | None) -> Found:
    """Return whether the load ended."""
    if silent_ns is not None:
        silence = format_time(silent_ns)
        return Outcome.DIED, f"answered nothing in the last {silence} of the load, though requests were open"
    if artifacts.report.get("outcome") == "deadline":
        return Outcome.HUNG, "did not come to its end before the deadline"
    return _generator(artifacts)


def _never_listened(artifacts: ServerArtifacts) -> Found:
    subject = artifacts.report.get("subject") or {}
    if artifacts.report.get("outcome") != "died":
        return (
            Outcome.NEVER_LISTENED,
            f"{artifacts.report.get('reason') or 'accepted no connection'}{_said(artifacts.stderr)}",
        )
    if subject.get("exit_code") == _UNSUPPORTED:
        return Outcome.UNAVAILABLE, f"cannot honour a setting{_said(artifacts.stderr)}"
    return Outcome.NEVER_LISTENED, f"ended before it listened: {_end(artifacts.report, artifacts.stderr)}"


def _leaked(exhausted: str | None, leak: str | None, stderr: str) -> str:
    parts = [part for part in (exhausted, leak) if part]
    if any(sign in stderr for sign in _NO_MORE):
        parts.append("says that too many files are open")
    return "; ".join(parts)


def _wrong(artifacts: ServerArtifacts) -> str | None:
    """Describe the answer that broke the contract; None if there is none."""
    drive = artifacts.drive or {}
    if failed := _failed(drive.get("before")):
        return f"before the load: {failed}"
    during = drive.get("during") or {}
    if during.get("wrong"):
        evidence = next(iter(during.get("evidence") or ()), "no evidence kept")
        return f"under load {during['wrong']} of {during['asked']} answers were wrong: {evidence}"
    checks = (artifacts.load or {}).get("checks") or {}
    wrong = sum(int(checks.get(name) or 0) for name in ("wrong_length", "wrong_content", "wrong_json"))
    if wrong:
        return f"under load {wrong:,} of {wrong + int(checks.get('right') or 0):,} answers had another content"
    return None


def _unanswered(checks: Iterable[Mapping[str, Any]] | None) -> str | None:
    failed = next((check for check in checks or () if not check.get("passed")), None)
    return None if failed is None or failed.get("answered", True) else f"no answer to {_evidence(failed)}"


def _failed(checks: Iterable[Mapping[str, Any]] | None) -> str | None:
    failed = next((check for check in checks or () if not check.get("passed")), None)
    return None if failed is None else _evidence(failed)


def _evidence(check: Mapping[str, Any]) -> str:
    return f"{check.get('check')}: {check.get('evidence') or 'no evidence kept'}"


def _amid(artifacts: ServerArtifacts) -> str:
    """Return whether there was a load when it ended."""
    began = bool((artifacts.drive or {}).get("generator")) or artifacts.load is not None
    return "" if began else ", before the load"


def _generator(artifacts: ServerArtifacts) -> Found:
    """Find failures of the generator, which are not the server's fault."""
    driver = artifacts.report.get("driver") or {}
    generator = (artifacts.drive or {}).get("generator")
    if artifacts.drive is None:
        ended = _end({"subject": driver}, artifacts.said)
        return Outcome.REFUSED, f"the drive left no report: {ended}"
    if generator is None:
        return Outcome.WRONG_ANSWERS, "the contract checks did not run, so there was no load"
    if generator.get("exit_code") != 0:
        return Outcome.REFUSED, f"the generator {_end({'subject': generator}, artifacts.said)}"
    return Outcome.OK, None


def _end(report: Mapping[str, Any], stderr: str) -> str:
    subject = report.get("subject") or {}
    if subject.get("out_of_memory"):
        what = "killed by the kernel: out of memory"
    elif subject.get("signal") is not None:
        what = f"killed by {_signal_name(int(subject['signal']))}"
    elif subject.get("exit_code") is not None:
        what = f"ended with {subject['exit_code']}"
    else:
        what = "ended"
    return what + _said(stderr)


def _said(stderr: str) -> str:
    last = [line.strip() for line in stderr.splitlines() if line.strip()][-_LINES:]
    return f": {' / '.join(last)[-_LENGTH:]}" if last else ""


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


SHORTEST_UNIT_NS: Final = 500_000_000
"""What a round is taken to last where requests do not wait: as many of them as make figures."""
_DRAIN_UNITS: Final = 1.5
"""Beyond the 1.1 times the ideal within which a point is held, so that no request that is not can hide at the end."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when requests have to begin to count, since the load began.

    A closed loop whose connections all began at once would send them all at once for ever: each answer of a server that
    waits 2 s comes 2 s later, and the next request with it. Connections therefore begin one after the other over one
    ideal (``ramp_ns``): from then on requests are spread over it evenly, as they would be after a long time of chance.
    After another ideal the first requests of all connections are over, with what opening a connection costs. Requests
    of the last one and a half ideals do not count, since they could not be seen to be late.

    References
    ----------
    Little, A proof for the queuing formula L = λW, Operations Research 9 (1961): what is in flight, how often it comes
    and how long it stays go together only while none of them changes.
    """

    begin_ns: int
    end_ns: int

    @classmethod
    def of(cls, point: ServicePoint, *, sent_ns: int) -> Self:
        """Return the stretch of a load that sends for ``sent_ns``; an empty one where that is too short."""
        begin_ns = _settled_ns(point)
        return cls(begin_ns, max(begin_ns, sent_ns - _drain_ns(point)))

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.begin_ns


def unit_ns(point: ServicePoint) -> int:
    """Return what a round lasts: the ideal of a request, where it has one."""
    return max(point.ideal_ns, SHORTEST_UNIT_NS)


def ramp_ns(point: ServicePoint) -> int:
    """Return over how long the connections of a closed loop begin; an open loop has its schedule.

    Over one ideal, however short: over one and a quarter, a quarter of them would send together with others, for ever.
    """
    return point.ideal_ns or SHORTEST_UNIT_NS if point.loop is Loop.CLOSED else 0


def send_ns(point: ServicePoint, measured_ns: int) -> int:
    """Return how long to send so that the steady stretch is that long."""
    return _settled_ns(point) + measured_ns + _drain_ns(point)


def _settled_ns(point: ServicePoint) -> int:
    return ramp_ns(point) + unit_ns(point)


def _drain_ns(point: ServicePoint) -> int:
    return round(_DRAIN_UNITS * unit_ns(point))


OPEN: Final = "Open"
"""End of a sample that was still open when the load ended."""
FEWEST_OF_P999: Final = 1000
"""Fewer requests have no 99.9th percentile that is not the longest."""
_SLOWEST: Final = 0.05
_RIGHT: Final = "200"
_Times = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Steady:
    """What the samples of a load say of its steady stretch."""

    times_ns: _Times
    """Response times of the requests that began in it, ascending: of one that was open at the end the time that it had
    waited, of one that failed infinity."""
    longest_exact_ns: float
    """No request that was open at the end had waited less: percentiles below are exact."""
    failures: tuple[tuple[str, int], ...]
    """What the requests ended with that failed, and how many each, the most frequent first."""
    still_open: int
    answered_ns: _Times
    """Response times of the right answers that ended in it."""
    open_mean: float | None
    last_answer_ns: int | None
    """When the last right answer of the whole load ended, since the load began."""
    began: int
    """Requests of the whole load."""

    @classmethod
    def of(cls, samples: pl.DataFrame, stretch: Stretch, loop: Loop = Loop.CLOSED) -> Self:
        """Read the figures from the samples of the generator.

        Requests count that began in the stretch, and those that outlasted it: of a connection that is never answered
        none begins in it. In a closed loop such a one counts as often as others were answered meanwhile.

        ``samples`` have ``intended_ns`` and ``end_ns``, since the load began, and ``status_or_error``: a row for each
        request, also for those that were open at the end (``OPEN``).
        """
        begins, ends = samples["intended_ns"].to_numpy(), samples["end_ns"].to_numpy()
        endings = samples["status_or_error"]
        right, still = (endings == _RIGHT).to_numpy(), (endings == OPEN).to_numpy()
        outlasting = (begins < stretch.begin_ns) & (ends >= stretch.end_ns)
        counts = ((begins >= stretch.begin_ns) & (begins < stretch.end_ns)) | outlasting
        times = np.where(right | still, ends - begins, np.inf)
        in_time = right & (ends >= stretch.begin_ns) & (ends < stretch.end_ns)
        waiting = (ends - begins)[counts & still]
        answered = times[in_time]
        if loop is Loop.CLOSED and answered.size and outlasting.any():
            others = max(1, round(stretch.length_ns / float(np.median(answered))))
            times = np.concatenate([times[counts], np.repeat(times[outlasting], others - 1)])
        else:
            times = times[counts]
        return cls(
            times_ns=np.sort(times),
            longest_exact_ns=float(waiting.min()) if waiting.size else float("inf"),
            failures=tuple(endings.filter(counts & ~right & ~still).value_counts(sort=True).iter_rows()),
            still_open=int(waiting.size),
            answered_ns=answered,
            open_mean=_mean_in_flight(begins, ends, stretch),
            last_answer_ns=int(ends[right].max()) if right.any() else None,
            began=len(begins),
        )

    @property
    def answers(self) -> int:
        """How many right answers ended in it."""
        return len(self.answered_ns)

    @property
    def errors(self) -> int:
        """How many requests of it failed, or were answered wrongly."""
        return sum(count for _, count in self.failures)

    @property
    def count(self) -> int:
        """How many requests count."""
        return len(self.times_ns)

    def percentile_ns(self, rank: float) -> float | None:
        """Return a percentile; None of nothing, or where that request failed."""
        if 99 < rank < 100 and self.count < FEWEST_OF_P999:
            return None
        return _finite(time_percentile(self.times_ns, rank))

    def overhead_ns(self, rank: float, ideal_ns: int) -> float | None:
        """Return a percentile of how far times are from the ideal; None of nothing, or where that request failed.

        A time below the ideal counts like one that is as much above it: who answers before a wait is over has not
        waited, and is not to be the better for it.
        """
        if rank > 99 and self.count < FEWEST_OF_P999:
            return None
        return _finite(time_percentile(np.sort(np.abs(self.times_ns - ideal_ns)), rank))

    def early_of(self, ideal_ns: int) -> int:
        """Count the right answers that came before the ideal."""
        return int((self.answered_ns < ideal_ns).sum())

    def at_least(self, time_ns: float | None) -> bool:
        """Return whether a percentile may be more than what is known of it, for requests that were still open."""
        return time_ns is not None and time_ns >= self.longest_exact_ns

    @property
    def mean_ns(self) -> float | None:
        """Mean; None of nothing, or where one failed."""
        return _finite(float(self.times_ns.mean())) if self.count else None

    @property
    def slowest_5_ns(self) -> float | None:
        """Mean of the slowest 5 %, one at least, as rewrk has it; None of nothing, or where one failed."""
        slowest = self.times_ns[-max(1, int(self.count * _SLOWEST)) :]
        return _finite(float(slowest.mean())) if self.count else None


def time_percentile(ascending: _Times, rank: float) -> float:
    """Return the smallest value that ``rank`` per cent of the values do not exceed; nan of none.

    Nothing is interpolated: between a time and infinity there is nothing.
    """
    if not len(ascending):
        return float("nan")
    return float(ascending[nearest_rank(len(ascending), rank) - 1])


def _finite(time_ns: float) -> float | None:
    return time_ns if np.isfinite(time_ns) else None


def _mean_in_flight(
    begins: "np.ndarray[tuple[int], np.dtype[np.int64]]", ends: object, stretch: Stretch
) -> float | None:
    """Return how many requests were in flight on average, as the area under their number over time."""
    if not stretch.length_ns or not len(begins):
        return None
    within = np.minimum(ends, stretch.end_ns) - np.maximum(begins, stretch.begin_ns)  # type: ignore[call-overload]
    return float(np.maximum(within, 0).sum() / stretch.length_ns)


def with_open(samples: pl.DataFrame, point: ServicePoint, *, sent_ns: int) -> pl.DataFrame:
    """Add a row for each request that was due and had not ended at the end of the load.

    In a closed loop each connection has one, since when its last answer came; one without an answer, since it began. In
    an open loop the schedule names all that were due.

    ``samples`` have ``intended_ns``, ``end_ns``, ``status_or_error`` and ``connection``; the result has them but for
    the connection. ``sent_ns`` is for how long the generator sent.
    """
    begins = _in_turns(samples, point) if point.loop is Loop.CLOSED else _on_schedule(samples, point, sent_ns)
    begins = begins[begins < sent_ns]
    still = pl.DataFrame(
        {
            "intended_ns": begins,
            "end_ns": np.full(len(begins), sent_ns, dtype=np.int64),
            "status_or_error": pl.Series([OPEN] * len(begins), dtype=pl.String()),
        }
    )
    return pl.concat([samples.select(still.columns), still])


_Instants = np.ndarray[tuple[int], np.dtype[np.int64]]


def _in_turns(samples: pl.DataFrame, point: ServicePoint) -> _Instants:
    numbers = np.arange(point.connections, dtype=np.int64)
    since = numbers * ramp_ns(point) // point.connections
    ended = samples.group_by("connection").agg(pl.col("end_ns").max())
    since[ended["connection"].to_numpy()] = ended["end_ns"].to_numpy()
    return since


def _on_schedule(samples: pl.DataFrame, point: ServicePoint, sent_ns: int) -> _Instants:
    """Return when those were due that the samples do not have; the schedule is even."""
    assert point.rate_per_s is not None, "an open loop has a rate"
    due = np.arange(int(np.ceil(sent_ns * point.rate_per_s / 1e9)), dtype=np.int64)
    ended = np.rint(samples["intended_ns"].to_numpy() * point.rate_per_s / 1e9).astype(np.int64)
    missing = np.setdiff1d(due, ended)
    begins: _Instants = np.rint(missing * 1e9 / point.rate_per_s).astype(np.int64)
    return begins


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
    """Compute figures from another generator's claims: over its whole run, as single requests are unknown."""
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
        open_mean=_claimed_in_flight(claimed),
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


def _claimed_in_flight(claimed: ToolReport) -> float | None:
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


_WORST: Final = frozenset({Outcome.INTERRUPTED, Outcome.CRASHED, Outcome.NEVER_LISTENED, Outcome.UNAVAILABLE})


def judge_service(
    plan: TrialPlan,
    artifacts: ServerArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    parser: str | None,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one server at the point of its condition.

    Without a ``parser``, which reads what another generator printed, ours sent.
    """
    point, send_s = plan.condition.get(ServicePoint), plan.condition.send_s
    assert point is not None, "who asks a server has a point"
    assert send_s is not None, "who asks a server sends for a time"
    if ending_from_report(artifacts.report).refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    sent_ns = round(send_s * 1e9)
    counters = counters_from_report(artifacts.report)
    outcome, reason = service_outcome(
        artifacts,
        connections=connections_of(point),
        leak=leak_of(artifacts, point, sent_ns=sent_ns),
        silent_ns=silence_ns(artifacts.samples, point, sent_ns=sent_ns),
    )
    service = None
    if outcome not in _WORST:
        try:
            service = _summary(artifacts, counters, point, parser=parser, sent_ns=sent_ns)
        except UnreadableReport as error:
            if outcome is Outcome.OK:
                outcome, reason = Outcome.REFUSED, f"the generator: {error.line}"
    trial = replace(
        trial_not_run(plan, outcome, reason, circumstances, urls_given=_asked(artifacts)),
        counters=counters,
        tally=_tally(artifacts, service),
    )
    judged = trial if service is None else trial.having(service)
    return JudgedTrial(_with_its_validity(judged, rules), pl.DataFrame())


def _summary(
    artifacts: ServerArtifacts, counters: Counters, point: ServicePoint, *, parser: str | None, sent_ns: int
) -> ServiceSummary | None:
    if parser is None:
        if artifacts.samples is None or artifacts.load is None:
            return None
        return measured_summary(artifacts, counters, point, sent_ns=sent_ns)
    if not artifacts.text.strip():
        return None
    return claimed_summary(artifacts, counters, read_tool_report(parser, artifacts.text), point)


def _asked(artifacts: ServerArtifacts) -> int:
    return 0 if artifacts.samples is None else len(artifacts.samples)


def _tally(artifacts: ServerArtifacts, service: ServiceSummary | None) -> Tally | None:
    """Count the answers whose content was checked; of a generator that checks none there is no tally."""
    checks = (artifacts.load or {}).get("checks")
    if service is None or checks is None:
        return None
    contents = int(checks.get("wrong_content") or 0) + int(checks.get("wrong_json") or 0)
    return Tally(
        right=int(checks.get("right") or 0),
        wrong_status=0,
        wrong_length=int(checks.get("wrong_length") or 0) + contents,
    )


def _with_its_validity(trial: Trial, rules: Sequence[Rule]) -> Trial:
    if trial.outcome is Outcome.REFUSED:
        return replace(trial, validity=Validity.GENERATOR_LIMITED, validity_reason=trial.reason)
    return with_validity(trial, rules)
