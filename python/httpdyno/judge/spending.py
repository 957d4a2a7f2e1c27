"""Where the CPU time of a trial went: into the start of the program, into its warm-up, or into its answers."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.judge.cpu_series import CpuSeries, Int64Array
from httpdyno.stats import FloatArray
from httpdyno.stats.steadiness import drift_interval, warm_up_length

__all__ = ["Spending", "SpendingStep", "spending_of"]

_STEPS_AT_MOST: Final = 200
_ANSWERS_A_STEP: Final = 5
"""Fewer of them say more of one answer than of all."""
_READINGS_A_STEP: Final = 3
"""Between two readings of the CPU clock nothing is known: a step that has fewer shows the clock, not the subject."""
_FEWEST_STEPS: Final = 20
"""MSER-5 sees nothing in fewer."""
_COLD_SHARE: Final = 0.01
_NOTABLE: Final = 0.05
"""Of what an answer costs: where the first ones cost no more than that beyond the others, chance has chosen them."""


@dataclass(frozen=True, slots=True)
class SpendingStep:
    """A stretch of a trial, as long as it took for some answers."""

    answers: int
    """How many there had been at its end."""
    cpu_ns: float
    """CPU time of the stretch for each of its answers."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Where the CPU time went. What cannot be told is None."""

    start_ns: int
    start_cpu_ns: int
    cold_cpu_per_answer_ns: float | None = None
    warm_up_answers: int | None = None
    """None: the trial is too short to tell."""
    warm_up_cpu_ns: float | None = None
    steady_cpu_per_answer_ns: float | None = None
    drift: float | None = None
    """From the first to the last third of the steady state, as a share of its mean; 0 where it may be chance."""
    steps: tuple[SpendingStep, ...] = ()


def spending_of(cpu: CpuSeries, moments_ns: Int64Array) -> Spending | None:
    """Separate what a program spends to start from what it spends on its answers, each with a moment of its own.

    Of documents that are fetched one after another the request is that moment: the one before is done with then, parsed
    and checked, and the CPU time until the first is the start of the program. Of answers that overlap, their starts and
    their ends are, so that each counts as two halves. Answers are taken together in steps of equal number; MSER-5 finds
    from which step on their cost has settled.

    ``moments_ns`` are times since exec, in any order. None without moments or readings.

    References
    ----------
    White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997), 323-334.
    """
    if not len(moments_ns) or not len(cpu.elapsed_ns):
        return None
    moments = np.maximum(np.sort(moments_ns), 0)
    spent = cpu.at(moments)
    start = Spending(int(moments[0]), round(float(spent[0])))
    size = _step_size(moments, cpu)
    answers = len(moments) - 1
    if answers < 1:
        return start
    cold = min(max(round(answers * _COLD_SHARE), size or 1), answers)
    cold_cost = float(spent[cold] - spent[0]) / cold
    if size is None:
        return Spending(start.start_ns, start.start_cpu_ns, cold_cost)
    edges = spent[: answers // size * size + 1 : size]
    costs = np.diff(edges) / size
    warm_up = _warm_up(costs)
    first = warm_up * size
    steady = float(spent[-1] - spent[first]) / (answers - first)
    interval = drift_interval(costs[warm_up:])
    drift = None if interval is None else 0.0 if interval.low <= 0 <= interval.high else interval.estimate
    return Spending(
        start.start_ns,
        start.start_cpu_ns,
        cold_cost,
        first,
        float(spent[first] - spent[0]) - first * steady,
        steady,
        drift,
        tuple(SpendingStep((place + 1) * size, float(cost)) for place, cost in enumerate(costs)),
    )


def _warm_up(costs: FloatArray) -> int:
    """Return how many steps it takes to settle; 0 where those cost no more than others, to speak of."""
    steps = warm_up_length(costs)
    return steps if steps and costs[:steps].mean() > (1 + _NOTABLE) * costs[steps:].mean() else 0


def _step_size(moments: Int64Array, cpu: CpuSeries) -> int | None:
    """Return how many answers make a step; None where there would be too few steps to see anything."""
    answers = len(moments) - 1
    readings = (int(moments[-1]) - int(moments[0])) / cpu.interval_ns
    steps = int(min(_STEPS_AT_MOST, answers / _ANSWERS_A_STEP, readings / _READINGS_A_STEP))
    return answers // steps if steps >= _FEWEST_STEPS else None
