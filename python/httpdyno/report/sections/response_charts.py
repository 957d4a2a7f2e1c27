"""Charts of response times: percentiles and distribution, from the samples of all trials put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.model import Axis, Chart, ChartKind, Scale, Series
from httpdyno.report.sections.condition import ConditionTrials
from httpdyno.stats import Int64Array, percentile

__all__ = ["distribution_chart", "percentile_chart", "response_times"]

_SECTION: Final = "Response time"
_POINTS_A_HALVING: Final = 5
"""Points between a percentile and the one half as far from 100, as HdrHistogram prints its distributions."""
_SHARES: Final = 200
_MS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """Response times of a subject, over all of its trials that went well, as far as they are drawn."""

    count: int
    percentiles: tuple[tuple[float, ...], tuple[float, ...]]
    """Percentiles as far up as single samples can be told, and the duration of each in ms."""
    distribution: tuple[tuple[float, ...], tuple[float, ...]]
    """Durations in ms, and the percentage of samples that took no longer."""


def response_times(of: ConditionTrials, samples: pl.LazyFrame) -> dict[str, ResponseTimes]:
    """Read the response times of each subject that has any, from all samples of its trials that went well.

    The samples have the columns of ``model.Sample``; two columns of them are read, one subject at a time, so that
    memory stays small however many there are.
    """
    times = {}
    for name, trials in of.well:
        numbers = [trial.trial for trial in trials]
        durations = samples.filter(pl.col("trial").is_in(numbers) & pl.col("line").is_not_null()).select("duration_ns")
        values = durations.collect(engine="streaming")["duration_ns"].drop_nulls()
        if len(values):
            # A client can claim any number: a negative one has no place among durations.
            times[name] = _times(np.maximum(values.sort().to_numpy(), 0))
    return times


def percentile_chart(of: ConditionTrials, times: Mapping[str, ResponseTimes]) -> Chart | None:
    """Draw response time over percentile, as HdrHistogram does; None when there are no samples."""
    if not times:
        return None
    series = [Series(name, *subject.percentiles) for name, subject in times.items()]
    return _chart(
        "percentiles",
        "Response time by percentile",
        series,
        Axis("percentile of URLs", "%", Scale.PERCENTILE),
        Axis("response time", "ms", Scale.LOGARITHMIC),
        of,
        caption=(
            "So many per cent of the URLs took no longer than this. Every URL counts, failed ones too, with the time "
            f"that the client reports; the samples of all trials are put together ({_counted(times)})."
        ),
    )


def distribution_chart(of: ConditionTrials, times: Mapping[str, ResponseTimes]) -> Chart | None:
    """Draw the empirical distribution function; None when there are no samples."""
    if not times:
        return None
    series = [Series(name, *subject.distribution) for name, subject in times.items()]
    return _chart(
        "distribution",
        "Share of URLs by response time",
        series,
        Axis("response time", "ms", Scale.LOGARITHMIC),
        Axis("share of URLs", "%"),
        of,
        caption="The share of all URLs that had ended after this time. A step is a time at which many ended at once.",
    )


def _chart(name: str, title: str, series: list[Series], x: Axis, y: Axis, of: ConditionTrials, caption: str) -> Chart:
    return Chart(name, title, ChartKind.LINES, x, y, tuple(series), caption, _SECTION, of.colours)


def _times(ordered: Int64Array) -> ResponseTimes:
    count = len(ordered)
    last = 100 * (1 - 1 / count)
    halvings = int(np.ceil(np.log2(count) * _POINTS_A_HALVING))
    ranks = [100 * (1 - 2.0 ** (-step / _POINTS_A_HALVING)) for step in range(1, halvings)]
    ranks = [*(rank for rank in ranks if rank < last), *([last] if last > 0 else [])]
    shares = [100 * step / _SHARES for step in range(1, _SHARES + 1)]
    return ResponseTimes(count, ((0.0, *ranks), _ms(ordered, ranks)), (_ms(ordered, shares), (0.0, *shares)))


def _ms(ordered: Int64Array, ranks: Sequence[float]) -> tuple[float, ...]:
    """Return the shortest time in ms, and that of each rank."""
    return (int(ordered[0]) * _MS, *(float(f"{percentile(ordered, rank) * _MS:.5g}") for rank in ranks))


def _counted(times: Mapping[str, ResponseTimes]) -> str:
    counts = sorted({subject.count for subject in times.values()})
    return f"{counts[0]:,} each" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} each"
