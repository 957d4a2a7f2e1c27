"""The table of the service question: a row for each server at each point, the least overhead first."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.metrics import RANKED_BY, SERVICE_METRICS
from httpdyno.experiments.service.notes import of_figures, of_servers
from httpdyno.experiments.service.reach import Reach, is_held, reach_of, reaches, telling_trials
from httpdyno.judge import rankable_trials, trial_table
from httpdyno.model import Cell, Column, ColumnKind, Table, Trial, records_of

__all__ = ["IDENTITY", "service_table"]

IDENTITY: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("language", shown=False),
    Column("method", description="the framework or server, by the name people know it by", shown=False),
    Column("version", shown=False),
    Column("condition", description="the point: connections, loop, threads, CPUs", shown=False),
)
_POINT: Final = (
    Column("connections", ColumnKind.INTEGER, description="open loop: requests in flight of an ideal server"),
    Column("loop", description="closed: sends when an answer came; open: sends on a schedule"),
    Column("threads", ColumnKind.INTEGER, description="of the server; null: as many as it takes"),
    Column("cpus", ColumnKind.INTEGER, description="of the server, where --server-cpus asks; null: those of --cpus"),
    Column("generator", description="who sent", shown=False),
    Column("framework", description="as the publication calls the method", shown=False),
)
_REACHED: Final = (
    Column("held", ColumnKind.BOOLEAN, description="p99 < 1.1 x the longest wait; null: not known"),
    Column("breaks_at", ColumnKind.INTEGER, description="fewest connections that it did not hold; null: it held all"),
    Column("holds_up_to", ColumnKind.INTEGER, description="most connections that it held; null: none", shown=False),
    Column("at_least", ColumnKind.BOOLEAN, description="p99 is a lower bound: requests were open", shown=False),
    Column("why_not", description="why it is not held, with its figure", shown=False),
    Column("failures", description="what requests failed with, and how often, in a trial of it", shown=False),
    Column("trials", ColumnKind.INTEGER, description="how often it was measured", shown=False),
)


def service_table(trials: Sequence[Trial]) -> Table:
    """Put trials into a row for each server at each point, ranked at each point by the overhead."""
    # A search jumps between points; people read them in order.
    asked = sorted(
        (trial for trial in trials if trial.get(ServicePoint) is not None),
        key=lambda trial: trial[ServicePoint].connections,
    )
    table = trial_table(_counted(asked), SERVICE_METRICS, RANKED_BY, IDENTITY)
    found = reaches(asked)
    subjects, conditions = table.values("subject"), table.values("condition")
    verdict = [column.name for column in table.columns].index("wrong")
    rows = [
        (*row[: len(IDENTITY)], *_where(own[0]), *row[len(IDENTITY) : verdict], *_reached(own, found), *row[verdict:])
        for row, subject, condition in zip(table.rows, subjects, conditions, strict=True)
        for own in [[trial for trial in asked if (trial.subject, trial.condition) == (subject, condition)]]
    ]
    columns = table.columns
    shown = _several(asked)
    points = tuple(replace(column, shown=column.shown and column.name in shown) for column in _POINT)
    all_columns = (
        *(*columns[: len(IDENTITY)], *points, *columns[len(IDENTITY) : verdict]),
        *(*_REACHED, *columns[verdict:]),
    )
    return Table(
        all_columns,
        tuple(_placed(rows, [column.name for column in all_columns])),
        notes=(*of_servers(asked), *(note for note in table.notes if note.row is None), *of_figures(asked)),
    )


def _counted(trials: Sequence[Trial]) -> list[Trial]:
    """Leave out what was disturbed and made again, where no trial of a point is valid: its figures are what held it."""
    points: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        points.setdefault((trial.subject, trial.condition), []).append(trial)
    return [trial for of in points.values() for trial in (of if rankable_trials(of) else telling_trials(of))]


def _where(trial: Trial) -> tuple[Cell, ...]:
    """Return the cells of ``_POINT``."""
    point = trial.get(ServicePoint)
    assert point is not None, "others were left out"
    return (point.connections, point.loop.value, point.threads, point.cpus, point.generator, trial.method)


def _reached(trials: Sequence[Trial], found: Sequence[Reach]) -> tuple[Cell, ...]:
    """Return the cells of ``_REACHED``, of the trials of one server at one point."""
    reach = reach_of(trials[0], found)
    known = records_of(ServiceSummary, trials)
    return (
        is_held(trials) if reach else None,
        reach.failed if reach else None,
        reach.held if reach else None,
        _at_least(known),
        next((one.why_not for one in known if one.why_not), None),
        next((one.failures for one in known if one.failures), None),
        len(trials),
    )


def _several(trials: Sequence[Trial]) -> set[str]:
    """Name what differs from row to row: what all rows share needs no column."""
    points = records_of(ServicePoint, trials)
    variants = {Variant.of(point) for point in points}
    several = {name for name in Variant._fields if len({getattr(variant, name) for variant in variants}) > 1}
    return {"connections", *several}


def _at_least(known: Sequence[ServiceSummary]) -> bool | None:
    told = [one.at_least for one in known if one.at_least is not None]
    return any(told) if told else None


def _placed(rows: Sequence[tuple[Cell, ...]], names: Sequence[str]) -> list[tuple[Cell, ...]]:
    """Order the rows of each point by the mean of the slowest 5 %, where nothing else is known of anybody."""
    point, slowest, ranked = names.index("condition"), names.index("slowest5"), names.index(RANKED_BY)
    if any(row[ranked] is not None for row in rows):
        return list(rows)
    points = list(dict.fromkeys(row[point] for row in rows))
    return sorted(rows, key=lambda row: (points.index(row[point]), row[slowest] is None, row[slowest] or 0))
