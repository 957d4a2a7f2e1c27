"""The figures of times that an objective may ask of."""

import numpy as np

from httpdyno.stats import Int64Array, percentile

__all__ = ["time_figures"]


def time_figures(times_ns: Int64Array) -> dict[str, float | None]:
    """Return percentiles, mean and maximum by the names that an objective knows them by.

    Times may be in any order; without any, every figure is None.
    """
    names = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
    if not len(times_ns):
        return dict.fromkeys([*names, "mean", "max"])
    ordered = np.sort(times_ns)
    ranks: dict[str, float | None] = {name: float(percentile(ordered, rank)) for name, rank in names.items()}
    return ranks | {"mean": float(ordered.mean(dtype=np.float64)), "max": float(ordered[-1])}
