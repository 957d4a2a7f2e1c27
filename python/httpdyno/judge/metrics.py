"""Finds a metric by the name that people ask for it."""

from collections.abc import Iterable

from httpdyno.errors import UnknownName, suggestion
from httpdyno.model import Metric

__all__ = ["find_metric"]


def find_metric(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric by its name."""
    known = {metric.name: metric for metric in metrics}
    if name in known:
        return known[name]
    raise UnknownName(f"there is no metric {name!r}; {suggestion(name, known)}")
