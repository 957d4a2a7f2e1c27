"""Where the CPU time of a trial went: into the start of the program, into its warm-up, or into documents."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.experiments.cost.figures import CostStep
from httpdyno.judge.cpu_series import CpuSeries, Int64Array
from httpdyno.stats import FloatArray
from httpdyno.stats.steadiness import drift_interval, warm_up_length

__all__ = ["Spending", "spending_of"]

_STEPS_AT_MOST: Final = 200
_DOCUMENTS_A_STEP: Final = 5
"""Fewer of them say more of one document than of all."""
_READINGS_A_STEP: Final = 3
"""Between two readings of the CPU clock nothing is known: a step that has fewer shows the clock, not the subject."""
_FEWEST_STEPS: Final = 20
"""MSER-5 sees nothing in fewer."""
_COLD_SHARE: Final = 0.01
_NOTABLE: Final = 0.05
"""Of what a document costs: where the first ones cost no more than that beyond the others, chance has chosen them."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Where the CPU time went. What cannot be told is None."""

    start_ns: int
    start_cpu_ns: int
    cold_cpu_per_document_ns: float | None = None
    warm_up_documents: int | None = None
    """None: the trial is too short to tell."""
    warm_up_cpu_ns: float | None = None
    steady_cpu_per_document_ns: float | None = None
    drift: float | None = None
    """From the first to the last third of the steady state, as a share of its mean; 0 where it may be chance."""
    steps: tuple[CostStep, ...] = ()


def spending_of(cpu: CpuSeries, requests_ns: Int64Array) -> Spending | None:
    """Separate what a program spends to start from what it spends on documents that it fetches one after another.

    The request of a document comes when the one before is done with: parsed, and its value checked. So the CPU time
    between two requests is that of a document, and that before the first request the start of the program. Documents
    are taken together in steps of equal number; MSER-5 finds from which step on their cost has settled.

    Requests are times since exec, in any order. None without requests or readings.

    References
    ----------
    White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997), 323-334.
    """
    if not len(requests_ns) or not len(cpu.elapsed_ns):
        return None
    requests = np.maximum(np.sort(requests_ns), 0)
    spent = cpu.at(requests)
    start = Spending(int(requests[0]), round(float(spent[0])))
    size = _step_size(requests, cpu)
    documents = len(requests) - 1
    if documents < 1:
        return start
    cold = min(max(round(documents * _COLD_SHARE), size or 1), documents)
    cold_cost = float(spent[cold] - spent[0]) / cold
    if size is None:
        return Spending(start.start_ns, start.start_cpu_ns, cold_cost)
    edges = spent[: documents // size * size + 1 : size]
    costs = np.diff(edges) / size
    warm_up = _warm_up(costs)
    first = warm_up * size
    steady = float(spent[-1] - spent[first]) / (documents - first)
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
        tuple(CostStep((place + 1) * size, float(cost)) for place, cost in enumerate(costs)),
    )


def _warm_up(costs: FloatArray) -> int:
    """Return how many steps it takes to settle; 0 where those cost no more than others, to speak of."""
    steps = warm_up_length(costs)
    return steps if steps and costs[:steps].mean() > (1 + _NOTABLE) * costs[steps:].mean() else 0


def _step_size(requests: Int64Array, cpu: CpuSeries) -> int | None:
    """Return how many documents make a step; None where there would be too few steps to see anything."""
    documents = len(requests) - 1
    readings = (int(requests[-1]) - int(requests[0])) / cpu.interval_ns
    steps = int(min(_STEPS_AT_MOST, documents / _DOCUMENTS_A_STEP, readings / _READINGS_A_STEP))
    return documents // steps if steps >= _FEWEST_STEPS else None
