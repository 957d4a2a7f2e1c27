"""A run of the published points in the seed's own form: a block for each, measured and published beside each other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.latency.figures import Content, LatencyPoint
from httpdyno.experiments.latency.judge.timeit import timeit_text
from httpdyno.experiments.latency.table import WORDS, of_timeit, seed_text
from httpdyno.model import Column, Note, Table, Trial
from httpdyno.published import PublishedTable

__all__ = ["published_blocks", "published_points"]

_COLUMNS: Final = (
    Column("client", description="as it was published"),
    Column("measured", description="in its own process, as it was published"),
    Column("measured_from_outside", description="the same loop by the client's lines"),
    Column("published", description="each time that it was printed"),
)
_NOTE: Final = "mean ± std. dev. of 7 runs; loops of a run as timeit chooses them, published: as IPython's %timeit did"


def published_points(published: PublishedTable) -> tuple[LatencyPoint, ...]:
    """Return the points that have published figures, in the published order."""
    places = (LatencyPoint(Content(str(row["workload"])), int(str(row["parallel"]))) for row in published.rows)
    return tuple(dict.fromkeys(places))


def published_blocks(trials: Sequence[Trial], published: PublishedTable) -> tuple[Table, ...]:
    """Put a run beside its publication in a block for each published point; the last one has the notes."""
    *others, last = (_block(trials, published, point) for point in published_points(published))
    return (*others, replace(last, notes=(Note(_NOTE),)))


def _block(trials: Sequence[Trial], published: PublishedTable, point: LatencyPoint) -> Table:
    rows = []
    for subject, client in {row["subject"]: str(row["client"]) for row in published.rows}.items():
        there = [trial for trial in trials if (trial.subject, trial.get(LatencyPoint)) == (subject, point)]
        own, lines = [t for t in there if of_timeit(t)], [t for t in there if not of_timeit(t)]
        told = [
            f"{timeit_text(float(str(row['mean'])) * 1e6)} ± {timeit_text(float(str(row['deviation'])) * 1e3)}"
            for row in published.rows
            if (row["subject"], row["workload"], row["parallel"]) == (subject, point.workload.value, point.parallel)
        ]
        if told or there:
            rows.append((client, _short(seed_text(own)), _short(seed_text(lines)), "; ".join(told) or None))
    at_once = f", parallel {point.parallel}" if point.parallel > 1 else ""
    return Table(_COLUMNS, tuple(rows), title=f"*** {WORDS[point.workload]}{at_once} ***")


def _short(text: str | None) -> str | None:
    """Leave out what all texts of a table have in common, but for the loops."""
    if text is None:
        return None
    time, _, rest = text.partition(" per loop")
    return f"{time}, {rest.rpartition(', ')[2].removesuffix(' each)')}"
