"""Figures of metrics, read from the record of a trial or from its counters."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from httpdyno.model import Aspect, Column, ColumnKind, Direction, FigureRecord, Metric, Trial

Figure = Callable[[Trial], float | None]
_Record = TypeVar("_Record", bound=FigureRecord)


def of_record(kind: type[_Record], read: str | Callable[[_Record], float | None], scale: float = 1.0) -> Figure:
    """Return the figure from a field of a trial's record, or computed from several fields, times a scale.

    It is None if the trial has no such record, or the record has no such figure.
    """

    def figure(trial: Trial) -> float | None:
        record = trial.get(kind)
        if record is None:
            return None
        value = getattr(record, read) if isinstance(read, str) else read(record)
        return None if value is None else value * scale

    return figure


def metric(
    name: str,
    figure: Figure,
    description: str = "",
    kind: ColumnKind = ColumnKind.INTEGER,
    unit: str = "",
    better: Direction = Direction.NEITHER,
    *,
    digits: int = 0,
    phrase: str = "",
    aspect: Aspect = Aspect.PACE,
    **shown: Any,  # noqa: ANN401  # fields of a column
) -> Metric:
    """Return a metric with its column; ``shown`` has further fields of the column."""
    return Metric(Column(name, kind, unit, description, **shown), figure, better, digits, phrase, aspect)


def record_metric(
    record: type[_Record],
    name: str,
    *described: Any,  # noqa: ANN401
    figure: str | Callable[[_Record], float | None] | None = None,
    scale: float = 1.0,
    **more: Any,  # noqa: ANN401
) -> Metric:
    """Return the metric of a record's figure: by default its field ``name``, times a scale; the rest as ``metric``."""
    return metric(name, of_record(record, figure or name, scale), *described, **more)


def of_counter(name: str, scale: float = 1.0) -> Figure:
    """Return the figure of a field of ``model.Counters``, times a scale; None without counts."""

    def figure(trial: Trial) -> float | None:
        value = getattr(trial.counters, name)
        return None if value is None else value * scale

    return figure


def wire_bytes(trial: Trial) -> float | None:
    """Return the bytes sent and received on the wire; None if either is unknown."""
    sent, received = trial.counters.sent_bytes, trial.counters.received_bytes
    return None if sent is None or received is None else sent + received


PEAK_MEMORY: Final = metric(
    *("peak_memory_bytes", of_counter("peak_memory_bytes"), "highest memory in use"),
    *(ColumnKind.SIZE, "bytes", Direction.LOWER),
)
