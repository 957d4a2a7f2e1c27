"""Figures of metrics, read from the record of a trial or from its counters."""

from collections.abc import Callable
from typing import TypeVar

from httpdyno.model import Column, ColumnKind, Direction, FigureRecord, Metric, Trial

Figure = Callable[[Trial], float | None]
_Record = TypeVar("_Record", bound=FigureRecord)


def of_record(kind: type[_Record], read: str | Callable[[_Record], float | None], scale: float = 1.0) -> Figure:
    """Return the figure from a field of a trial's record, or computed from several, times a scale.

    None where the trial has no such record, or the record has no such figure.
    """

    def figure(trial: Trial) -> float | None:
        record = trial.get(kind)
        if record is None:
            return None
        value = getattr(record, read) if isinstance(read, str) else read(record)
        return None if value is None else value * scale

    return figure


def record_metric(
    record: type[_Record],
    name: str,
    description: str,
    kind: ColumnKind = ColumnKind.INTEGER,
    unit: str = "",
    better: Direction = Direction.NEITHER,
    *,
    figure: str | Callable[[_Record], float | None] | None = None,
    scale: float = 1.0,
    digits: int = 0,
    shown: bool = True,
) -> Metric:
    """Return the metric of a record's figure: by default its field ``name``, times a scale."""
    column = Column(name, kind, unit, description, shown)
    return Metric(column, of_record(record, figure or name, scale), better, digits)


def of_counter(name: str, scale: float = 1.0) -> Figure:
    """Return the figure of a field of ``model.Counters``, times a scale; None without counts."""

    def figure(trial: Trial) -> float | None:
        value = getattr(trial.counters, name)
        return None if value is None else value * scale

    return figure


def wire_bytes(trial: Trial) -> float | None:
    """Return the bytes sent and received on the wire; None where either is unknown."""
    sent, received = trial.counters.sent_bytes, trial.counters.received_bytes
    return None if sent is None or received is None else sent + received
