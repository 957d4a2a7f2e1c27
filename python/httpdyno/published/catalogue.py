"""The published tables that ship with httpdyno: a description in TOML beside a CSV of figures for each of them."""

import csv
import tomllib
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any, Final

from httpdyno.errors import UnknownName, suggestion
from httpdyno.model import Cell, Column, ColumnKind, Table
from httpdyno.published.table import Circumstances, PublishedColumn, PublishedTable, Role, Source

__all__ = [
    "find_preset",
    "preset_names",
    "published_listing",
    "published_names",
    "published_table",
    "published_tables",
]

_LISTING: Final = (
    Column("name", description="what `httpdyno published NAME` prints"),
    Column("experiment", description="the verb that asks the same question"),
    Column("preset", description="what `--preset` of the experiment is given to measure it again"),
    Column("rows", ColumnKind.INTEGER),
    Column("title"),
    Column("machine", description="what it was measured on", shown=False),
    Column("source", description="title of the publication", shown=False),
    Column("url", description="where it is"),
)


@cache  # they ship with httpdyno, and a preset looks through all of them
def _tables() -> dict[str, PublishedTable]:
    found = sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))
    return {name: _read(name) for name in found}


def published_names() -> tuple[str, ...]:
    """List the published tables by name, in alphabetical order."""
    return tuple(_tables())


def published_tables(experiment: str) -> tuple[PublishedTable, ...]:
    """Return the published tables of one experiment, in the order of their names."""
    return tuple(table for table in _tables().values() if table.experiment == experiment)


def published_table(name: str) -> PublishedTable:
    """Return the published table of that name; UnknownName lists those that there are."""
    if name not in _tables():
        raise UnknownName(f"{name!r}: there is no such published table; {suggestion(name, published_names())}")
    return _tables()[name]


def published_listing() -> Table:
    """List every published table by its name."""
    rows = tuple(
        (
            *(table.name, table.experiment, table.preset or None, len(table.rows), table.title),
            *(table.circumstances.machine, table.source.title, table.source.url),
        )
        for table in _tables().values()
    )
    return Table(_LISTING, rows)


def preset_names(experiment: str) -> tuple[str, ...]:
    """List the presets of an experiment."""
    return tuple(sorted(table.preset for table in published_tables(experiment) if table.preset))


def find_preset(name: str, experiment: str) -> PublishedTable:
    """Return the table that a preset of an experiment measures again; UnknownName lists those that it has."""
    found = {table.preset: table for table in published_tables(experiment) if table.preset}
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise UnknownName(f"--preset: {experiment} has no preset {name!r}; known are: {known}")
    return found[name]


_FOLDER: Final = files("httpdyno.published") / "tables"
_CIRCUMSTANCES: Final = {field.name for field in fields(Circumstances)}


def _read(name: str) -> PublishedTable:
    described = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    columns = tuple(map(_column, described.pop("column")))
    kinds = {"subject": ColumnKind.TEXT, **{column.name: column.kind for column in columns}}
    lines = csv.DictReader((_FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines())
    return PublishedTable(
        name=name,
        source=Source(**described.pop("source")),
        circumstances=Circumstances(**{key: described.pop(key) for key in _CIRCUMSTANCES & set(described)}),
        columns=columns,
        rows=tuple({key: _cell(line[key], kind) for key, kind in kinds.items()} for line in lines),
        # What is left must be fields of the table: a key that is none is refused here.
        **_frozen(described),
    )


def _column(entry: dict[str, Any]) -> PublishedColumn:
    entry = {**entry, "kind": ColumnKind(entry.get("kind", "text")), "role": Role(entry.get("role", "figure"))}
    return PublishedColumn(**_frozen(entry))


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _cell(text: str, kind: ColumnKind) -> Cell:
    """Read a figure; none is None, as it is printed nowhere."""
    if not text or kind is ColumnKind.TEXT:
        return text or None
    if kind is ColumnKind.BOOLEAN:
        return {"true": True, "false": False}[text]
    return int(text) if text.lstrip("-").isdigit() else float(text)
