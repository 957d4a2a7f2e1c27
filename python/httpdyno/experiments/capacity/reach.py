"""How far the subjects of a run reach, where that can be told: sizes were varied, in a search or in a grid."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.frontier import frontiers
from httpdyno.experiments.capacity.frontier_point import Frontier, FrontierPoint
from httpdyno.experiments.capacity.judge.objective import DEFAULT_OBJECTIVE
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Trial, records_of

__all__ = ["is_search", "reached", "size_reached"]

_FEWEST_SIZES: Final = 3
"""Of a grid: between two sizes that are far apart lies everything."""


def is_search(settings: Mapping[str, Setting]) -> bool:
    """Return whether a run searched for the frontier, instead of trying a whole grid."""
    return bool(settings.get("frontier"))


def reached(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Frontier, ...]:
    """Return how far each subject reaches.

    None of a run that varied no sizes or asked for no rate, or whose settings do not tell its grid.
    """
    points = records_of(CapacityPoint, trials)
    try:
        axes = Axes.restored(settings)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return ()
    sizes = len({point.size_bytes for point in points})
    if axes.rps is None or not points or not (is_search(settings) or sizes >= _FEWEST_SIZES):
        return ()
    objective, repeat = str(settings.get("slo") or DEFAULT_OBJECTIVE), settings.get("repeat")
    return frontiers(trials, axes, objective, repeat=repeat if isinstance(repeat, int) else 1)


def size_reached(point: FrontierPoint) -> int | None:
    """Return the size that a subject reaches: the likeliest one; where nothing surely fails, what surely holds.

    Without a size that fails, the likeliest boundary is beyond all that was tried: that is no size to be claimed.
    """
    return point.holds_up_to_bytes if point.fails_from_bytes is None else point.size_bytes
