"""A published table as typed data: figures with their units, and where, on what and with what they were measured."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from httpdyno.errors import InvalidValue
from httpdyno.model import Cell, Column, ColumnKind, Note, Table

__all__ = [
    "NAMES",
    "Circumstances",
    "PublishedColumn",
    "PublishedRow",
    "PublishedTable",
    "Role",
    "Source",
    "Unpublished",
    "Workload",
]

_NUMBERS = frozenset({ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.NUMBER, ColumnKind.DURATION, ColumnKind.SIZE})


class Role(StrEnum):
    """What a column is for when figures are compared."""

    IDENTITY = "identity"
    """Names who was measured."""
    CONDITION = "condition"
    """Names a point of the experiment's grid: figures are compared at the same one only."""
    SETTING = "setting"
    """Was chosen, not measured: both are shown, without a ratio."""
    FIGURE = "figure"
    """Was measured."""


NAMES = frozenset({Role.IDENTITY, Role.CONDITION})
"""Roles of the columns that say which row it is."""


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """One column of a published table, under the name that it was printed with.

    Raises
    ------
    InvalidValue
        If it names who or where and is to be divided, or holds a figure that is no number.
    """

    column: Column
    role: Role = Role.FIGURE
    per: str = ""
    """The setting that the figure grows with: ``time`` is compared per URL when the lists differ in length."""

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        figure = self.role is Role.FIGURE
        if (self.per and not figure) or (figure and self.column.kind not in _NUMBERS):
            raise InvalidValue(f"published column {self.name!r}: as {self.role} it cannot be compared")

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.column.name


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a published table."""

    subject: str
    """The subject that is this client, tool or server here; empty when none is."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A subject that a publication describes without figures."""

    subject: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where figures were published; what the publication does not say is None."""

    title: str
    url: str | None = None
    date: datetime.date | None = None

    def __str__(self) -> str:
        """Cite it: title, date and address."""
        return ", ".join(part for part in (self.title, self.date and self.date.isoformat(), self.url) if part)


@dataclass(frozen=True, slots=True)
class Workload:
    """What a publication gave each of its subjects to do; None is what it does not say."""

    urls: int | None = None
    timeout_s: float | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Under what figures came about, of a publication as of a run; what is not known is empty."""

    machine: str = ""
    web: str = ""
    web_names: tuple[str, ...] = ()
    """Those of ours, by the name of their model; none in a publication."""
    workload: Workload = field(default_factory=Workload)
    versions: Mapping[str, str] = field(default_factory=dict)
    """By subject id."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table as its author printed it, with what is known about how it came about.

    Raises
    ------
    InvalidValue
        If a row has another number of cells than there are columns, a column is to be compared per another that is no
        setting of the table, or the order is that of no figure.
    """

    name: str
    experiment: str
    title: str
    source: Source
    circumstances: Circumstances
    columns: tuple[PublishedColumn, ...]
    rows: tuple[PublishedRow, ...]
    preset: str = ""
    """Name of the preset that measures the same again; empty when there is none."""
    ordered_by: str = ""
    """The figure whose order among the subjects is what the publication says; empty when it says none."""
    versions_from: str = ""
    """Where the versions were found; empty when none is known."""
    unpublished: tuple[Unpublished, ...] = ()
    remarks: tuple[str, ...] = ()
    """What a reader of the figures has to know: what they are, and where the publication is not consistent."""
    fitted: Mapping[str, str] = field(default_factory=dict)
    """What of a web of ours, by its name, was fitted to this table and agrees by design."""
    scaled_remark: str = ""
    """What a reader has to know, too, when fewer URLs were measured than published."""

    def __post_init__(self) -> None:
        """Refuse a table that has no rectangular shape."""
        settings = {column.name for column in self.of_role(Role.SETTING)}
        for column in self.columns:
            if column.per and column.per not in settings:
                raise InvalidValue(f"published table {self.name}: {column.name} per {column.per}, which is no setting")
        if self.ordered_by and self.ordered_by not in {column.name for column in self.of_role(Role.FIGURE)}:
            raise InvalidValue(f"published table {self.name}: ordered by {self.ordered_by}, which is no figure")
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise InvalidValue(f"published table {self.name}: {row.cells!r} under {len(self.columns)} columns")

    def of_role(self, role: Role) -> tuple[PublishedColumn, ...]:
        """Return the columns of one role, in their order."""
        return tuple(column for column in self.columns if column.role is role)

    def cells(self, row: PublishedRow) -> dict[str, Cell]:
        """Return the cells of a row by the names of their columns."""
        return {column.name: cell for column, cell in zip(self.columns, row.cells, strict=True)}

    def named(self, row: PublishedRow) -> str:
        """Name the row for people: ``Go net/http``."""
        cells = self.cells(row)
        return " ".join(str(cells[column.name]) for column in self.of_role(Role.IDENTITY))

    def as_table(self) -> Table:
        """Return the table as it was printed, with its source and all that is known about it in the notes."""
        columns = (Column("subject", description="the subject that it is here", shown=False),)
        rows = tuple((row.subject or None, *row.cells) for row in self.rows)
        return Table(
            (*columns, *(column.column for column in self.columns)),
            rows,
            title=self.title,
            notes=tuple(Note(line) for line in self._story()),
        )

    def _story(self) -> list[str]:
        told = {"source": str(self.source), "machine": self.circumstances.machine, "web": self.circumstances.web}
        lines = [f"{name}: {text}" for name, text in told.items() if text]
        versions = self.circumstances.versions
        if versions:
            listed = ", ".join(f"{subject} {version}" for subject, version in versions.items())
            lines.append(f"versions: {listed} ({self.versions_from})")
        lines += [f"{absent.name}: {absent.reason}" for absent in self.unpublished]
        return lines + list(self.remarks)
