"""Tables: where experiments, which fill them, and reports, which show them, meet."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from httpdyno.errors import InvalidValue

__all__ = ["Cell", "Column", "ColumnKind", "Note", "Table"]

Cell = str | int | float | bool | None
"""What stands in one place of a table; None is "not known" or "does not apply", never -1."""


class ColumnKind(StrEnum):
    """What a column holds, which decides how a report shows it."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    """Shown with at most two digits after the point, as the seeds print shares."""
    NUMBER = "number"
    """Of any size, shown with six significant digits: the result of a query."""
    DURATION = "duration"
    """Milliseconds, shown without a unit: whole ones from 100 on."""
    TIME = "time"
    """Milliseconds of any size, shown with three digits that matter and the unit that suits: ``25.3 us``."""
    SIZE = "size"
    """Bytes; shown in KiB, MiB or GiB where people read."""
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name is the heading of the table and the key of the JSON object."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT
    unit: str = ""
    """For the legend and the axis: ``ms``, ``bytes``, ``1/s``; empty when the value has none."""
    description: str = ""
    shown: bool = True
    """False: only machine-readable formats carry it (``subject``, for one)."""
    limit: float | None = None
    """Largest number that is as it should be: a page marks what is beyond."""
    toned: bool = False
    """Whether its words say how something went: they are tinted where there are colours."""
    dispensable: bool = False
    """Whether it is left out, the last of them first, where a terminal is too narrow for all."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line under the table."""

    text: str
    row: int | None = None
    """Index of the row that it explains (why a subject failed, which failures are known); None: the whole table."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a table that has no rectangular shape."""
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(f"table {self.title!r}: more than one column is called {twice[0]!r}")
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidValue(
                    f"table {self.title!r}: row {index} has {len(row)} cells under {len(self.columns)} columns"
                )
        for note in self.notes:
            if note.row is not None and not 0 <= note.row < len(self.rows):
                raise InvalidValue(f"table {self.title!r}: a note explains row {note.row} of {len(self.rows)}")

    def sparing(self, names: Collection[str]) -> "Table":
        """Return the same table, of which these columns are left out where a terminal is too narrow for all."""
        columns = (replace(column, dispensable=column.name in names) for column in self.columns)
        return replace(self, columns=tuple(columns))

    def select(self, names: Iterable[str]) -> "Table":
        """Return the same rows with these columns alone, in this order."""
        places = [self._place(name) for name in names]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
        )

    def filled(self) -> tuple[str, ...]:
        """Return the names of the columns in which something stands."""
        return tuple(
            column.name for place, column in enumerate(self.columns) if any(row[place] is not None for row in self.rows)
        )

    def values(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column, from the first row to the last."""
        place = self._place(name)
        return tuple(row[place] for row in self.rows)

    def _place(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise InvalidValue(f"no column {name!r}; known are: {', '.join(names)}")
        return names.index(name)
