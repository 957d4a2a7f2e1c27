"""A published table: its rows, and what its description says of its columns, its source and its circumstances."""

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.model import Cell, Column, Note, Subject, Table

__all__ = ["NAMES", "SUBJECT", "Circumstances", "PublishedColumn", "PublishedTable", "Role", "Row", "Source"]

SUBJECT: Final = Column("subject", description="name of the subject's folder", shown=False)
_SHARE: Final = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})?|[0-9]{0,9}\.[0-9]{1,9}")


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
    """Where figures were published; what the publication does not say is None."""

    title: str
    url: str | None = None
    date: datetime.date | None = None

    def __str__(self) -> str:
        """Cite it: title, date and address."""
        return ", ".join(part for part in (self.title, self.date and self.date.isoformat(), self.url) if part)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Under what figures came about, of a publication as of a run; what is not known is empty."""

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
    """A table as its author printed it, with what is known about how it came about."""

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

    def of_role(self, role: Role) -> tuple[PublishedColumn, ...]:
        """Return the columns of one role, in their order."""
        return tuple(column for column in self.columns if column.role is role)

    def scaled_urls(self, scale: Fraction) -> int | None:
        """Return that share of the published number of URLs, at least one; None when there is no such number."""
        return None if self.urls is None else max(1, round(self.urls * scale))

    def with_concurrency(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """Set the concurrency of subjects to that which they were published with; one without keeps its own."""
        known = {row["subject"]: row.get("concurrency") for row in self.rows}
        given = ((subject, known.get(subject.id)) for subject in subjects)
        return tuple(replace(one, concurrency=count) if isinstance(count, int) else one for one, count in given)

    def as_table(self) -> Table:
        """Return the table as it was printed, with its source and all that is known about it in the notes."""
        columns = (replace(SUBJECT, description="the subject that it is here"), *self.columns)
        rows = tuple(tuple(row[column.name] for column in columns) for row in self.rows)
        here = self.circumstances
        told = {"source": str(self.source), "machine": here.machine, "web": here.web}
        lines = [f"{name}: {text}" for name, text in told.items() if text]
        if here.versions:
            listed = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
            lines.append(f"versions: {listed} ({self.versions_from})")
        lines += [f"{absent['name']}: {absent['reason']}" for absent in self.unpublished]
        return Table(columns, rows, title=self.title, notes=tuple(map(Note, (*lines, *self.remarks))))


def parse_scale(text: str) -> Fraction:
    """Read what share of a preset is wanted, above 0 and at most 1: ``1/10``, ``0.1`` or ``1``."""
    try:
        # Fraction reads 1e999999999, too, and would still be computing it tomorrow.
        scale = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else Fraction(0)
    except ZeroDivisionError:
        scale = Fraction(0)
    if not 0 < scale <= 1:
        raise InvalidValue(f"--scale: {text!r} is no share of a whole; write it like 1/10, above 0 and at most 1")
    return scale
