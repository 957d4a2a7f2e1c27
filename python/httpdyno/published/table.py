"""Published tables with their sources and circumstances, and the catalogue of those that ship with httpdyno."""

import csv
import datetime
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Final

from httpdyno.errors import InvalidValue, UnknownName, suggestion
from httpdyno.model import Cell, Column, ColumnKind, Note, Subject, Table

SUBJECT: Final = Column("subject", description="name of the subject's folder", shown=False)
_SHARE: Final = re.compile(r"[0-9]{1,9}(/0{0,8}[1-9][0-9]{0,8})?|[0-9]{0,9}\.[0-9]{1,9}")


class Role(StrEnum):
    """Role of a column in comparisons."""

    IDENTITY = "identity"
    """Names the measured subject."""
    CONDITION = "condition"
    """Names a point of the experiment's grid: only figures of the same point are compared."""
    SETTING = "setting"
    """A chosen value: both are shown, without a ratio."""
    FIGURE = "figure"
    """Was measured."""


NAMES: Final = frozenset({Role.IDENTITY, Role.CONDITION})
"""Roles of the columns that identify a row."""

Row = Mapping[str, Cell]
"""Cells by column; ``subject`` is the id of our client, tool or server, or None."""


@dataclass(frozen=True, slots=True)
class PublishedColumn(Column):
    """One column, with its published name."""

    role: Role = Role.FIGURE
    per: str = ""
    """The column to which the figure is proportional: ``time`` is compared per URL if the lists differ in length."""
    ours: tuple[str, ...] = ()
    """Equivalent fields of our records, if no column of ours has its name; the first field with a value is used."""
    scaled: bool = False
    """Whether ``--scale`` reduces it, in an experiment whose points depend on it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of published figures; None if unknown."""

    title: str
    url: str | None = None
    date: datetime.date | None = None

    def __str__(self) -> str:
        """Cite it: title, date and address."""
        return ", ".join(part for part in (self.title, self.date and self.date.isoformat(), self.url) if part)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Circumstances of a publication or a run; empty where unknown."""

    machine: str = ""
    web: str = ""
    web_names: tuple[str, ...] = ()
    """Names of the models of our webs; empty in a publication."""
    timeout_s: float | None = None
    deadline_s: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    """By subject id."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table with its circumstances."""

    name: str
    experiment: str
    title: str
    source: Source
    circumstances: Circumstances
    columns: tuple[PublishedColumn, ...]
    rows: tuple[Row, ...]
    preset: str = ""
    """Value of ``--preset`` that measures the same again; empty: there is none."""
    urls: int | None = None
    """URLs for each subject; None if not published."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of a run of the preset, under the names that its experiment uses."""
    ordered_by: str = ""
    """Figure by which the publication orders the subjects; empty without an order."""
    versions_from: str = ""
    """Source of the versions; empty if none is known."""
    unpublished: tuple[Mapping[str, str], ...] = ()
    """Subjects that the publication describes without figures: ``subject``, ``name`` and ``reason``."""
    remarks: tuple[str, ...] = ()
    """Explanations of the figures, and inconsistencies of the publication."""
    fitted: Mapping[str, str] = field(default_factory=dict)
    """By the name of one of our webs: those of its properties that were fitted to this table, and so agree with it."""
    scaled_remark: str = ""
    """A further remark if fewer URLs were measured than published."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Ids of the subjects with figures, in the published order; some may not exist."""
        return tuple(dict.fromkeys(str(row["subject"]) for row in self.rows if row["subject"]))

    def rows_at(self, **cells: Cell) -> tuple[Row, ...]:
        """Return the rows with these cells, in their order: ``rows_at(subject="python-httpx", parallel=1)``."""
        return tuple(row for row in self.rows if all(row[name] == cell for name, cell in cells.items()))

    def of_role(self, role: Role) -> tuple[PublishedColumn, ...]:
        """Return the columns of one role, in their order."""
        return tuple(column for column in self.columns if column.role is role)

    def scaled_urls(self, scale: Fraction) -> int | None:
        """Return that share of the published number of URLs, at least one; None if the number is unknown."""
        return None if self.urls is None else max(1, round(self.urls * scale))

    def with_concurrency(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """Set the concurrency of subjects to the published one, if there is one."""
        known = {row["subject"]: row.get("concurrency") for row in self.rows}
        given = ((subject, known.get(subject.id)) for subject in subjects)
        return tuple(replace(one, concurrency=count) if isinstance(count, int) else one for one, count in given)

    def as_table(self) -> Table:
        """Return the published table, with its source and circumstances in the notes."""
        columns = (replace(SUBJECT, description="id of our subject"), *self.columns)
        here = self.circumstances
        versions = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
        given = {"source": str(self.source), "machine": here.machine, "web": here.web}
        given["versions"] = f"{versions} ({self.versions_from})" if versions else ""
        lines = [f"{name}: {text}" for name, text in given.items() if text]
        lines += [f"{absent['name']}: {absent['reason']}" for absent in self.unpublished]
        return Table.of_records(columns, self.rows, self.title, map(Note, (*lines, *self.remarks)))


def parse_scale(text: str) -> Fraction:
    """Read the share of a preset to measure, above 0 and at most 1: ``1/10``, ``0.1`` or ``1``."""
    # Fraction also reads 1e999999999, which would take days.
    scale = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else 0
    if not 0 < scale <= 1:
        raise InvalidValue(f"--scale: {text!r} is not a share; write it like 1/10, above 0 and at most 1")
    return Fraction(scale)


_LISTING: Final = (
    Column("name", description="what `httpdyno published NAME` prints"),
    Column("experiment", description="the verb of the same experiment"),
    Column("preset", description="value of `--preset` that measures it again"),
    Column("rows", ColumnKind.INTEGER),
    Column("title"),
    Column("machine", description="machine of the measurement", shown=False),
    Column("source", description="title of the publication", shown=False),
    Column("url", description="address of the publication"),
)


@cache
def _tables() -> dict[str, PublishedTable]:
    names = sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))
    return {name: _read(name) for name in names}


def published_names() -> tuple[str, ...]:
    """Return the names of the published tables in alphabetical order."""
    return tuple(_tables())


def published_table(name: str) -> PublishedTable:
    """Return the published table of that name; UnknownName suggests a similar one."""
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


def find_preset(name: str, experiment: str) -> PublishedTable:
    """Return the table that a preset of an experiment measures again; UnknownName lists the existing presets."""
    found = {table.preset: table for table in _tables().values() if table.preset and table.experiment == experiment}
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise UnknownName(f"--preset: {experiment} has no preset {name!r}; choose from: {known}")
    return found[name]


_FOLDER: Final = files("httpdyno.published") / "tables"
_CIRCUMSTANCES: Final = {field.name for field in fields(Circumstances)}


def _read(name: str) -> PublishedTable:
    described = _frozen(tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
    columns = tuple(
        PublishedColumn(
            **{**_frozen(one), "kind": ColumnKind(one.get("kind", "text")), "role": Role(one.get("role", "figure"))}
        )
        for one in described.pop("column")
    )
    texts = {"subject", *(column.name for column in columns if column.kind is ColumnKind.TEXT)}
    lines = csv.DictReader((_FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines())
    return PublishedTable(
        name=name,
        source=Source(**described.pop("source")),
        circumstances=Circumstances(**{key: described.pop(key) for key in _CIRCUMSTANCES & set(described)}),
        columns=columns,
        rows=tuple(
            {key: (text if key in texts else json.loads(text)) if text else None for key, text in line.items()}
            for line in lines
        ),
        # The remaining keys must be fields of the table; others are refused here.
        **described,
    )


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
