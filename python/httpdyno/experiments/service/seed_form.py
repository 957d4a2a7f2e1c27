"""The published form of the service question: 95 % and requests a second, side by side for each load."""

from collections.abc import Mapping, Sequence

from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.model import Cell, Column, ColumnKind, Note, Outcome, Table, Trial
from httpdyno.stats import median

__all__ = ["seed_form"]

_STEADY = "in the steady stretch, where it is connections / 2"


def seed_form(
    trials: Sequence[Trial],
    published: Mapping[tuple[str, int], tuple[float | None, float | None]],
    names: Mapping[str, tuple[str, str]],
) -> Table:
    """Put trials into the published form, each server above what was published of it.

    Parameters
    ----------
    trials : sequence of Trial
        Of any servers, at several numbers of connections.
    published : mapping
        Mean of the slowest 5 % in ms, and requests a second, by server and connections.
    names : mapping
        Framework and language of each server, in the order of the rows.

    Returns
    -------
    Table
        Two rows for each server that was measured and published, one for any other.
    """
    connections = sorted({trial[ServicePoint].connections for trial in trials if trial.get(ServicePoint)})
    connections = connections or sorted({count for _, count in published})
    columns = [Column("framework"), Column("lang"), Column("figures")]
    columns += [Column(f"{count} conns (95%, req/s)") for count in connections]
    columns.append(Column("subject", ColumnKind.TEXT, "", "name of the subject's folder", shown=False))
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, (framework, language) in names.items():
        own = [trial for trial in trials if trial.subject == subject]
        if own:
            failed = next((trial for trial in own if trial.outcome is not Outcome.OK), None)
            if failed is not None:
                notes.append(Note(f"{failed.outcome}: {failed.reason}", len(rows)))
            cells = [_measured(own, count) for count in connections]
            rows.append((framework, language, "measured", *cells, subject))
        if any(one == subject for one, _ in published):
            cells = [_cell(*published.get((subject, count), (None, None))) for count in connections]
            rows.append((framework, language, "published", *cells, subject))
    if any("≥" in str(cell) for row in rows for cell in row):
        notes.append(Note("≥: requests were still open at the end of the trial, and count as long as they had waited"))
    notes += [
        Note("95%: the mean of the slowest 5 %, as rewrk computes what it prints under that name"),
        Note(
            "req/s: published over a whole run of 30 s, in which all connections answer in step, 14 times 2 s: 14/30 a "
            f"second each; measured {'over a whole run, too' if _claimed(trials) else _STEADY}"
        ),
    ]
    return Table(tuple(columns), tuple(rows), title="as published: framework, lang, 95 % and req/s", notes=tuple(notes))


def _claimed(trials: Sequence[Trial]) -> bool:
    """Return whether the figures are what another generator claims."""
    return any(trial.get(ServiceSummary) and trial[ServiceSummary].claimed_answers is not None for trial in trials)


def _measured(trials: Sequence[Trial], connections: int) -> str:
    there = [
        trial[ServiceSummary]
        for trial in trials
        if trial.get(ServiceSummary) and trial.get(ServicePoint) and trial[ServicePoint].connections == connections
    ]
    slowest = median([one.slowest_5_ns for one in there])
    cell = _cell(None if slowest is None else slowest / 1e6, median([one.per_s for one in there]))
    return f"≥ {cell}" if any(one.at_least for one in there) and slowest is not None else cell


def _cell(slowest_ms: float | None, per_s: float | None) -> str:
    if slowest_ms is None and per_s is None:
        return "---"
    first = "---" if slowest_ms is None else f"{slowest_ms:.2f}ms"
    return f"{first}, {'---' if per_s is None else f'{per_s:.2f}'}"
