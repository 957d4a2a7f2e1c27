"""Judge latency trials: loops timed by clients, and their lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Annotated, ClassVar, Final

import numpy as np
import polars as pl

from httpdyno.errors import InvalidValue, UnreadableReport
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.judge.lines import LINE_COLUMNS, Lines, read_harness_line
from httpdyno.judge.outcome import Ending, ending_from_report, outcome_of
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
from httpdyno.judge.validity import Evidence, Rule, rules_for, with_validity
from httpdyno.judge.verdict import Judged
from httpdyno.model import (
    Counters,
    Interval,
    LinesSummary,
    Outcome,
    Tally,
    Trial,
    TrialPlan,
    Verdict,
    counters_from_report,
    records_of,
)
from httpdyno.model.record import FigureRecord, Recorded
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls
from httpdyno.stats import FEWEST_BLOCKS, FloatArray, Int64Array, percentile, unpaired_ratio_interval

__all__ = [
    "LATENCY_RULES",
    "RUNS",
    "Agreement",
    "Content",
    "LatencyPoint",
    "LatencyRun",
    "LatencySummary",
    "Seen",
    "agreement",
    "clock_tells",
    "judge_latency",
    "loop_choices",
    "per_loop_text",
    "spread",
    "summarise_lines",
    "timeit_runs",
    "timeit_text",
]


class Content(StrEnum):
    """Content of one call."""

    PLAIN = "plain"
    """13 bytes of text."""
    JSON = "json"
    """A document of 16 KiB."""


@dataclass(frozen=True, slots=True)
class LatencyPoint(FigureRecord):
    """One point of the grid; whether connections are kept stands in the trial, as does who times the calls."""

    prefix: ClassVar[str] = "latency_point_"

    workload: Annotated[Content, Recorded("what is fetched")]
    parallel: Annotated[
        int, Recorded("calls started at once: a loop has so many, and ends with the last", type="int32")
    ]

    def __post_init__(self) -> None:
        """Refuse a loop without a call."""
        if self.parallel < 1:
            raise InvalidValue(f"latency: a loop has 1 call or more, not {self.parallel}")


@dataclass(frozen=True, slots=True)
class LatencyRun:
    """One of the runs that make up a figure such as timeit's."""

    loop_ns: Annotated[float, Recorded("mean time of its loops", unit="ns")]


@dataclass(frozen=True, slots=True)
class LatencySummary(FigureRecord):
    """Figures of a call in a warm process. A figure without data is None."""

    prefix: ClassVar[str] = "latency_"

    calls: Annotated[int, Recorded("calls of the warm process that the figures of single calls rest on")]
    loops: Annotated[int | None, Recorded("loops of each run; null when there were too few for seven runs")] = None
    runs: Annotated[tuple[LatencyRun, ...], Recorded("the runs")] = ()
    mean_ns: Annotated[float | None, Recorded("mean time of a loop over the runs", unit="ns")] = None
    deviation_ns: Annotated[
        float | None, Recorded("standard deviation of the runs, of a population as timeit has it", unit="ns")
    ] = None
    call_ns: Annotated[
        float | None, Recorded("mean duration of a call; null where only loops were timed", unit="ns")
    ] = None
    p50_ns: Annotated[int | None, Recorded("median duration of a call", unit="ns")] = None
    p99_ns: Annotated[int | None, Recorded("99th percentile of that duration", unit="ns")] = None
    p999_ns: Annotated[int | None, Recorded("99.9th percentile; null for fewer than 1,000 calls", unit="ns")] = None
    max_ns: Annotated[int | None, Recorded("longest duration", unit="ns")] = None
    first_ns: Annotated[int | None, Recorded("duration of the first call of the cold process", unit="ns")] = None
    cpu_per_call_ns: Annotated[float | None, Recorded("CPU time of the subject for each call", unit="ns")] = None
    server_ns: Annotated[
        float | None, Recorded("mean time from a request's arrival at the origin to the end of its answer", unit="ns")
    ] = None
    wire_ns: Annotated[
        float | None, Recorded("time of a call's round trips through the bare network, as measured", unit="ns")
    ] = None
    client_ns: Annotated[float | None, Recorded("the rest of a call's duration: the client's own", unit="ns")] = None


LATENCY_RULES: Final = rules_for(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE)
"""How a call is timed has no pace: the client chooses how often it makes it."""


RUNS: Final = 7
"""Runs of a figure, as IPython's ``%timeit`` makes them."""
_LONG_ENOUGH_NS: Final = 200_000_000
"""A try that takes this long has enough loops; the first loops that take this long together are the warm-up."""
_STEPS: Final = (1, 2, 5)
_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Runs:
    """Seven runs out of a series of loops.

    Attributes
    ----------
    warm_up : int
        Loops at the beginning that are no part of any figure.
    loops : int
        Of each run: as many as timeit would have chosen, or as there were for seven runs.
    loop_ns : tuple of float
        Mean time of a loop in each run.
    """

    warm_up: int
    loops: int
    loop_ns: tuple[float, ...]


def loop_choices() -> Iterator[int]:
    """Return the numbers of loops that timeit tries, one after the other: 1, 2, 5, 10, 20, 50 and so on.

    References
    ----------
    The Python Standard Library, ``timeit.Timer.autorange``.
    """
    return (step * 10**power for power in count() for step in _STEPS)


def timeit_runs(times_ns: Int64Array) -> Runs | None:
    """Pick seven runs out of the times of successive loops, as timeit would have made them.

    The loops of the first 0.2 s warm the process up. Then so many are tried as timeit tries, until one try takes 0.2 s:
    that is the number of loops. The last seven times as many of the series are the runs: by then the process is as warm
    as it gets. Where there are too few, each run has as many of timeit's numbers as the series allows.

    None for fewer than seven loops after the warm-up.
    """
    elapsed = np.cumsum(times_ns)
    warm_up = int(np.searchsorted(elapsed, _LONG_ENOUGH_NS)) + 1
    left = len(times_ns) - warm_up
    if left < RUNS:
        return None
    wanted, begin = 1, warm_up
    for wanted in loop_choices():
        end = begin + wanted
        if end > len(times_ns) or elapsed[end - 1] - elapsed[begin - 1] >= _LONG_ENOUGH_NS:
            break
        begin = end
    enough = begin + (1 + RUNS) * wanted <= len(times_ns)
    loops = wanted if enough else _most(left // RUNS)
    runs = times_ns[-RUNS * loops :].reshape(RUNS, loops)
    means = tuple(float(mean) for mean in runs.mean(axis=1, dtype=np.float64))
    return Runs(warm_up, loops, means)


def _most(limit: int) -> int:
    """Return the largest of timeit's numbers that is not above a limit of 1 or more."""
    best = 1
    for choice in loop_choices():
        if choice > limit:
            break
        best = choice
    return best


def spread(loop_ns: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation of the runs, the latter of a population, as IPython computes it."""
    mean = math.fsum(loop_ns) / len(loop_ns)
    return mean, math.sqrt(math.fsum((one - mean) ** 2 for one in loop_ns) / len(loop_ns))


def timeit_text(time_ns: float) -> str:
    """Write a time with three digits that matter and its unit, as IPython does: ``1.19 ms``, ``70.7 us``, ``18 s``."""
    unit_ns, unit = next(((size, name) for size, name in _UNITS if _rounded(time_ns / size) >= 1), _UNITS[-1])
    return f"{_rounded(time_ns / unit_ns):.{_DIGITS}g} {unit}" if time_ns < 1e12 else f"{time_ns / 1e9:.0f} s"


def _rounded(value: float) -> float:
    """Round to the digits that are shown: 999.7 us is 1 ms then, and not 1e+03 us."""
    return float(f"{value:.{_DIGITS}g}")


def per_loop_text(mean_ns: float, deviation_ns: float, runs: int, loops: int) -> str:
    """Write a figure as ``%timeit`` prints it.

    ``1.19 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 1,000 loops each)``
    """
    many_runs, many_loops = "" if runs == 1 else "s", "" if loops == 1 else "s"
    return (
        f"{timeit_text(mean_ns)} ± {timeit_text(deviation_ns)} per loop "
        f"(mean ± std. dev. of {runs} run{many_runs}, {loops:,} loop{many_loops} each)"
    )


_NUMBER: Final = r"(\d+)$"
"""A URL of a series ends with its number."""
_FEWEST_OF_P999: Final = 1000
"""With fewer calls the 99.9th percentile is the longest."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of the client's calls by others.

    Attributes
    ----------
    arrivals : pl.DataFrame | None
        As ``read_arrivals`` returns them; None without stamps.
    round_trip_ns : int | None
        Of a packet between client and peer and back, with no program in between; None: not measured.
    connections_per_call : float | None
        How many connections a call opens: each costs a round trip of its own. None: not known.
    cpu : CpuSeries | None
        None where it was not sampled.
    clock_bound_ns : int
        By how much the stamps of arrivals may be off: those of another machine are moved to the clock of this one.
    """

    arrivals: pl.DataFrame | None = None
    round_trip_ns: int | None = None
    connections_per_call: float | None = None
    cpu: CpuSeries | None = None
    clock_bound_ns: int = 0


def summarise_lines(samples: pl.DataFrame, point: LatencyPoint, seen: Seen) -> LatencySummary:
    """Compute the figures of loops and calls from a client's lines.

    A loop is a batch: from the start of its first call to the end of its last. Loops with an answer that is missing or
    not right are left out, as timeit would have stopped there; they count among the wrong ones of the trial. Figures of
    single calls rest on all loops after the warm-up, those of loops on the seven runs (``timeit_runs``).

    What a call takes is its duration as the client claims it. Of this the server has the time from the arrival of the
    request to the end of its answer, the wire a round trip for the request and one for each new connection; what is
    left is the client's, including the wait for other calls of its batch. The parts are unknown if the other machine's
    clock is less exact than the duration of a call (``clock_tells``).

    ``samples`` have ``url``, whose last digits are its number in the series, ``start_ns``, ``duration_ns`` and
    ``verdict``.
    """
    calls = _calls(samples, point.parallel)
    if calls.is_empty():
        return LatencySummary(calls=0)
    first_ns = int(calls["duration_ns"][0])
    loops = calls.group_by("loop", maintain_order=True).agg(
        begin=pl.col("start_ns").min(), end=(pl.col("start_ns") + pl.col("duration_ns")).max()
    )
    # The clock that durations are taken by is finer than that of the stamps: one call alone is its duration.
    alone = point.parallel == 1
    times = calls["duration_ns"] if alone else loops["end"] - loops["begin"]
    runs = timeit_runs(times.to_numpy())
    if runs is None:
        return LatencySummary(calls=0, first_ns=first_ns)
    warm = calls[runs.warm_up * point.parallel :]
    mean_ns, deviation_ns = spread(runs.loop_ns)
    durations = np.sort(warm["duration_ns"].to_numpy())
    call_ns = float(durations.mean(dtype=np.float64))
    server_ns, wire_ns, client_ns = _shares(warm, call_ns, seen)
    cpu_ns = seen.cpu.between(int(loops["begin"][runs.warm_up]), int(loops["end"][-1])) if seen.cpu else None
    return LatencySummary(
        calls=len(warm),
        loops=runs.loops,
        runs=tuple(map(LatencyRun, runs.loop_ns)),
        mean_ns=mean_ns,
        deviation_ns=deviation_ns,
        call_ns=call_ns,
        p50_ns=percentile(durations, 50),
        p99_ns=percentile(durations, 99),
        p999_ns=percentile(durations, 99.9) if len(durations) >= _FEWEST_OF_P999 else None,
        max_ns=int(durations[-1]),
        first_ns=first_ns,
        cpu_per_call_ns=None if cpu_ns is None else cpu_ns / len(warm),
        server_ns=server_ns,
        wire_ns=wire_ns,
        client_ns=client_ns,
    )


def clock_tells(bound_ns: int, call_ns: float) -> bool:
    """Return whether an origin's stamps can divide the time of a call.

    The server's part is the difference of two stamps of one clock, which may be ahead as far as it likes. But the clock
    of another machine that is known no better than a call lasts was set or is far away: whether a call that a client
    claims holds the arrival that was stamped is not known then, and a step of the clock is in the difference, too.

    ``bound_ns`` is by how much its stamps may be off on this machine's clock, ``call_ns`` the mean duration of a call.
    """
    return bound_ns < call_ns


def _calls(samples: pl.DataFrame, parallel: int) -> pl.DataFrame:
    """Return the calls of whole loops that are right, in the order of their numbers, each with its loop."""
    numbered = samples.with_columns(number=pl.col("url").str.extract(_NUMBER).cast(pl.Int64))
    right = numbered.filter((pl.col("verdict") == Verdict.RIGHT.value) & pl.col("number").is_not_null())
    looped = right.with_columns(loop=pl.col("number") // parallel).sort("number")
    return looped.filter(pl.len().over("loop") == parallel)


def _shares(warm: pl.DataFrame, call_ns: float, seen: Seen) -> tuple[float | None, float | None, float | None]:
    """Divide a call's mean duration among server, wire and client."""
    if not clock_tells(seen.clock_bound_ns, call_ns):
        return None, None, None
    server_ns = None
    if seen.arrivals is not None:
        served = warm.join(seen.arrivals, on="url", how="inner").select(pl.col("done_ns") - pl.col("at_ns"))
        known = served.to_series().drop_nulls().to_numpy()
        server_ns = float(known.mean(dtype=np.float64)) if len(known) else None
    if seen.round_trip_ns is None or seen.connections_per_call is None:
        return server_ns, None, None
    wire_ns = seen.round_trip_ns * (1 + seen.connections_per_call)
    if server_ns is None:
        return None, wire_ns, None
    return server_ns, wire_ns, max(call_ns - server_ns - wire_ns, 0.0)


def summarise_harness(timed: TimedCalls) -> LatencySummary:
    """Compute figures from a client's own timing, which has no single calls.

    One that an error ended has no figures.
    """
    if not timed.is_ok:
        return LatencySummary(calls=0)
    mean_ns, deviation_ns = spread(timed.per_loop_ns)
    cpu_ns = timed.cpu_per_call_ns
    return LatencySummary(
        calls=len(timed.runs_ns) * (timed.loops or 0) * timed.calls_per_loop,
        loops=timed.loops,
        runs=tuple(map(LatencyRun, timed.per_loop_ns)),
        mean_ns=mean_ns,
        deviation_ns=deviation_ns,
        cpu_per_call_ns=sum(cpu_ns) / len(cpu_ns),
    )


def tally_harness(timed: TimedCalls, expectations: Expectations, *, requests: int | None) -> Tally:
    """Judge the answers that a client says it got, all to the same URL.

    The first row of ``expectations`` counts. ``requests`` is how many reached the origin, None if not counted: calls
    beyond that were never made.
    """
    due = expectations.distinct.row(0, named=True)
    calls = dict.fromkeys(("right", "wrong_status", "wrong_length", "false_error"), 0)
    for answer in timed.answers:
        calls[_verdict(answer, status=due["status"], length=due["length"])] += answer.calls
    unseen = 0 if requests is None else max(timed.calls - requests, 0)
    return Tally(
        right=max(calls["right"] - unseen, 0),
        wrong_status=calls["wrong_status"],
        wrong_length=calls["wrong_length"],
        false_error=calls["false_error"],
        wrong_time=unseen,
    )


def _verdict(answer: TimedAnswer, *, status: int | None, length: int | None) -> str:
    if not answer.code.isdecimal():
        return "false_error"
    if int(answer.code) != status:
        return "wrong_status"
    return "right" if answer.body_length == length else "wrong_length"


_LONGEST_LINE: Final = 1 << 20
_NO_LINES: Final = pl.DataFrame(schema=LINE_COLUMNS)


def judge_latency(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one client at the point of its condition.

    The list is a series: each URL ends with its number.
    """
    point = plan.condition.get(LatencyPoint)
    assert point is not None, "latency conditions have a point"
    if plan.condition.workload.harness:
        return _timed_itself(plan, artifacts, reference, circumstances, rules)
    judged = judge_crawl(plan, artifacts, reference, circumstances, rules=rules)
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    counters = judged.trial.counters
    seen = Seen(
        arrivals=reference.arrivals,
        round_trip_ns=artifacts.round_trip_ns,
        connections_per_call=_connections_per_call(counters),
        cpu=CpuSeries.of(artifacts.report),
        clock_bound_ns=reference.clock_bound_ns,
    )
    trial = _advised(judged.trial).having(summarise_lines(judged.samples, point, seen))
    return JudgedTrial(_without_rest(trial), _reached(judged.samples))


def _advised(trial: Trial) -> Trial:
    """Return the hint for a client that printed nothing: on a busy machine some take seconds to start."""
    if trial.outcome is not Outcome.HUNG or (trial.summary and trial.summary.urls):
        return trial
    return replace(trial, reason=f"{trial.reason}; if it only starts slowly, give it more time (--duration)")


def _without_rest(trial: Trial) -> Trial:
    """Drop unreached URLs: the list is longer than the time on purpose."""
    return trial if trial.tally is None else replace(trial, tally=replace(trial.tally, not_reached=0))


def _reached(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("verdict") != Verdict.NOT_REACHED.value) if samples.width else samples


def _timed_itself(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    circumstances: Circumstances,
    rules: Sequence[Rule],
) -> JudgedTrial:
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    counters = counters_from_report(artifacts.report)
    timeout_ns = round(plan.condition.workload.timeout_s * 1e9)
    outcome, reason = _ended(ending, reference.expectations, timeout_ns=timeout_ns)
    trial = replace(trial_not_run(plan, outcome, reason, circumstances, urls_given=1), counters=counters)
    if outcome is not Outcome.OK:
        return JudgedTrial(trial, pl.DataFrame())
    try:
        timed = read_harness_line(artifacts.output.read(_LONGEST_LINE).decode(errors="replace"))
    except UnreadableReport as error:
        return JudgedTrial(replace(trial, outcome=Outcome.GARBAGE, reason=error.line), pl.DataFrame())
    trial = replace(
        trial.having(LinesSummary(urls=timed.calls, time_ns=counters.wall_ns), summarise_harness(timed)),
        tally=tally_harness(timed, reference.expectations, requests=counters.requests),
    )
    if not timed.is_ok:
        return JudgedTrial(
            replace(trial, outcome=Outcome.GARBAGE, reason=f"a call ended with {timed.outcome}"), pl.DataFrame()
        )
    return JudgedTrial(with_validity(trial, rules), pl.DataFrame())


def _ended(ending: Ending, expectations: Expectations, *, timeout_ns: int) -> tuple[Outcome, str | None]:
    """Name how the process ended; until its end it prints nothing, so that a deadline finds it hanging."""
    unprinted = expectations.distinct.select(
        "url", "cause", *(pl.lit(None, pl.Int64()).alias(name) for name in ("line", "start_ns", "duration_ns"))
    )
    judged = Judged(unprinted, missing=len(unprinted)) if ending.cut_short else Judged(unprinted.clear())
    return outcome_of(ending, Lines(_NO_LINES, 0, ()), judged, timeout_ns=timeout_ns)


def _connections_per_call(counters: Counters) -> float | None:
    """Return the connections opened per call; None if not counted. Some clients do not reuse connections."""
    if not counters.requests or counters.connections is None:
        return None
    return min(counters.connections / counters.requests, 1.0)


_TELLING: Final = 1.5
"""The upper end of an interval over its lower one: a wider one agrees with nearly anything."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a loop takes in the client's own process, as a multiple of what its lines say."""

    ratio: Interval

    @property
    def agrees(self) -> bool | None:
        """Whether both agree within a narrow interval; None: the interval is too wide."""
        if not self.ratio.low <= 1 <= self.ratio.high:
            return False
        return True if self.ratio.high <= _TELLING * self.ratio.low else None

    @property
    def text(self) -> str:
        """Describe it in a few words: ``yes, 1.02x (0.98 to 1.05)``, ``no, 0.93x (0.91 to 0.95)``, ``unknown, ...``."""
        found = {True: "yes", False: "no", None: "unknown"}[self.agrees]
        return f"{found}, {self.ratio.estimate:.2f}x ({self.ratio.low:.2f} to {self.ratio.high:.2f})"


def agreement(lines: Sequence[Trial], harness: Sequence[Trial], *, level: float = 0.95) -> Agreement | None:
    """Compare the loops of a client's lines with those that it timed itself.

    From three trials of each on, a trial is one value: runs of one process share its luck. With fewer, the runs are
    the values, so that the interval says how well these trials agree and nothing of others.

    None if one of them was not measured, or is unreliable.
    """
    one, other = _values(harness), _values(lines)
    if min(len(one), len(other)) < FEWEST_BLOCKS:
        one, other = _runs(harness), _runs(lines)
    if min(len(one), len(other)) < FEWEST_BLOCKS:
        return None
    return Agreement(unpaired_ratio_interval(np.log(one), np.log(other), level=level))


def _values(trials: Sequence[Trial]) -> FloatArray:
    means = (summary.mean_ns for summary in records_of(LatencySummary, rankable_trials(trials)))
    return np.array([mean for mean in means if mean], dtype=np.float64)


def _runs(trials: Sequence[Trial]) -> FloatArray:
    summaries = records_of(LatencySummary, rankable_trials(trials))
    return np.array([run.loop_ns for summary in summaries for run in summary.runs], dtype=np.float64)
