"""Records: annotated dataclasses as flat schemas, and figures of an experiment by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

RECORD_VERSION: Final = 2
"""Version of the columns below; a reader knows this one and those before it."""

ScalarType = Literal["boolean", "int16", "int32", "int64", "uint64", "float64", "text", "category"]
_Record = TypeVar("_Record")
_NUMBERS: Final[dict[type, ScalarType]] = {bool: "boolean", int: "int64", float: "float64", str: "text"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Annotation of a column: ``Annotated[int, Recorded("bytes that the subject sent", unit="bytes")]``."""

    description: str
    unit: str = ""
    type: ScalarType | None = None
    """None: int64, float64, text, boolean or category, as the field's own type says."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Annotation that makes the fields of a nested dataclass columns of the outer record."""

    prefix: str = ""


@dataclass(frozen=True, slots=True)
class StoredApart:
    """Annotation of a field that is stored in another file and is no column."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a record.

    ``members`` is not empty when the column holds a list of structures; ``type`` is then None.
    """

    name: str
    type: ScalarType | None
    nullable: bool
    description: str
    unit: str = ""
    categories: tuple[str, ...] = ()
    members: tuple["Field", ...] = ()


def schema(record: type[Any]) -> tuple[Field, ...]:
    """List the columns of a record type, in the order of its fields, embedded records in place."""
    return _schema(record)  # type: ignore[arg-type]  # mypy does not see that a class can be hashed


@cache
def _schema(record: type[Any]) -> tuple[Field, ...]:
    hints = _hints(record)
    columns: list[Field] = []
    for item in fields(record):
        if not item.init:
            continue
        type_, mark = _annotation(record, item.name, hints[item.name])
        inner, nullable = _without_none(type_)
        if isinstance(mark, Embedded):
            columns += [prefixed(field, mark.prefix, nullable=nullable) for field in schema(inner)]
        elif isinstance(mark, Recorded):
            columns.append(_column(item.name, inner, nullable, mark))
    return tuple(columns)


def flatten(record: object) -> dict[str, Any]:
    """Return the values of a record under the names of its columns; an embedded record that is None gives nulls."""
    hints = _hints(type(record))
    values: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]  # any record is a dataclass instance
        if not item.init:
            continue
        value = getattr(record, item.name)
        type_, mark = _annotation(type(record), item.name, hints[item.name])
        if isinstance(mark, Embedded):
            inner = (
                flatten(value) if value is not None else {field.name: None for field in schema(_without_none(type_)[0])}
            )
            values.update({mark.prefix + name: inner_value for name, inner_value in inner.items()})
        elif isinstance(mark, StoredApart):
            continue
        elif isinstance(value, tuple):
            values[item.name] = [flatten(entry) for entry in value]
        else:
            values[item.name] = str(value) if isinstance(value, StrEnum) else value
    return values


def restore(record: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Make a record from the values of its columns: the inverse of ``flatten``.

    An embedded record all of whose values are null is None where the field allows it. A column that is absent is null.
    A value that is missing is a ``TypeError``, a category that the record does not know a ``ValueError``.
    """
    hints = _hints(record)
    named = fields(record)  # type: ignore[arg-type]  # any record is a dataclass
    return record(
        **{
            item.name: _restore_field(item.name, *_annotation(record, item.name, hints[item.name]), values)
            for item in named
            if item.init
        }
    )


def _hints(record: type[Any]) -> Mapping[str, Any]:
    # A trial has a record for each of its points in time: a run has thousands.
    return _cached_hints(record)  # type: ignore[arg-type]  # as above


@cache
def _cached_hints(record: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(record, include_extras=True)


def _restore_field(
    name: str, type_: object, mark: Recorded | Embedded | StoredApart, values: Mapping[str, Any]
) -> object:
    inner, nullable = _without_none(type_)
    if isinstance(mark, Embedded):
        own = {field.name: values.get(mark.prefix + field.name) for field in schema(inner)}
        return None if nullable and all(value is None for value in own.values()) else restore(inner, own)
    value = values.get(name)
    if isinstance(mark, StoredApart):
        return value or {}
    if value is None:
        if not nullable:
            raise TypeError(f"{name} is missing")
        return None
    if get_origin(inner) is tuple:
        return tuple(restore(get_args(inner)[0], entry) for entry in value)
    return inner(value) if isinstance(inner, type) and issubclass(inner, StrEnum) else value


def _annotation(record: type[Any], name: str, hint: object) -> tuple[Any, Recorded | Embedded | StoredApart]:
    if get_origin(hint) is Annotated:
        type_, *marks = get_args(hint)
        for mark in marks:
            if isinstance(mark, Recorded | Embedded | StoredApart):
                return type_, mark
    raise TypeError(f"{record.__name__}.{name} is not annotated with Recorded or Embedded")


def _without_none(type_: object) -> tuple[Any, bool]:
    if get_origin(type_) in {Union, UnionType}:
        kept = [member for member in get_args(type_) if member is not NoneType]
        if len(kept) == 1:
            return kept[0], True
    return type_, False


def prefixed(field: Field, prefix: str, *, nullable: bool) -> Field:
    """Return the column of an embedded record's field in the outer record."""
    return replace(field, name=prefix + field.name, nullable=field.nullable or nullable)


def _column(name: str, type_: object, nullable: bool, mark: Recorded) -> Field:
    if get_origin(type_) is tuple and is_dataclass(get_args(type_)[0]):
        return Field(name, None, nullable, mark.description, mark.unit, members=schema(get_args(type_)[0]))
    if isinstance(type_, type) and issubclass(type_, StrEnum):
        return Field(
            name, "category", nullable, mark.description, mark.unit, categories=tuple(member.value for member in type_)
        )
    if type_ not in _NUMBERS:
        raise TypeError(f"{name}: a column cannot hold {type_}")
    return Field(name, mark.type or _NUMBERS[type_], nullable, mark.description, mark.unit)


Figure = bool | int | float | str | list[dict[str, Any]]
"""What one figure can be; a list of structures for a series."""
_Figures = TypeVar("_Figures", bound="FigureRecord")


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


def read_figures(kind: type[_Figures], figures: Mapping[str, Figure]) -> _Figures | None:
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
