"""How the points of a grid are laid out on paper: what runs across, what runs up, and what makes a panel of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.found import Found
from httpdyno.experiments.capacity.grid_axis import AXES, SIZE, GridAxis, Value

__all__ = ["Layout"]

Place = tuple[str, tuple[Value, ...]]
"""A panel: a subject, and the values of the axes that make panels."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a grid in their roles.

    The two with the most values span it. Where one alone varies, subjects are its rows; where none does, there is one
    column.
    """

    across: GridAxis
    up: GridAxis | None
    """None: subjects."""
    panels: tuple[GridAxis, ...]
    several_subjects: bool

    @classmethod
    def of(cls, points: Sequence[CapacityPoint], subjects: int) -> Self:
        """Choose the roles for these points."""
        counts = {axis: len(axis.values(points)) for axis in AXES}
        varied = [axis for axis in AXES if counts[axis] > 1]
        chosen = sorted(varied, key=lambda axis: -counts[axis])[:2]
        if len(chosen) < 2:
            return cls(chosen[0] if chosen else SIZE, None, (), subjects > 1)
        # Up runs the size, as in the question: up to which size?
        across, up = sorted(chosen, key=lambda axis: len(AXES) if axis is SIZE else AXES.index(axis))
        return cls(across, up, tuple(axis for axis in varied if axis not in chosen), subjects > 1)

    def panel(self, of: Found) -> Place:
        """Return in which panel something stands."""
        subject = of.subject if self.up is not None else ""
        return subject, tuple(axis.read(of.point) for axis in self.panels)

    def panel_name(self, place: Place, names: Mapping[str, str]) -> str:
        """Name a panel; nothing where there is one only."""
        subject, values = place
        told = [names[subject]] if subject and self.several_subjects else []
        return ", ".join([*told, *(axis.name(value) for axis, value in zip(self.panels, values, strict=True))])

    def shared(self, points: Sequence[CapacityPoint]) -> str:
        """Describe what all points have in common, as far as it is something: ``delay 100 ms, 10 Gbit/s``."""
        roles = {self.across, self.up, *self.panels}
        rest = [(axis, axis.read(points[0])) for axis in AXES if axis not in roles] if points else []
        return ", ".join(axis.name(value) for axis, value in rest if value is not None and (value or axis is SIZE))
