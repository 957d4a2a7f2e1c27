"""Charts of response times: percentiles and distribution, from the samples of all trials put together."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from httpdyno.model import Axis, Chart, ChartKind, Scale, Series
from httpdyno.report.sections.condition import ConditionTrials
from httpdyno.stats import Histogram

__all__ = ["distribution_chart", "percentile_chart", "response_histograms"]

_SECTION: Final = "Response time"
_POINTS_A_HALVING: Final = 5
"""Points between a percentile and the one half as far from 100, as HdrHistogram prints its distributions."""
_SHARES: Final = 200
_MS: Final = 1e-6


def response_histograms(of: ConditionTrials, samples: pl.LazyFrame) -> dict[str, Histogram]:
    """Count the durations of each subject's samples, over all of its trials that went well.

    Parameters
    ----------
    of : ConditionTrials
        Whose samples.
    samples : pl.LazyFrame
        With the columns of ``model.Sample``; read one subject at a time, two columns of it, so that memory stays small
        however many there are.

    Returns
    -------
    dict of name to Histogram
        Without subjects that have no sample.
    """
    histograms = {}
    for name, trials in of.well:
        numbers = [trial.trial for trial in trials]
        durations = samples.filter(pl.col("trial").is_in(numbers) & pl.col("line").is_not_null()).select("duration_ns")
        values = durations.collect(engine="streaming")["duration_ns"].drop_nulls()
        # A client can claim any number: a negative one has no place among durations.
        histogram = Histogram.of(np.maximum(values.to_numpy(), 0))
        if histogram.total:
            histograms[name] = histogram
    return histograms


def percentile_chart(of: ConditionTrials, histograms: Mapping[str, Histogram]) -> Chart | None:
    """Draw response time over percentile, as HdrHistogram does; None when there are no samples."""
    if not histograms:
        return None
    series = [Series(name, *_percentiles(histogram)) for name, histogram in histograms.items()]
    return _chart(
        "percentiles",
        "Response time by percentile",
        series,
        Axis("percentile of URLs", "%", Scale.PERCENTILE),
        Axis("response time", "ms", Scale.LOGARITHMIC),
        of,
        caption=(
            "So many per cent of the URLs took no longer than this. Every URL counts, failed ones too, with the time "
            f"that the client reports; the samples of all trials are put together ({_counted(histograms)})."
        ),
    )


def distribution_chart(of: ConditionTrials, histograms: Mapping[str, Histogram]) -> Chart | None:
    """Draw the empirical distribution function; None when there are no samples."""
    if not histograms:
        return None
    series = [Series(name, *_distribution(histogram)) for name, histogram in histograms.items()]
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


def _percentiles(histogram: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return percentiles as far up as single samples can be told, and the duration of each in ms."""
    last = 100 * (1 - 1 / histogram.total)
    halvings = int(np.ceil(np.log2(histogram.total) * _POINTS_A_HALVING))
    ranks = [100 * (1 - 2.0 ** (-step / _POINTS_A_HALVING)) for step in range(1, halvings)]
    ranks = [*(rank for rank in ranks if rank < last), *([last] if last > 0 else [])]
    lowest = (histogram.minimum_ns or 0) * _MS
    return (0.0, *ranks), (lowest, *(_ms(histogram, rank) for rank in ranks))


def _distribution(histogram: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    shares = [100 * step / _SHARES for step in range(1, _SHARES + 1)]
    lowest = (histogram.minimum_ns or 0) * _MS
    return (lowest, *(_ms(histogram, share) for share in shares)), (0.0, *shares)


def _ms(histogram: Histogram, rank: float) -> float:
    return float(f"{histogram.percentile(rank) * _MS:.5g}")


def _counted(histograms: Mapping[str, Histogram]) -> str:
    counts = sorted({histogram.total for histogram in histograms.values()})
    return f"{counts[0]:,} each" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} each"
