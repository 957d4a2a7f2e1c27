"""Figures of a trial, by name: what its experiment asked for and found; and the records that give them types."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from httpdyno.model.record import Field, flatten, prefixed, restore, schema

__all__ = ["Figure", "FigureRecord", "figure_fields", "figures_of", "read_figures", "without_figures"]

Figure = bool | int | float | str | list[dict[str, Any]]
"""What one figure can be; a list of structures for a series."""
_Record = TypeVar("_Record", bound="FigureRecord")


class FigureRecord:
    """Base of a dataclass whose fields are figures, each named like its field behind ``prefix``.

    Two records of one trial have different prefixes.
    """

    __slots__ = ()
    prefix: ClassVar[str]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:  # noqa: ANN401
        """Let pydantic read and write a plan, whose point is stored as figures."""
        from pydantic_core import core_schema  # only what stores plans needs it

        return core_schema.is_instance_schema(FigureRecord)


def figure_fields(kind: type[FigureRecord]) -> tuple[Field, ...]:
    """Return the figures of a record, as columns."""
    return tuple(prefixed(field, kind.prefix, nullable=True) for field in schema(kind))


def figures_of(*records: FigureRecord) -> dict[str, Figure]:
    """Return the figures of records by their names; what is None is left out."""
    return {
        record.prefix + name: _plain(value)
        for record in records
        for name, value in flatten(record).items()
        if value is not None
    }


def read_figures(kind: type[_Record], figures: Mapping[str, Figure]) -> _Record | None:
    """Make a record from figures; None if there is none of it."""
    own = {field.name: figures.get(kind.prefix + field.name) for field in schema(kind)}
    return None if all(value is None for value in own.values()) else restore(kind, own)


def without_figures(figures: Mapping[str, Figure], kinds: Iterable[type[FigureRecord]]) -> dict[str, Figure]:
    """Leave out the figures of records."""
    names = {field.name for kind in kinds for field in figure_fields(kind)}
    return {name: figure for name, figure in figures.items() if name not in names}


def _plain(value: Figure) -> Figure:
    """Return a number of numpy as Python's own."""
    item = getattr(value, "item", None)
    return value if item is None else item()
