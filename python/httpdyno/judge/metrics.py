"""Finds a metric by the name that people ask for it."""

from collections.abc import Iterable
from difflib import get_close_matches

from httpdyno.errors import UnknownName
from httpdyno.model import Metric

__all__ = ["find_metric"]


def find_metric(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric by its name."""
    known = {metric.name: metric for metric in metrics}
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known)}"
    raise UnknownName(f"there is no metric {name!r}; {hint}")
