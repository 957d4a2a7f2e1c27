"""The published tables that ship with httpdyno: a description in TOML beside a CSV of figures for each of them."""

import csv
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.model import Cell, Column, ColumnKind
from httpdyno.published.table import (
    Circumstances,
    PublishedColumn,
    PublishedRow,
    PublishedTable,
    Role,
    Source,
    Unpublished,
    Workload,
)

__all__ = ["published_names", "published_table", "published_tables"]


def published_names() -> tuple[str, ...]:
    """List the published tables by name, in alphabetical order."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml")))


def published_tables(experiment: str | None = None) -> tuple[PublishedTable, ...]:
    """Read the published tables of one experiment, or all of them, in the order of their names."""
    tables = map(_read, published_names())
    return tuple(table for table in tables if experiment is None or table.experiment == experiment)


def published_table(name: str) -> PublishedTable:
    """Read the published table of that name.

    Raises
    ------
    UnknownName
        If there is none; the message lists those that there are.
    """
    known = published_names()
    if name not in known:
        raise UnknownName(f"there is no published table {name!r}; known are: {', '.join(known)}")
    return _read(name)


def _folder() -> Traversable:
    return files("httpdyno.published") / "tables"


@cache  # they ship with httpdyno, and a preset looks through all of them
def _read(name: str) -> PublishedTable:
    description = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    columns = tuple(map(_column, description.pop("column")))
    circumstances = Circumstances(
        machine=description.pop("machine"),
        web=description.pop("web"),
        workload=Workload(**description.pop("workload", {})),
        versions=description.pop("versions", {}),
    )
    return PublishedTable(
        name=name,
        source=Source(**description.pop("source")),
        circumstances=circumstances,
        columns=columns,
        rows=_rows(name, columns),
        unpublished=tuple(Unpublished(**entry) for entry in description.pop("unpublished", [])),
        remarks=tuple(description.pop("remarks", [])),
        # What is left must be fields of the table: a key that is none is refused here.
        **description,
    )


def _column(entry: Mapping[str, Any]) -> PublishedColumn:
    kind = ColumnKind(entry.get("kind", "text"))
    column = Column(entry["name"], kind, entry.get("unit", ""), entry.get("description", ""))
    return PublishedColumn(column, Role(entry.get("role", "figure")), entry.get("per", ""))


def _rows(name: str, columns: tuple[PublishedColumn, ...]) -> tuple[PublishedRow, ...]:
    lines = csv.reader((_folder() / f"{name}.csv").read_text(encoding="utf-8").splitlines())
    header = ["subject", *(column.name for column in columns)]
    if (found := next(lines)) != header:
        raise InvalidValue(f"published table {name}: the columns are {found}, its description says {header}")
    kinds = [column.column.kind for column in columns]
    return tuple(
        PublishedRow(line[0], tuple(_cell(text, kind) for text, kind in zip(line[1:], kinds, strict=True)))
        for line in lines
    )


def _cell(text: str, kind: ColumnKind) -> Cell:
    """Read a figure; none is None, as it is printed nowhere."""
    if not text:
        return None
    if kind is ColumnKind.TEXT:
        return text
    if kind is ColumnKind.BOOLEAN:
        return {"true": True, "false": False}[text]
    return int(text) if text.lstrip("-").isdigit() else float(text)
