"""How much a grid is: how many trials, for how long; known before a single one of them is made."""

from dataclasses import dataclass
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.timing import timing_of
from httpdyno.model import format_span

__all__ = ["MOST_TRIALS", "OVERHEAD_S", "Extent", "extent_of"]

OVERHEAD_S: Final = 0.7
"""What a trial takes beside what is sent in it: a room and its link are made and checked, answers are judged."""
MOST_TRIALS: Final = 100_000
"""More than these nobody waits for, and they would not fit into memory."""
_UNASKED_TRIALS: Final = 3_000
_UNASKED_S: Final = 3600.0
_LOOKED_AT: Final = 500
"""So many points, evenly spread, say how long a trial takes."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much will be done."""

    trials: int
    time_s: float

    def of(self, trials: int) -> "Extent":
        """Return the extent of so many trials like these."""
        return Extent(trials, self.time_s * trials / self.trials)

    def check(self, *, agreed: bool) -> None:
        """Refuse what nobody would want to wait for, unless it was agreed to."""
        much = f"capacity: {self.trials:,} trials would take about {_span(self.time_s)}"
        if self.trials > MOST_TRIALS:
            raise UsageError(
                f"{much}; a run has at most {MOST_TRIALS:,}: make the grid smaller, or search (--frontier)"
            )
        if not agreed and (self.trials > _UNASKED_TRIALS or self.time_s > _UNASKED_S):
            raise UsageError(f"{much}; give --yes to start them, or make the grid smaller, or search (--frontier)")


def extent_of(axes: Axes, *, subjects: int, repeat: int, duration_s: float) -> Extent:
    """Foresee how much a grid is, from some of its points.

    ``duration_s`` is how much of each schedule is measured.
    """
    count = axes.count
    looked_at = min(count, _LOOKED_AT)
    numbers = [number * count // looked_at for number in range(looked_at)]
    mean_s = sum(timing_of(axes.point(number), duration_s).foreseen_s for number in numbers) / looked_at
    trials = count * subjects * repeat
    return Extent(trials, trials * (mean_s + OVERHEAD_S))


def _span(seconds: float) -> str:
    days = seconds / 86400
    return f"{days:,.0f} days" if days >= 3 else format_span(seconds)  # hours say nothing any more
