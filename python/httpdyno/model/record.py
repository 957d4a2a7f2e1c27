"""Records: annotated dataclasses as flat schemas, and figures of an experiment by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

RECORD_VERSION: Final = 2
"""Version of the columns below; httpdyno reads this version and all earlier ones."""

_ScalarType = Literal["boolean", "int16", "int32", "int64", "uint64", "float64", "text", "category", "list of text"]
_Record = TypeVar("_Record")
_Value = TypeVar("_Value")
_SCALARS: Final[dict[Any, _ScalarType]] = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "text",
    tuple[str, ...]: "list of text",
}
_UNITS: Final = {"_ns": "ns", "_us": "us", "bytes": "bytes"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Annotation of a column: ``Annotated[int, Recorded("bytes that the subject sent", unit="bytes")]``."""

    description: str
    unit: str = ""
    """Empty: the unit follows from the end of the field's name, such as ``_ns``."""
    type: _ScalarType | None = None
    """None: int64, float64, text, boolean or category, according to the field's type."""
    at: str = ""
    """Path in the engine's report: ``web.digest``; the field's name completes a path that is empty or ends in a dot."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Annotation that makes the fields of a nested dataclass columns of the outer record."""

    prefix: str = ""


@dataclass(frozen=True, slots=True)
class StoredApart:
    """Annotation of a field that is stored in another file and is not a column."""


_MARKS: Final = (Recorded, Embedded, StoredApart)


def measured(description: str, at: str = "", *, unit: str = "", type: _ScalarType | None = None) -> Any:  # noqa: A002, ANN401
    """Declare a column that is None where it was not measured; the arguments are the fields of ``Recorded``."""
    return field(default=None, metadata={"mark": Recorded(description, unit, type, at)})


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a record; if ``type`` is None, it holds lists of structures with ``members``."""

    name: str
    type: _ScalarType | None
    nullable: bool
    description: str
    unit: str = ""
    categories: tuple[str, ...] = ()
    members: tuple["Field", ...] = ()


def _cached(read: Callable[[type[Any]], _Value]) -> Callable[[type[Any]], _Value]:
    return cache(read)  # type: ignore[return-value]  # mypy does not see that a class can be hashed


class Member(NamedTuple):
    """One field of a record."""

    name: str
    type: Any
    """Without None."""
    nullable: bool
    mark: Recorded | Embedded | StoredApart
    element: Any
    """Type of the records in the field's tuple; None if the field holds no tuple."""


@_cached
def members(record: type[Any]) -> tuple[Member, ...]:
    """List the fields of a record type; raise ``TypeError`` for one without an annotation."""
    hints = get_type_hints(record, include_extras=True)
    found = []
    for item in fields(record):
        if not item.init:
            continue
        hint = hints[item.name]
        type_, *annotations = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        mark = next((mark for mark in (*annotations, item.metadata.get("mark")) if isinstance(mark, _MARKS)), None)
        if mark is None:
            raise TypeError(f"{record.__name__}.{item.name} is not annotated with Recorded or Embedded")
        nullable = NoneType in get_args(type_)
        inner = get_args(type_)[0] if nullable else type_
        element = get_args(inner)[0] if get_origin(inner) is tuple else None
        found.append(Member(item.name, inner, nullable, mark, element))
    return tuple(found)


@_cached
def schema(record: type[Any]) -> tuple[Field, ...]:
    """List the columns of a record type, in the order of its fields, embedded records in place."""
    columns: list[Field] = []
    for member in members(record):
        if isinstance(member.mark, Embedded):
            columns += [_prefixed(one, member.mark.prefix, nullable=member.nullable) for one in schema(member.type)]
        elif isinstance(member.mark, Recorded):
            columns.append(_column(member, member.mark))
    return tuple(columns)


def _column(member: Member, mark: Recorded) -> Field:
    unit = mark.unit or next((unit for end, unit in _UNITS.items() if member.name.endswith(end)), "")
    column = Field(member.name, None, member.nullable, mark.description, unit)
    if is_dataclass(member.element):
        return replace(column, members=schema(member.element))  # type: ignore[arg-type]  # a class, as annotated
    if isinstance(member.type, type) and issubclass(member.type, StrEnum):
        return replace(column, type="category", categories=tuple(value.value for value in member.type))
    if member.type not in _SCALARS:
        raise TypeError(f"{member.name}: a column cannot hold {member.type}")
    return replace(column, type=mark.type or _SCALARS[member.type])


def _prefixed(column: Field, prefix: str, *, nullable: bool) -> Field:
    return replace(column, name=prefix + column.name, nullable=column.nullable or nullable)


def flatten(record: object) -> dict[str, Any]:
    """Return the values of a record under the names of its columns; an embedded record that is None gives nulls."""
    values: dict[str, Any] = {}
    for name, type_, _, mark, _ in members(type(record)):
        value = getattr(record, name)
        if isinstance(mark, Embedded):
            inner = dict.fromkeys(column.name for column in schema(type_)) if value is None else flatten(value)
            values.update({mark.prefix + key: inner_value for key, inner_value in inner.items()})
        elif isinstance(value, tuple):
            values[name] = [entry if isinstance(entry, str) else flatten(entry) for entry in value]
        elif isinstance(mark, Recorded):
            values[name] = str(value) if isinstance(value, StrEnum) else value
    return values


def restore(record: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Make a record from the values of its columns: the inverse of ``flatten``.

    An embedded record all of whose values are null is None where the field allows it. A column that is absent is null.
    A value that is missing is a ``TypeError``, a category that the record does not know a ``ValueError``.
    """
    return record(**{member.name: _restore_member(member, values) for member in members(record)})


def _restore_member(member: Member, values: Mapping[str, Any]) -> object:
    if isinstance(member.mark, Embedded):
        own = {column.name: values.get(member.mark.prefix + column.name) for column in schema(member.type)}
        return None if member.nullable and all(value is None for value in own.values()) else restore(member.type, own)
    value = values.get(member.name)
    if isinstance(member.mark, StoredApart):
        return value or {}
    if value is None:
        if not member.nullable:
            raise TypeError(f"{member.name} is missing")
        return None
    if member.element:
        return tuple(value if member.element is str else (restore(member.element, entry) for entry in value))
    return member.type(value) if isinstance(member.type, type) and issubclass(member.type, StrEnum) else value


Figure = bool | int | float | str | list[dict[str, Any]]
"""What one figure can be; a list of structures for a series."""
_Figures = TypeVar("_Figures", bound="FigureRecord")


class FigureRecord:
    """Base of a dataclass whose fields are figures, named ``prefix`` + field; prefixes of one trial differ."""

    __slots__ = ()
    prefix: ClassVar[str]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:  # noqa: ANN401
        """Let pydantic read and write a plan, whose point is stored as figures."""
        from pydantic_core import core_schema  # only what stores plans needs it

        return core_schema.is_instance_schema(FigureRecord)


def figure_fields(kind: type[FigureRecord]) -> tuple[Field, ...]:
    """Return the figures of a record, as columns."""
    return tuple(_prefixed(column, kind.prefix, nullable=True) for column in schema(kind))


def figures_of(*records: FigureRecord) -> dict[str, Figure]:
    """Return the figures of records by their names, without None; numbers of numpy become Python's own."""
    return {
        record.prefix + name: value.item() if hasattr(value, "item") else value
        for record in records
        for name, value in flatten(record).items()
        if value is not None
    }


def read_figures(kind: type[_Figures], figures: Mapping[str, Figure]) -> _Figures | None:
    """Make a record from figures; None if they contain none of its fields."""
    own = {column.name: figures.get(kind.prefix + column.name) for column in schema(kind)}
    return None if all(value is None for value in own.values()) else restore(kind, own)


def without_figures(figures: Mapping[str, Figure], kinds: Iterable[type[FigureRecord]]) -> dict[str, Figure]:
    """Leave out the figures of records."""
    names = {column.name for kind in kinds for column in figure_fields(kind)}
    return {name: figure for name, figure in figures.items() if name not in names}
