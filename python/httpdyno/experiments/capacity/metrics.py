"""The figures of the capacity question, under the names of its table."""

from functools import partial
from typing import Final

from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.judge.figures import of_record
from httpdyno.model import Column, ColumnKind, Direction, Metric

__all__ = ["CAPACITY_METRICS"]

_MS: Final = 1e-6
_LOWER: Final = Direction.LOWER
_figure: Final = partial(of_record, CapacitySummary)


CAPACITY_METRICS: Final = (
    Metric(
        Column("right_per_s", ColumnKind.DECIMAL, "1/s", "right answers a second, over the steady stretch"),
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
