"""The points of the latency question as text: what is fetched, and how many at once."""

from collections.abc import Iterable
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.latency.figures import Content, LatencyPoint

__all__ = ["grid", "parse_points", "points_text"]

_MOST: Final = 1000
"""Of calls at once: a loop of more would leave no time for seven runs."""


def grid(workloads: str, parallels: str) -> tuple[LatencyPoint, ...]:
    """Read ``--workload`` and ``--parallel`` as typed, and return each with each: ``plain,json`` and ``1,20``."""
    contents = [_content(text) for text in workloads.split(",")]
    counts = [_parallel(text) for text in parallels.split(",")]
    return tuple(dict.fromkeys(LatencyPoint(content, count) for count in counts for content in contents))


def points_text(points: Iterable[LatencyPoint]) -> str:
    """Write points as one text: ``plain:1,json:1,plain:20``."""
    return ",".join(f"{point.workload}:{point.parallel}" for point in points)


def parse_points(text: str) -> tuple[LatencyPoint, ...]:
    """Read points that ``points_text`` has written."""
    parts = [part.partition(":") for part in text.split(",")]
    return tuple(LatencyPoint(_content(content), _parallel(count)) for content, _, count in parts)


def _content(text: str) -> Content:
    try:
        return Content(text.strip())
    except ValueError:
        known = ", ".join(Content)
        raise InvalidValue(f"--workload: {text.strip()[:60]!r} is not known; known are {known}") from None


def _parallel(text: str) -> int:
    number = int(text) if text.strip().isascii() and text.strip().isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= _MOST:
        raise InvalidValue(
            f"--parallel: {text.strip()[:60]!r} is no number of calls from 1 to {_MOST:,}; write it like 1,20"
        )
    return number
