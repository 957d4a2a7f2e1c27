"""Judge latency trials: loops that clients time themselves, and lines that they print."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count, takewhile
from statistics import fmean, pstdev
from typing import Annotated, ClassVar, Final, NamedTuple

import numpy as np
import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.judge.lines import LINE_COLUMNS, Lines, read_harness_line
from httpdyno.judge.outcome import ending_from_report, outcome_of
from httpdyno.judge.rankable import rankable_trials
from httpdyno.judge.reference import Expectations, Reference
from httpdyno.judge.trial import (
    NO_CIRCUMSTANCES,
    Circumstances,
    JudgedTrial,
    TrialArtifacts,
    judge_crawl,
    trial_not_run,
    trial_refused,
)
from httpdyno.judge.validity import Rule, with_validity
from httpdyno.judge.verdict import Judged
from httpdyno.model import (
    Interval,
    LinesSummary,
    Outcome,
    Tally,
    Trial,
    TrialPlan,
    Verdict,
    counted,
    counters_from_report,
    format_time,
    records_of,
)
from httpdyno.model.record import FigureRecord, Recorded, measured
from httpdyno.model.timed_calls import TIMED_RUNS, TimedCalls
from httpdyno.stats import FEWEST_BLOCKS, Int64Array, LogRatio, percentile


class Content(StrEnum):
    """Content of one call."""

    PLAIN = "plain"
    """13 bytes of text."""
    JSON = "json"
    """A document of 16 KiB."""


@dataclass(frozen=True, slots=True)
class LatencyPoint(FigureRecord):
    """One point of the grid; the trial records whether connections are kept, and how calls are timed."""

    prefix: ClassVar[str] = "latency_point_"

    workload: Annotated[Content, Recorded("what is fetched")]
    parallel: Annotated[
        int, Recorded("calls started at once: they form a loop, which ends with the last of them", type="int32")
    ]


@dataclass(frozen=True, slots=True)
class LatencyRun:
    """One of the runs that a figure of timeit is computed from."""

    loop_ns: Annotated[float, Recorded("mean time of its loops")]


@dataclass(frozen=True, slots=True)
class LatencySummary(FigureRecord):
    """Figures of a call in a warm process. A figure without data is None."""

    prefix: ClassVar[str] = "latency_"

    calls: Annotated[int, Recorded("calls of the warm process from which the figures of single calls are computed")]
    loops: int | None = measured("loops of each run; null if there were too few for seven runs")
    runs: Annotated[tuple[LatencyRun, ...], Recorded("the runs")] = ()
    mean_ns: float | None = measured("mean time of a loop over the runs")
    deviation_ns: float | None = measured("standard deviation of the runs (of a population, as in timeit)")
    call_ns: float | None = measured("mean duration of a call; null if only loops were timed")
    p50_ns: int | None = measured("median duration of a call")
    p99_ns: int | None = measured("99th percentile of that duration")
    p999_ns: int | None = measured("99.9th percentile; null for fewer than 1,000 calls")
    max_ns: int | None = measured("longest duration")
    first_ns: int | None = measured("duration of the first call of the cold process")
    cpu_per_call_ns: float | None = measured("CPU time of the subject per call")
    server_ns: float | None = measured("mean time from a request's arrival at the origin to the end of its answer")
    wire_ns: float | None = measured("measured time of a call's round trips through the network alone")
    client_ns: float | None = measured("the rest of a call's duration: time in the client")


_LONG_ENOUGH_NS: Final = 200_000_000
"""Duration of a try that has enough loops, and of the warm-up."""


class TimeitRuns(NamedTuple):
    """Seven runs selected from a series of loops."""

    warm_up: int
    """Loops at the beginning that no figure includes."""
    loops: int
    """Loops of each run: the number that timeit would choose, or as many as there are for seven runs."""
    loop_ns: tuple[float, ...]
    """Mean time of a loop in each run."""


def loop_choices() -> Iterator[int]:
    """Yield the numbers of loops that timeit tries in turn: 1, 2, 5, 10, 20, 50 and so on.

    References
    ----------
    The Python Standard Library, ``timeit.Timer.autorange``.
    """
    return (step * 10**power for power in count() for step in (1, 2, 5))


def timeit_runs(times_ns: Int64Array) -> TimeitRuns | None:
    """Select seven runs from the times of successive loops, as timeit would have made them.

    The loops of the first 0.2 s are the warm-up. The number of loops is the first of timeit's numbers that takes 0.2 s.
    The runs are the last seven times as many loops of the series, when the process is warmest. If there are too few,
    each run has as many of timeit's numbers as the series allows.

    None for fewer than seven loops after the warm-up.
    """
    elapsed = np.cumsum(times_ns)
    warm_up = int(np.searchsorted(elapsed, _LONG_ENOUGH_NS)) + 1
    left = len(times_ns) - warm_up
    if left < TIMED_RUNS:
        return None
    loops, begin = 1, warm_up
    for loops in loop_choices():
        end = begin + loops
        if end > len(times_ns) or elapsed[end - 1] - elapsed[begin - 1] >= _LONG_ENOUGH_NS:
            break
        begin = end
    if begin + (1 + TIMED_RUNS) * loops > len(times_ns):
        *_, loops = takewhile(lambda choice: choice <= left // TIMED_RUNS, loop_choices())
    runs = times_ns[-TIMED_RUNS * loops :].reshape(TIMED_RUNS, loops)
    return TimeitRuns(warm_up, loops, tuple(runs.mean(axis=1, dtype=np.float64).tolist()))


def timeit_text(mean_ns: float, deviation_ns: float) -> str:
    """Write a mean and its deviation like IPython: ``1.19 ms ± 70.7 us``."""
    return f"{format_time(mean_ns)} ± {format_time(deviation_ns)}"


def per_loop_text(time: str, runs: int, loops: int) -> str:
    """Write a figure as ``%timeit`` prints it; ``time`` is its mean and deviation.

    ``1.19 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 1,000 loops each)``
    """
    return f"{time} per loop (mean ± std. dev. of {counted(runs, 'run')}, {counted(loops, 'loop')} each)"


def summarise_lines(
    samples: pl.DataFrame,
    point: LatencyPoint,
    *,
    arrivals: pl.DataFrame | None = None,
    round_trip_ns: int | None = None,
    connections_per_call: float | None = None,
    cpu: CpuSeries | None = None,
    clock_bound_ns: int = 0,
) -> LatencySummary:
    """Compute the figures of loops and calls from a client's lines and the engine's observations.

    A loop is a batch: from the start of its first call to the end of its last. Loops with a missing or wrong answer are
    left out, because timeit would have stopped there; these answers count as wrong in the trial. Figures of single
    calls are computed from all loops after the warm-up, those of loops from the seven runs (``timeit_runs``).

    The time of a call is the duration that the client prints. The server's part is the time from the arrival of the
    request to the end of its answer; the wire's part is one round trip for the request and one for each new connection.
    The rest is the client's part, including the wait for other calls of the batch. The parts are unknown if the other
    machine's clock is less exact than the duration of a call (``shows_shares``).

    Parameters
    ----------
    samples
        With ``url``, which ends with its number in the series, ``start_ns``, ``duration_ns`` and ``verdict``.
    arrivals
        Arrivals in the form of ``read_arrivals``; None if they were not recorded.
    round_trip_ns
        Time of a packet between client and peer and back, with no program in between; None: not measured.
    connections_per_call
        Connections that a call opens, each of which costs a round trip; None: unknown.
    cpu
        None without samples.
    clock_bound_ns
        Error bound of the time stamps of arrivals: those of another machine are translated to the clock of this one.
    """
    right = samples.filter(pl.col("verdict") == Verdict.RIGHT.value)
    # A URL of a series ends with its number.
    numbered = right.with_columns(number=pl.col("url").str.extract(r"(\d+)$").cast(pl.Int64)).drop_nulls("number")
    looped = numbered.with_columns(loop=pl.col("number") // point.parallel).sort("number")
    calls = looped.filter(pl.len().over("loop") == point.parallel)
    if calls.is_empty():
        return LatencySummary(calls=0)
    first_ns = int(calls["duration_ns"][0])
    loops = calls.group_by("loop", maintain_order=True).agg(
        begin=pl.col("start_ns").min(), end=(pl.col("start_ns") + pl.col("duration_ns")).max()
    )
    # The clients' durations are more precise than the time stamps; the loop of a single call is its duration.
    times = calls["duration_ns"] if point.parallel == 1 else loops["end"] - loops["begin"]
    runs = timeit_runs(times.to_numpy())
    if runs is None:
        return LatencySummary(calls=0, first_ns=first_ns)
    warm = calls[runs.warm_up * point.parallel :]
    durations = np.sort(warm["duration_ns"].to_numpy())
    call_ns = float(durations.mean(dtype=np.float64))
    cpu_ns = cpu.between(int(loops["begin"][runs.warm_up]), int(loops["end"][-1])) if cpu else None
    server_ns = wire_ns = None
    if shows_shares(clock_bound_ns, call_ns):
        if arrivals is not None:
            served = warm.join(arrivals, on="url", how="inner").select(pl.col("done_ns") - pl.col("at_ns"))
            known = served.to_series().drop_nulls().to_numpy()
            server_ns = float(known.mean(dtype=np.float64)) if len(known) else None
        if round_trip_ns is not None and connections_per_call is not None:
            wire_ns = round_trip_ns * (1 + connections_per_call)
    return replace(
        _summary_of_runs(len(warm), runs.loops, runs.loop_ns),
        call_ns=call_ns,
        p50_ns=percentile(durations, 50),
        p99_ns=percentile(durations, 99),
        # With fewer calls it is the longest.
        p999_ns=percentile(durations, 99.9) if len(durations) >= 1000 else None,
        max_ns=int(durations[-1]),
        first_ns=first_ns,
        cpu_per_call_ns=None if cpu_ns is None else cpu_ns / len(warm),
        server_ns=server_ns,
        wire_ns=wire_ns,
        client_ns=None if server_ns is None or wire_ns is None else max(call_ns - server_ns - wire_ns, 0.0),
    )


def _summary_of_runs(calls: int, loops: int | None, loop_ns: Sequence[float]) -> LatencySummary:
    """Return the figures of runs; the deviation is that of a population, as IPython computes it."""
    mean_ns, deviation_ns = fmean(loop_ns), pstdev(loop_ns)
    return LatencySummary(calls, loops, tuple(map(LatencyRun, loop_ns)), mean_ns, deviation_ns)


def shows_shares(bound_ns: int, call_ns: float) -> bool:
    """Return whether an origin's time stamps are exact enough to divide the time of a call.

    The server's part is the difference of two stamps of one clock, so the offset of that clock does not matter. But if
    the error of another machine's clock exceeds the duration of a call, the clock was set, or the machine is far away.
    Then it is unknown which call an arrival belongs to, and the difference may contain a step of the clock.

    ``bound_ns`` is the error bound of the stamps on this machine's clock, ``call_ns`` the mean duration of a call.
    """
    return bound_ns < call_ns


_LONGEST_LINE: Final = 1 << 20


def judge_latency(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    rules: Sequence[Rule],
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> JudgedTrial:
    """Judge one trial of one client at the point of its condition.

    The list is a series: each URL ends with its number.
    """
    if plan.condition.workload.harness:
        timed = _judge_harness(plan, artifacts, reference, circumstances)
        judged_timed = with_validity(timed, rules) if timed.outcome is Outcome.OK else timed
        return JudgedTrial(judged_timed, pl.DataFrame())
    judged = judge_crawl(plan, artifacts, reference, rules, circumstances)
    trial, samples = judged.trial, judged.samples
    if trial.outcome is Outcome.REFUSED:
        return judged
    requests, connections = trial.counters.requests, trial.counters.connections
    summary = summarise_lines(
        samples,
        plan.condition[LatencyPoint],
        arrivals=reference.arrivals,
        round_trip_ns=artifacts.round_trip_ns,
        # Some clients do not reuse connections.
        connections_per_call=min(connections / requests, 1.0) if requests and connections is not None else None,
        cpu=CpuSeries.of(artifacts.report),
        clock_bound_ns=reference.clock_bound_ns,
    )
    trial = trial.having(summary)
    if trial.outcome is Outcome.HUNG and not (trial.summary and trial.summary.urls):
        # On a busy machine, some clients take seconds to start.
        trial = replace(trial, reason=f"{trial.reason}; if it only starts slowly, increase --duration")
    if trial.tally is not None:
        # The list is intentionally longer than the trial.
        trial = replace(trial, tally=replace(trial.tally, not_reached=0))
    reached = samples.filter(pl.col("verdict") != Verdict.NOT_REACHED.value) if samples.width else samples
    return JudgedTrial(trial, reached)


def _judge_harness(
    plan: TrialPlan, artifacts: TrialArtifacts, reference: Reference, circumstances: Circumstances
) -> Trial:
    """Judge a trial of a client that timed its own calls, except its validity."""
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return trial_refused(plan, artifacts.report, circumstances)
    counters = counters_from_report(artifacts.report)
    # The client prints nothing before its end, so at the deadline it looks stalled.
    unprinted = reference.expectations.distinct.select(
        "url", "cause", *(pl.lit(None, pl.Int64()).alias(name) for name in ("line", "start_ns", "duration_ns"))
    )
    samples = Judged(unprinted, missing=len(unprinted)) if ending.cut_short else Judged(unprinted.clear())
    timeout_ns = round(plan.condition.workload.timeout_s * 1e9)
    outcome, reason = outcome_of(
        ending, Lines(pl.DataFrame(schema=LINE_COLUMNS), 0, ()), samples, timeout_ns=timeout_ns
    )
    trial = replace(trial_not_run(plan, outcome, reason, circumstances, urls_given=1), counters=counters)
    if outcome is not Outcome.OK:
        return trial
    try:
        timed = read_harness_line(artifacts.output.read(_LONGEST_LINE).decode(errors="replace"))
    except UnreadableReport as error:
        return replace(trial, outcome=Outcome.GARBAGE, reason=error.line)
    lines = LinesSummary(urls=timed.calls, time_ns=counters.wall_ns)
    summary = LatencySummary(calls=0)
    if timed.is_ok:
        calls = len(timed.runs_ns) * (timed.loops or 0) * timed.calls_per_loop
        summary = _summary_of_runs(calls, timed.loops, timed.per_loop_ns)
        summary = replace(summary, cpu_per_call_ns=fmean(timed.cpu_per_call_ns))
    trial = replace(
        trial.having(lines, summary),
        tally=_tally_harness(timed, reference.expectations, requests=counters.requests),
    )
    if not timed.is_ok:
        return replace(trial, outcome=Outcome.GARBAGE, reason=f"a call ended with {timed.outcome}")
    return trial


def _tally_harness(timed: TimedCalls, expectations: Expectations, *, requests: int | None) -> Tally:
    """Count the verdicts on the answers that a client claims, all to the first URL of ``expectations``.

    ``requests`` is the number that reached the origin, None if not counted: calls beyond it were not made.
    """
    due = expectations.distinct.row(0, named=True)
    calls: Counter[Verdict] = Counter()
    for answer in timed.answers:
        if not answer.code.isdecimal():
            verdict = Verdict.FALSE_ERROR
        elif int(answer.code) != due["status"]:
            verdict = Verdict.WRONG_STATUS
        else:
            verdict = Verdict.RIGHT if answer.body_length == due["length"] else Verdict.WRONG_LENGTH
        calls[verdict] += answer.calls
    unseen = 0 if requests is None else max(timed.calls - requests, 0)
    return Tally(
        right=max(calls[Verdict.RIGHT] - unseen, 0),
        wrong_status=calls[Verdict.WRONG_STATUS],
        wrong_length=calls[Verdict.WRONG_LENGTH],
        false_error=calls[Verdict.FALSE_ERROR],
        wrong_time=unseen,
    )


def agrees(ratio: Interval) -> bool | None:
    """Return whether a ratio of 1 lies within a narrow interval; None: the interval is too wide."""
    if not ratio.low <= 1 <= ratio.high:
        return False
    # A wider interval agrees with nearly anything.
    return True if ratio.high <= 1.5 * ratio.low else None


def agreement_text(ratio: Interval, *, brief: bool = False) -> str:
    """Describe an agreement: ``yes, 1.02x (0.98 to 1.05)``, ``unknown, ...``; ``brief``: without the interval."""
    word = {True: "yes", False: "no", None: "unknown"}[agrees(ratio)]
    bounds = "" if brief else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{word}, {ratio.estimate:.2f}x{bounds}"


def agreement(lines: Sequence[Trial], harness: Sequence[Trial], *, level: float = 0.95) -> Interval | None:
    """Return the time of a loop in the client's own process as a multiple of the time from its lines.

    With three or more trials of each, each trial is one value, because runs of the same process are not independent.
    With fewer, the runs are the values, and the interval describes only these trials.

    None if one of them was not measured, or is unreliable.
    """
    summaries = [records_of(LatencySummary, rankable_trials(trials)) for trials in (harness, lines)]
    means = [[one.mean_ns for one in own if one.mean_ns] for own in summaries]
    runs = [[run.loop_ns for one in own for run in one.runs] for own in summaries]
    for one, other in (means, runs):
        if min(len(one), len(other)) >= FEWEST_BLOCKS:
            return LogRatio.unpaired(np.log(one), np.log(other)).interval(level=level)
    return None
