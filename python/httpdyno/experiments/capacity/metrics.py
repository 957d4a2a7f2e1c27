"""The figures of the capacity question, under the names of its table."""

from collections.abc import Callable
from typing import Final

from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.model import Column, ColumnKind, Direction, Metric, Trial

__all__ = ["CAPACITY_METRICS"]

_MS: Final = 1e-6
_LOWER: Final = Direction.LOWER


def _figure(name: str, scale: float = 1.0) -> Callable[[Trial], float | None]:
    def figure(trial: Trial) -> float | None:
        value = getattr(trial.get(CapacitySummary), name, None)
        return None if value is None else value * scale

    return figure


CAPACITY_METRICS: Final = (
    Metric(
        Column("perSec", ColumnKind.DECIMAL, "1/s", "right answers a second, over the steady stretch"),
        _figure("per_s"),
        Direction.HIGHER,
        1,
        "right answers a second",
    ),
    Metric(
        Column("mean", ColumnKind.DURATION, "ms", "mean time of an answer, from when its request was sent"),
        _figure("service_mean_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("p50", ColumnKind.DURATION, "ms", "median time, open loop: from when the request was due"),
        _figure("response_p50_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("p99", ColumnKind.DURATION, "ms", "99th percentile of that time"),
        _figure("response_p99_ns", _MS),
        _LOWER,
        1,
    ),
    Metric(
        Column("errors", ColumnKind.NUMBER, description="requests without a right answer among all, 0 to 1"),
        _figure("errors_share"),
        _LOWER,
        6,
    ),
)
"""In the order of their columns."""
