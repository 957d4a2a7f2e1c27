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
_SHARE: Final = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})?|[0-9]{0,9}\.[0-9]{1,9}")


class Role(StrEnum):
    """Role of a column in comparisons."""

    IDENTITY = "identity"
    """Names the measured subject."""
    CONDITION = "condition"
    """Names a point of the experiment's grid: figures are compared at the same one only."""
    SETTING = "setting"
    """Was chosen, not measured: both are shown, without a ratio."""
    FIGURE = "figure"
    """Was measured."""


NAMES: Final = frozenset({Role.IDENTITY, Role.CONDITION})
"""Roles of the columns that say which row it is."""

Row = Mapping[str, Cell]
"""By column; under ``subject`` the client, tool or server that it is here, None when it is none."""


@dataclass(frozen=True, slots=True)
class PublishedColumn(Column):
    """One column, under the name that it was printed with."""

    role: Role = Role.FIGURE
    per: str = ""
    """The column that the figure grows with: ``time`` is compared per URL when the lists differ in length."""
    ours: tuple[str, ...] = ()
    """Fields of our records that say the same where no column of ours has its name: the first that has a value."""
    scaled: bool = False
    """Whether ``--scale`` takes a share of it, in an experiment whose points depend on that."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of published figures; None for what it does not say."""

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
    """Those of ours, by the name of their model; none in a publication."""
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
    """What ``--preset`` of the experiment is given to measure the same again; empty when it cannot be."""
    urls: int | None = None
    """How many each subject was given; None when that was not published."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What else a run of the preset asks for, in the words of its experiment."""
    ordered_by: str = ""
    """The figure whose order among the subjects is what the publication says; empty when it says none."""
    versions_from: str = ""
    """Where the versions were found; empty when none is known."""
    unpublished: tuple[Mapping[str, str], ...] = ()
    """Subjects that the publication describes without figures: ``subject``, ``name`` and ``reason``."""
    remarks: tuple[str, ...] = ()
    """What a reader of the figures has to know: what they are, and where the publication is not consistent."""
    fitted: Mapping[str, str] = field(default_factory=dict)
    """What of a web of ours, by its name, was fitted to this table and agrees by design."""
    scaled_remark: str = ""
    """What a reader has to know, too, when fewer URLs were measured than published."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that have figures, in the published order; not all of them need to exist."""
        return tuple(dict.fromkeys(str(row["subject"]) for row in self.rows if row["subject"]))

    def rows_at(self, **cells: Cell) -> tuple[Row, ...]:
        """Return the rows with these cells, in their order: ``rows_at(subject="python-httpx", parallel=1)``."""
        return tuple(row for row in self.rows if all(row[name] == cell for name, cell in cells.items()))

    def of_role(self, role: Role) -> tuple[PublishedColumn, ...]:
        """Return the columns of one role, in their order."""
        return tuple(column for column in self.columns if column.role is role)

    def scaled_urls(self, scale: Fraction) -> int | None:
        """Return that share of the published number of URLs, at least one; None when the number is unknown."""
        return None if self.urls is None else max(1, round(self.urls * scale))

    def with_concurrency(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """Set the concurrency of subjects to the published one; without one they keep their own."""
        known = {row["subject"]: row.get("concurrency") for row in self.rows}
        given = ((subject, known.get(subject.id)) for subject in subjects)
        return tuple(replace(one, concurrency=count) if isinstance(count, int) else one for one, count in given)

    def as_table(self) -> Table:
        """Return the published table, with its source and circumstances in the notes."""
        columns = (replace(SUBJECT, description="the subject that it is here"), *self.columns)
        rows = tuple(tuple(row[column.name] for column in columns) for row in self.rows)
        here = self.circumstances
        given = {"source": str(self.source), "machine": here.machine, "web": here.web}
        lines = [f"{name}: {text}" for name, text in given.items() if text]
        if here.versions:
            listed = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
            lines.append(f"versions: {listed} ({self.versions_from})")
        lines += [f"{absent['name']}: {absent['reason']}" for absent in self.unpublished]
        return Table(columns, rows, title=self.title, notes=tuple(map(Note, (*lines, *self.remarks))))


def parse_scale(text: str) -> Fraction:
    """Read the share of a preset to measure, above 0 and at most 1: ``1/10``, ``0.1`` or ``1``."""
    try:
        # Fraction reads 1e999999999, too, and would still be computing it tomorrow.
        scale = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else Fraction(0)
    except ZeroDivisionError:
        scale = Fraction(0)
    if not 0 < scale <= 1:
        raise InvalidValue(f"--scale: {text!r} is not a share; write it like 1/10, above 0 and at most 1")
    return scale


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
