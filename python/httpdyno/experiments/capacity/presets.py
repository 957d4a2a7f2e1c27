"""The published grids of the capacity question, as they were run: which points, and where each lies in its table."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.model import ColumnKind, Loop
from httpdyno.published import PublishedTable, find_preset
from httpdyno.published.table import Role, Row

__all__ = ["DEFAULT_SUBJECTS", "PRINTED", "UNITS", "CapacityPreset", "Place", "find_capacity_preset"]

DEFAULT_SUBJECTS: Final = ("go-net-http",)
"""Whom a preset asks when nobody is named.

The grids were measured with hey, but ask about the client that hey is made of, Go's net/http. As a client each of its
answers is verified, and it needs nothing but Go; hey itself is asked when it is named, and then as shipped.
"""
PRINTED: Final = "published "
"""Before the name of a column: its cell as it was printed, of a row that was brought to a scale."""

Place = tuple[float, ...]
"""Where a row lies in its grid: its conditions, in the columns and units of the publication."""

UNITS: Final = {"": 1, "ms": 10**6, "s": 10**9, "KiB": 1024, "Gbit/s": 10**9, "1/s": 1}
"""What of ours is one of theirs."""
_OF_LINKS: Final = frozenset({"round_trip_ns", "rate_bits_per_s", "queue_ns"})
_USUAL: Final = {
    **{"delay": "0", "rtt": "0", "link_rate": None, "queue": None, "loss": 0.0, "rps": 2000.0},
    "loop": Loop.CLOSED.value,
}
"""What is asked of a grid whose description does not say it, as settings of a run."""


@dataclass(frozen=True, slots=True)
class CapacityPreset:
    """One published grid."""

    table: PublishedTable

    def axes(self, scale: Fraction = Fraction(1), *, as_labelled: bool = False) -> Axes:
        """Return the grid at a share of its rates and of what is in flight; sizes and times stay as they are.

        Answers then take as long as they would: half as many over half the rate.

        ``as_labelled`` is refused where the labels are right.
        """
        asked = self.table.asked.get("as_labelled") if as_labelled else self.table.asked["as_run"]
        if asked is None:
            name = self.table.preset
            raise UsageError(
                f"--as-labelled: {name} is what its labels say, only published-batch-4 is not; leave it out"
            )
        axes = Axes.restored({**_USUAL, **asked})
        return replace(
            axes,
            rates_bits_per_s=tuple(None if rate is None else int(rate * scale) for rate in axes.rates_bits_per_s),
            concurrencies=tuple(dict.fromkeys(_fewer(count, scale) for count in axes.concurrencies)),
            rps=None if axes.rps is None else float(axes.rps * scale),
        )

    @property
    def varies_link(self) -> bool:
        """Whether the link is what the grid asks about."""
        asked = (name for column in self.table.of_role(Role.CONDITION) for name in column.ours)
        return not _OF_LINKS.isdisjoint(asked)

    def place(self, point: CapacityPoint) -> Place:
        """Return where a point lies in the published grid, as it was measured."""
        return tuple(
            _number(Fraction(next(filter(None, (getattr(point, name) for name in column.ours)), 0), UNITS[column.unit]))
            for column in self.table.of_role(Role.CONDITION)
        )

    def at_scale(self, scale: Fraction, subjects: Iterable[str]) -> PublishedTable:
        """Return the published rows as subjects are to give them at that scale, beside what was printed."""
        rows = [self._scaled(row, scale) for row in self.table.rows]
        return replace(self.table, rows=tuple({**row, "subject": subject} for subject in subjects for row in rows))

    def _scaled(self, row: Row, scale: Fraction) -> Row:
        """Bring a row to a scale: what is counted stays whole, and a figure has the share of what it is per."""
        cells = {**row, **{f"{PRINTED}{name}": cell for name, cell in row.items()}}
        shares: dict[str, float] = {}
        for column in self.table.of_role(Role.CONDITION):
            value = row[column.name]
            if column.scaled and isinstance(value, int):
                counted = column.kind is ColumnKind.INTEGER
                scaled = Fraction(_fewer(value, scale)) if counted else value * scale
                cells[column.name], shares[column.name] = _number(scaled), float(scaled / value)
        for column in self.table.columns:
            figure = row[column.name]
            if column.per and isinstance(figure, int | float):
                cells[column.name] = figure * shares[column.per]
        return cells


def find_capacity_preset(name: str) -> CapacityPreset:
    """Return the preset of that name; UnknownName lists those that there are."""
    return CapacityPreset(find_preset(name, "capacity"))


def _fewer(count: int, scale: Fraction) -> int:
    """Return a share of what is in flight: at least one, halves rounded up."""
    return max(1, int(count * scale + Fraction(1, 2)))


def _number(value: Fraction) -> float:
    """Return a whole number as one, so that it is written without a point."""
    return int(value) if value.denominator == 1 else float(value)
