"""What a right answer of a crawl costs in CPU time, apart from what it cost to start and to get warm."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.cpu_series import CpuSeries
from httpdyno.judge.spending import spending_of
from httpdyno.model import Counters, Verdict

__all__ = ["CpuPerRight", "cpu_per_right"]

_COARSE_NS: Final = 10_000_000
"""As often the CPU clock is read: start times that are known worse say nothing of where its time went."""


@dataclass(frozen=True, slots=True)
class CpuPerRight:
    """CPU time of a crawl, user and system. What cannot be told is None."""

    start_cpu_ns: int | None = None
    """Until the first URL was started."""
    warm_up_cpu_ns: float | None = None
    """Of the answers before the cost of one had settled, beyond what as many cost from then on."""
    cpu_per_right_ns: float | None = None
    """For each right answer, once the cost of one had settled; start-up left out where it can be told."""


def cpu_per_right(samples: pl.DataFrame, cpu: CpuSeries | None, counters: Counters) -> CpuPerRight:
    """Divide the CPU time of a crawl among its right answers.

    What was spent on wrong ones is on the account of the right ones. A URL counts with one half at its start and one at
    its end: at any moment some are under way. Where the clock was not read while the client ran, or the client's start
    times are too coarse, start-up cannot be told apart. Nothing is said where nobody knows which answers are right.
    """
    timed = samples.filter(pl.col("start_ns").is_not_null() & pl.col("duration_ns").is_not_null())
    verdicts = samples["verdict"].cast(pl.String)
    right = int((verdicts == Verdict.RIGHT.value).sum())
    if not right or (verdicts == Verdict.UNVERIFIED.value).any():
        return CpuPerRight()
    if cpu is None or not len(timed) or int(timed["precision_ns"].to_numpy().min()) > _COARSE_NS:
        return CpuPerRight(cpu_per_right_ns=None if counters.cpu_ns is None else counters.cpu_ns / right)
    starts = timed["start_ns"].to_numpy() - cpu.started_at_ns
    moments = np.concatenate((starts, starts + timed["duration_ns"].to_numpy()))
    spending = spending_of(cpu, moments)
    if spending is None:
        return CpuPerRight()
    halves = spending.steady_cpu_per_answer_ns
    if halves is None:
        spent = float(cpu.at(moments.max(keepdims=True))[0]) - spending.start_cpu_ns
        return CpuPerRight(spending.start_cpu_ns, None, spent / right)
    return CpuPerRight(spending.start_cpu_ns, spending.warm_up_cpu_ns, halves * len(moments) / right)
