"""CPU time over a trial: of its start, of its warm-up and of each right answer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model import Counters, LinesSummary, Verdict
from httpdyno.stats import FloatArray, Int64Array
from httpdyno.stats.steadiness import drift_interval, warm_up_length


@dataclass(frozen=True, slots=True)
class CpuSeries:
    """Readings of the CPU clock of a subject's processes, each shape (n,), ascending; cumulative since exec."""

    started_at_ns: int
    """Time of the exec, since the Unix epoch."""
    elapsed_ns: Int64Array
    """Since exec."""
    cpu_ns: Int64Array
    """User and system time together."""

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Self | None:
        """Read the series from the engine's report; None without readings."""
        subject = report.get("subject") or {}
        readings, started_at_ns = subject.get("cpu"), subject.get("started_at_ns")
        if not readings or started_at_ns is None:
            return None
        try:
            elapsed, user, system = np.array(readings, dtype=np.int64).T
            return cls(int(started_at_ns), elapsed, user + system)
        except (OverflowError, TypeError, ValueError) as error:
            raise EngineFailed(
                f"the engine's readings of the CPU clock are invalid ({error}); {RENEW_ENGINE}"
            ) from error

    def at(self, elapsed_ns: FloatArray | Int64Array) -> FloatArray:
        """Return the CPU time used until each moment, interpolated linearly between readings."""
        times = np.concatenate(([0], self.elapsed_ns))
        return np.asarray(np.interp(elapsed_ns, times, np.concatenate(([0], self.cpu_ns))))

    def between(self, begin_ns: int, end_ns: int) -> float | None:
        """Return the CPU time between two moments since the epoch; None without a reading before them."""
        begin, end = begin_ns - self.started_at_ns, end_ns - self.started_at_ns
        if not len(self.elapsed_ns) or begin < self.elapsed_ns[0] or end <= begin:
            return None
        used = np.interp([begin, end], self.elapsed_ns, self.cpu_ns)
        return float(used[1] - used[0])


_STEPS_AT_MOST: Final = 200
_ANSWERS_A_STEP: Final = 5
"""Fewest answers of a step: fewer represent single answers, not all."""
_READINGS_A_STEP: Final = 3
"""Fewest readings of the CPU clock in a step: with fewer, a step shows the clock, not the subject."""
_FEWEST_STEPS: Final = 20
"""Fewest steps that MSER-5 needs."""
_COLD_SHARE: Final = 0.01
_NOTABLE: Final = 0.05
"""Share of the cost of an answer up to which an extra cost of the first answers may be chance."""


@dataclass(frozen=True, slots=True)
class SpendingStep:
    """A part of a trial in which a fixed number of answers arrived."""

    answers: int
    """Number of answers up to its end."""
    cpu_ns: float
    """CPU time of the part per answer."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Parts of the CPU time; None if unknown."""

    start_ns: int
    start_cpu_ns: int
    cold_cpu_per_answer_ns: float | None = None
    warm_up_answers: int | None = None
    """Answers of the warm-up; None: the trial is too short to determine it."""
    warm_up_cpu_ns: float | None = None
    steady_cpu_per_answer_ns: float | None = None
    drift: float | None = None
    """Change from the first to the last third of the steady state, as a share of its mean; 0 if it may be chance."""
    steps: tuple[SpendingStep, ...] = ()


def spending_of(cpu: CpuSeries, moments_ns: Int64Array) -> Spending | None:
    """Divide CPU time into the start of the program, its warm-up and its answers, using the times of the answers.

    For documents that are fetched one after another, the time is that of the request: by then the document before it
    has been parsed and checked, and the CPU time until the first request is the start of the program. For answers that
    overlap, the times are their starts and ends, so that each answer counts as two halves. Answers are grouped into
    steps of equal number; MSER-5 finds the step from which their cost is steady.

    ``moments_ns`` are times since exec, in any order. Returns None without times or readings.

    References
    ----------
    White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997), 323-334.
    """
    if not len(moments_ns) or not len(cpu.elapsed_ns):
        return None
    moments = np.maximum(np.sort(moments_ns), 0)
    spent = cpu.at(moments)
    start = Spending(int(moments[0]), round(float(spent[0])))
    answers = len(moments) - 1
    interval_ns = float(np.median(np.diff(cpu.elapsed_ns))) if len(cpu.elapsed_ns) > 1 else math.inf
    readings = int(moments[-1] - moments[0]) / interval_ns
    steps = int(min(_STEPS_AT_MOST, answers / _ANSWERS_A_STEP, readings / _READINGS_A_STEP))
    size = answers // steps if steps >= _FEWEST_STEPS else None
    if answers < 1:
        return start
    cold = min(max(round(answers * _COLD_SHARE), size or 1), answers)
    cold_cost = float(spent[cold] - spent[0]) / cold
    if size is None:
        return replace(start, cold_cpu_per_answer_ns=cold_cost)
    edges = spent[: answers // size * size + 1 : size]
    costs = np.diff(edges) / size
    warm_up = warm_up_length(costs)
    if warm_up and costs[:warm_up].mean() <= (1 + _NOTABLE) * costs[warm_up:].mean():
        warm_up = 0
    first = warm_up * size
    steady = float(spent[-1] - spent[first]) / (answers - first)
    interval = drift_interval(costs[warm_up:])
    drift = None if interval is None else 0.0 if interval.low <= 0 <= interval.high else interval.estimate
    return replace(
        start,
        cold_cpu_per_answer_ns=cold_cost,
        warm_up_answers=first,
        warm_up_cpu_ns=float(spent[first] - spent[0]) - first * steady,
        steady_cpu_per_answer_ns=steady,
        drift=drift,
        steps=tuple(SpendingStep((place + 1) * size, float(cost)) for place, cost in enumerate(costs)),
    )


COARSE_NS: Final = 10_000_000
"""Interval of the CPU time's readings: start times with a coarser precision cannot be assigned to it."""


def with_cpu_time(
    summary: LinesSummary, samples: pl.DataFrame, cpu: CpuSeries | None, counters: Counters
) -> LinesSummary:
    """Divide the CPU time of a crawl by its right answers, and add it to the summary of the crawl.

    The right answers also bear the cost of the wrong ones. A URL counts one half at its start and one half at its end,
    because URLs overlap. Without readings during the run, or with coarse start times, start-up cannot be separated.
    Returns None if the right answers are unknown.
    """
    timed = samples.filter(pl.col("start_ns").is_not_null() & pl.col("duration_ns").is_not_null())
    verdicts = samples["verdict"].cast(pl.String)
    right = int((verdicts == Verdict.RIGHT.value).sum())
    if not right or (verdicts == Verdict.UNVERIFIED.value).any():
        return summary
    if cpu is None or not len(timed) or int(timed["precision_ns"].to_numpy().min()) > COARSE_NS:
        return replace(summary, cpu_per_right_ns=None if counters.cpu_ns is None else counters.cpu_ns / right)
    starts = timed["start_ns"].to_numpy() - cpu.started_at_ns
    moments = np.concatenate((starts, starts + timed["duration_ns"].to_numpy()))
    spending = spending_of(cpu, moments)
    if spending is None:
        return summary
    halves = spending.steady_cpu_per_answer_ns
    if halves is None:
        spent = float(cpu.at(moments.max(keepdims=True))[0]) - spending.start_cpu_ns
    else:
        spent = halves * len(moments)
    return replace(
        summary,
        start_cpu_ns=spending.start_cpu_ns,
        warm_up_cpu_ns=spending.warm_up_cpu_ns,
        cpu_per_right_ns=spent / right,
    )
