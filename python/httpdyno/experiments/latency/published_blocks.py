"""A run of the published points in the seed's own form: a block for each, measured and published beside each other."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.latency.figures import Content, LatencyPoint
from httpdyno.experiments.latency.presets import published_points, published_text
from httpdyno.experiments.latency.table import of_timeit, seed_text
from httpdyno.model import Column, Note, Table, Trial
from httpdyno.published import PublishedTable

__all__ = ["published_blocks"]

_TITLES: Final = {Content.PLAIN: "Plain text", Content.JSON: "JSON"}
_COLUMNS: Final = (
    Column("client", description="as it was published"),
    Column("measured", description="in its own process, as it was published"),
    Column("measuredFromOutside", description="the same loop by the client's lines"),
    Column("published", description="each time that it was printed"),
)
_NOTE: Final = "mean ± std. dev. of 7 runs; loops of a run as timeit chooses them, published: as IPython's %timeit did"


def published_blocks(trials: Sequence[Trial], published: PublishedTable) -> tuple[Table, ...]:
    """Put a run beside its publication, in the publication's blocks.

    Parameters
    ----------
    trials : sequence of Trial
        Of any points; those that were not published are left out.
    published : PublishedTable
        Of the latency question.

    Returns
    -------
    tuple of Table
        One for each published point, in the published order; the last one has the notes.
    """
    points = published_points()
    return tuple(_block(trials, published, point, last=point == points[-1]) for point in points)


def _block(trials: Sequence[Trial], published: PublishedTable, point: LatencyPoint, *, last: bool) -> Table:
    clients = {row.subject: published.cells(row)["client"] for row in published.rows}
    rows = []
    for subject in clients:
        there = [trial for trial in trials if (trial.subject, trial.get(LatencyPoint)) == (subject, point)]
        own, lines = [t for t in there if of_timeit(t)], [t for t in there if not of_timeit(t)]
        told = published_text(published, subject, point)
        if told or there:
            rows.append((clients[subject], _short(seed_text(own)), _short(seed_text(lines)), "; ".join(told) or None))
    at_once = f", parallel {point.parallel}" if point.parallel > 1 else ""
    return Table(
        _COLUMNS, tuple(rows), title=f"*** {_TITLES[point.workload]}{at_once} ***", notes=(Note(_NOTE),) if last else ()
    )


def _short(text: str | None) -> str | None:
    """Leave out what all texts of a table have in common, but for the loops."""
    if text is None:
        return None
    time, _, rest = text.partition(" per loop")
    return f"{time}, {rest.rpartition(', ')[2].removesuffix(' each)')}"
