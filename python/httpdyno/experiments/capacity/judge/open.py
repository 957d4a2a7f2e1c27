"""The figures of an open loop: response times from when a request was due, over the steady stretch of the schedule."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.capacity.judge.figures import time_figures
from httpdyno.model import Verdict
from httpdyno.stats import BoolArray, Int64Array, percentile
from httpdyno.stats.steadiness import warm_up_length

__all__ = ["Schedule", "summarise_open"]

_FEWEST_A_BIN: Final = 5
_MOST_BINS: Final = 200
_FEW_ROUNDS: Final = 3
_NEARLY_ALL: Final = 95.0
"""Percent: one that is stalled must not take the whole stretch with it."""
_NUMBER: Final = r"(\d+)$"
"""A URL of a series ends with its number."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When requests were due: number ``n`` so many seconds after the start as ``n`` lines take at the rate."""

    started_at_ns: int
    """Since the Unix epoch."""
    rate_per_s: float
    count: int

    @property
    def end_ns(self) -> int:
        """When the one after the last would be due."""
        return int(self.due_ns(np.array([self.count]))[0])

    def due_ns(self, numbers: Int64Array) -> Int64Array:
        """Return when requests were due."""
        return self.started_at_ns + np.round(numbers * (1e9 / self.rate_per_s)).astype(np.int64)


def summarise_open(
    samples: pl.DataFrame, schedule: Schedule, *, concurrency: int, ended_at_ns: int
) -> tuple[CapacitySummary, dict[str, float | None]]:
    """Put the samples of an open loop into figures.

    The steady stretch begins when the warm-up is over (MSER-5 on the response times of requests in the order in which
    they were due), and not before the first of them can have been answered; it ends with the schedule. What was due in
    it has response times and errors; what was answered rightly while it lasted is the rate. A request without an
    answer has waited until the end of the trial at least: it counts with that, so that a stall is not left out for
    being too long.

    ``samples`` have a row for each URL of the series: ``url``, ``start_ns``, ``duration_ns`` (null where it was not
    reached) and ``verdict``; rows beyond the schedule are left out. The summary has no judgement yet; the figures are
    those that an objective may ask of.

    References
    ----------
    Tene, How not to measure latency (2013): coordinated omission.
    """
    numbered = samples.with_columns(number=pl.col("url").str.extract(_NUMBER).cast(pl.Int64))
    samples = numbered.filter(pl.col("number") < schedule.count)
    number = samples["number"].to_numpy()
    order = np.argsort(number, kind="stable")
    due = schedule.due_ns(number[order])
    reached = samples["start_ns"].is_not_null().to_numpy()[order]
    starts = samples["start_ns"].fill_null(ended_at_ns).to_numpy()[order]
    ends = np.where(reached, starts + samples["duration_ns"].fill_null(0).to_numpy()[order], ended_at_ns)
    right = (samples["verdict"] == Verdict.RIGHT.value).to_numpy()[order]
    response = np.maximum(ends - due, 0)
    requests = _Requests(due, starts, ends, response, reached, right)
    summary, figures = _figures(requests, _begin(requests, schedule), schedule.end_ns, concurrency)
    # More than was due are answers to what was due before: to catch up is not to hold more.
    per_s = None if summary.per_s is None else min(summary.per_s, schedule.rate_per_s)
    return replace(summary, per_s=per_s), figures


@dataclass(frozen=True, slots=True)
class _Requests:
    """In the order in which they were due, each shape (n,)."""

    due: Int64Array
    starts: Int64Array
    ends: Int64Array
    response: Int64Array
    reached: BoolArray
    right: BoolArray


def _begin(requests: _Requests, schedule: Schedule) -> int:
    """Find where the steady stretch begins; it is half of the schedule at least."""
    response = requests.response
    bins = min(_MOST_BINS, len(response) // _FEWEST_A_BIN)
    warm_up = 0
    if bins:
        size = len(response) // bins
        means = response[: bins * size].reshape(bins, size).mean(axis=1)
        warm_up = warm_up_length(means) * size
    settled = schedule.started_at_ns + int(np.median(response[warm_up:]))
    if warm_up:
        # Those of the warm-up that come late are no part of it either: they would be too many answers at its beginning.
        settled = max(settled, int(requests.due[warm_up]), percentile(np.sort(requests.ends[:warm_up]), _NEARLY_ALL))
    return min(settled, (schedule.started_at_ns + schedule.end_ns) // 2)


def _figures(
    requests: _Requests, begin_ns: int, end_ns: int, concurrency: int
) -> tuple[CapacitySummary, dict[str, float | None]]:
    answered = requests.right & (requests.ends > begin_ns) & (requests.ends <= end_ns)
    due = requests.due >= begin_ns
    errors = int((due & requests.reached & ~requests.right).sum())
    share = errors / int(due.sum()) if due.any() else None
    figures = time_figures(requests.response[due & (requests.right | ~requests.reached)]) | {"errors": share}
    answers, length_ns = int(answered.sum()), end_ns - begin_ns
    service = (requests.ends - requests.starts)[answered]
    summary = CapacitySummary(
        answers=answers,
        errors=errors,
        measured_ns=length_ns,
        per_s=_per_s(requests.ends[answered], length_ns, concurrency) if answers else None,
        service_mean_ns=float(service.mean()) if answers else None,
        response_p50_ns=figures["p50"],
        response_p99_ns=figures["p99"],
        response_max_ns=figures["max"],
        errors_share=share,
    )
    return summary, figures


def _per_s(ends: Int64Array, length_ns: int, concurrency: int) -> float:
    """Return the answers a second of a stretch.

    Where all slots are busy answers come in step, so that one round more or less would lie within the stretch by
    chance: whole rounds are counted over the time that they took. What came in the whole stretch bounds it, as there
    may have been a silence at its end.
    """
    overall = len(ends) * 1e9 / length_ns
    if len(ends) < _FEW_ROUNDS * concurrency:
        return overall
    ordered = np.sort(ends)
    took_ns = int(ordered[-1] - ordered[concurrency - 1])
    return min(overall, (len(ends) - concurrency) * 1e9 / took_ns) if took_ns else overall
