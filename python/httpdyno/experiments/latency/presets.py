"""The published figures of the latency question: who was measured, at which points, against which server."""

from typing import Final

from httpdyno.experiments.latency.figures import Content, LatencyPoint
from httpdyno.published import PublishedTable, find_preset

__all__ = ["HEADLINE", "PUBLISHED", "PUBLISHED_PEER", "published_points", "published_text"]

PUBLISHED: Final = "published"
HEADLINE: Final = ("python-urllib-executor", "python-httpx", "python-blacksheep")
"""The clients of the published figures."""
PUBLISHED_PEER: Final = "flask-dev"
"""The server that they were measured against."""


def published_points() -> tuple[LatencyPoint, ...]:
    """Return the points that have published figures, in the published order."""
    table = find_preset(PUBLISHED, "latency").table
    cells = [table.cells(row) for row in table.rows]
    return tuple(dict.fromkeys(LatencyPoint(Content(str(one["workload"])), int(str(one["parallel"]))) for one in cells))


def published_text(table: PublishedTable, subject: str, point: LatencyPoint) -> tuple[str, ...]:
    """Return what was published of a subject at a point, each time that it was, as timeit wrote it."""
    from httpdyno.experiments.latency.judge.timeit import timeit_text

    found = [table.cells(row) for row in table.rows if row.subject == subject]
    return tuple(
        f"{timeit_text(float(str(one['mean'])) * 1e6)} ± {timeit_text(float(str(one['deviation'])) * 1e3)}"
        for one in found
        if (one["workload"], one["parallel"]) == (point.workload.value, point.parallel)
    )
