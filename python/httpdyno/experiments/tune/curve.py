"""What a search measured and the law that fits it, as series of a chart."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from httpdyno.experiments.tune.tuning import lawful
from httpdyno.model import Axis, Chart, ChartKind, Mark, Scale, Series
from httpdyno.stats import Conclusion, Point, ScalabilityLaw, Standing

__all__ = ["law_curve", "points_unused", "points_used", "rate_chart", "with_intervals"]

_CURVE_POINTS: Final = 120
_UNUSED: Final = frozenset({Standing.RAISES_FAULTS, Standing.FAILED})


def rate_chart(series: Sequence[Series], *, caption: str, colours: Sequence[str], marks: Sequence[Mark]) -> Chart:
    """Return a chart of right answers a second over requests in flight."""
    return Chart(
        name="tune",
        title="Right answers a second by concurrency",
        kind=ChartKind.FITTED,
        x=Axis("requests in flight", scale=Scale.LOGARITHMIC),
        y=Axis("right answers a second"),
        series=tuple(series),
        caption=caption,
        section="Concurrency",
        colours=tuple(colours),
        marks=tuple(marks),
    )


def points_used(conclusion: Conclusion) -> list[Point]:
    """Return the concurrencies among which was chosen."""
    return [point for point in conclusion.points if point.standing not in _UNUSED and point.value > 0]


def points_unused(conclusion: Conclusion) -> list[Point]:
    """Return those that more errors or late answers ruled out."""
    return [point for point in conclusion.points if point.standing in _UNUSED and point.value > 0]


def with_intervals(name: str, points: Sequence[Point]) -> Series:
    """Return means with their intervals."""
    intervals = [point.interval for point in points]
    return Series(
        name,
        tuple(float(point.load) for point in points),
        tuple(point.value for point in points),
        tuple(interval.low if interval else None for interval in intervals),
        tuple(interval.high if interval else None for interval in intervals),
    )


def law_curve(name: str, law: ScalabilityLaw, conclusion: Conclusion) -> Series:
    """Return a law over the concurrencies that it can speak of."""
    loads = [point.load for point in conclusion.points if lawful(point)]
    across = [float(load) for load in np.geomspace(min(loads), max(loads), _CURVE_POINTS)]
    return Series(name, tuple(map(_short, across)), tuple(_short(law.throughput(load)) for load in across))


def _short(value: float) -> float:
    """Keep as many digits as a drawing can show."""
    return float(f"{value:.5g}")
