"""The published form of the service question: 95 % and requests a second, side by side for each load."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.model import Cell, Column, Note, Outcome, Table, Trial, records_of
from httpdyno.published import PublishedTable
from httpdyno.stats import median
from httpdyno.store import Manifest

__all__ = ["published_form"]

_NOTES: Final = (
    "95%: the mean of the slowest 5 %, as rewrk computes what it prints under that name",
    "req/s: published over a whole run of 30 s, in which all connections answer in step, 14 times 2 s: 14/30 a second"
    " each; measured ",
)


def published_form(manifest: Manifest, trials: Sequence[Trial], published: PublishedTable) -> Table:
    """Put a run into the published form: a server that was measured above what was published of it."""
    figures = {(row["subject"], row["connections"]): (row["slowest5"], row["requestsPerSec"]) for row in published.rows}
    measured = {subject.id: (subject.method, subject.language.lower()) for subject in manifest.subjects}
    names = {str(row["subject"]): (row["framework"], row["language"]) for row in published.rows}
    points = {one.connections for one in records_of(ServicePoint, trials)}
    connections = sorted(points or {int(str(row["connections"])) for row in published.rows})
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, named in {**names, **measured, **names}.items():
        own = [trial for trial in trials if trial.subject == subject]
        if own:
            failed = next((trial for trial in own if trial.outcome is not Outcome.OK), None)
            if failed is not None:
                notes.append(Note(f"{failed.outcome}: {failed.reason}", len(rows)))
            rows.append((*named, "measured", *(_measured(own, count) for count in connections), subject))
        if subject in names:
            there = (_cell(*figures.get((subject, count), (None, None))) for count in connections)
            rows.append((*named, "published", *there, subject))
    if any("≥" in str(cell) for row in rows for cell in row):
        notes.append(Note("≥: requests were still open at the end of the trial, and count as long as they had waited"))
    # Another generator claims its figures, over all of its run.
    claimed = any(one.claimed_answers is not None for one in records_of(ServiceSummary, trials))
    over = "over a whole run, too" if claimed else "in the steady stretch, where it is connections / 2"
    columns = (
        *map(Column, ("framework", "lang", "figures", *(f"{count} conns (95%, req/s)" for count in connections))),
        Column("subject", description="name of the subject's folder", shown=False),
    )
    title = "as published: framework, lang, 95 % and req/s"
    return Table(columns, tuple(rows), title, (*notes, Note(_NOTES[0]), Note(_NOTES[1] + over)))


def _measured(trials: Sequence[Trial], connections: int) -> str:
    at_it = (t for t in trials if (point := t.get(ServicePoint)) and point.connections == connections)
    there = records_of(ServiceSummary, at_it)
    slowest = median([one.slowest_5_ns for one in there])
    cell = _cell(None if slowest is None else slowest / 1e6, median([one.per_s for one in there]))
    return f"≥ {cell}" if any(one.at_least for one in there) and slowest is not None else cell


def _cell(slowest_ms: Cell, per_s: Cell) -> str:
    if slowest_ms is None and per_s is None:
        return "---"
    first = "---" if slowest_ms is None else f"{slowest_ms:.2f}ms"
    return f"{first}, {'---' if per_s is None else f'{per_s:.2f}'}"
