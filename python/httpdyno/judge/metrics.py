"""Finds a metric by the name that people ask for it."""

from collections.abc import Iterable

from httpdyno.errors import UnknownName, suggestion
from httpdyno.model import Metric, current_name

__all__ = ["find_metric"]


def find_metric(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric by its name, or by the one that it had in version 0.1."""
    known = {metric.name: metric for metric in metrics}
    if (current := current_name(name, known)) in known:
        return known[current]
    raise UnknownName(f"there is no metric {name!r}; {suggestion(name, known)}")
