"""The columns of a record as polars types."""

from collections.abc import Iterable
from typing import Any, Final

import polars as pl

from httpdyno.model import Field, schema

__all__ = ["polars_schema", "polars_types"]

_SCALARS: Final[dict[str, pl.DataType]] = {
    "boolean": pl.Boolean(),
    "int16": pl.Int16(),
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "uint64": pl.UInt64(),
    "float64": pl.Float64(),
    "text": pl.String(),
}


def polars_schema(record: type[Any]) -> dict[str, pl.DataType]:
    """Return the columns of ``model.Trial`` or ``model.Sample`` with their types, in order."""
    return polars_types(schema(record))


def polars_types(fields: Iterable[Field]) -> dict[str, pl.DataType]:
    """Return columns with their types, in order."""
    return {field.name: _type(field) for field in fields}


def _type(field: Field) -> pl.DataType:
    if field.members:
        return pl.List(pl.Struct({member.name: _type(member) for member in field.members}))
    if field.type == "category":
        return pl.Enum(field.categories)
    return _SCALARS[str(field.type)]
