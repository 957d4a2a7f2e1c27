"""The axes of the capacity question as people read them: a title, one unit for all values, a name for each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.frontier_point import FrontierAxis
from httpdyno.experiments.capacity.quantity import shown_size, shown_time
from httpdyno.model import format_exact, format_rate

__all__ = [
    "AXES",
    "CONCURRENCY",
    "DELAY",
    "FRONTIER_AXES",
    "LINK_RATE",
    "QUEUE",
    "ROUND_TRIP",
    "SIZE",
    "GridAxis",
    "Value",
]

Value = int | None
"""As points have it: bytes, nanoseconds, bits a second or requests; None where the link has no such limit."""
_Units = tuple[tuple[str, int], ...]
_SIZES: Final[_Units] = (("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TIMES: Final[_Units] = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_RATES: Final[_Units] = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3))
_UNLIMITED: Final = "no limit"


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One of the things that a grid varies."""

    title: str
    read: Callable[[CapacityPoint], Value]
    units: _Units
    """The largest first."""
    worded: Callable[[int], str]
    """A single value, as part of a sentence."""
    absent: str = ""
    """What a point without a value is said to have."""

    def values(self, points: Iterable[CapacityPoint]) -> tuple[Value, ...]:
        """Return the values that the points have, each once, from the least on; no limit comes last."""
        found = {self.read(point) for point in points}
        return (*sorted(value for value in found if value is not None), *([None] if None in found else []))

    def name(self, value: Value) -> str:
        """Name a value where it stands alone: ``rtt 40 ms``."""
        return self.absent if value is None else self.worded(value)

    def unit(self, values: Iterable[Value]) -> tuple[str, int]:
        """Choose the unit for all of the values: the largest in which those that are not 0 are 1 or more.

        It comes as its name and factor, like ``("KiB", 1024)``; without a name where values are counted.
        """
        least = min((value for value in values if value), default=None)
        if least is None:
            return self.units[len(self.units) // 2]
        return next((unit for unit in self.units if unit[1] <= least), self.units[-1])

    def heading(self, values: Sequence[Value]) -> str:
        """Return the title with the unit of the values: ``rtt, ms``."""
        unit, _ = self.unit(values)
        return f"{self.title}, {unit}" if unit else self.title

    def labels(self, values: Sequence[Value]) -> list[str]:
        """Write the values without their unit, which the axis names."""
        _, factor = self.unit(values)
        return [_UNLIMITED if value is None else format_exact(float(f"{value / factor:.4g}")) for value in values]


def _in_flight(count: int) -> str:
    return f"{count:,} in flight"


SIZE: Final = GridAxis("size", lambda point: point.size_bytes, _SIZES, shown_size)
LINK_RATE: Final = GridAxis("link", lambda point: point.rate_bits_per_s, _RATES, format_rate, "a link without a limit")
ROUND_TRIP: Final = GridAxis("rtt", lambda point: point.round_trip_ns, _TIMES, lambda ns: f"rtt {shown_time(ns)}")
DELAY: Final = GridAxis("delay", lambda point: point.delay_ns, _TIMES, lambda ns: f"delay {shown_time(ns)}")
QUEUE: Final = GridAxis(
    "queue", lambda point: point.queue_ns, _TIMES, lambda ns: f"queue {shown_time(ns)}", "the usual queue"
)
CONCURRENCY: Final = GridAxis("in flight", lambda point: point.concurrency, (("", 1),), _in_flight)
FRONTIER_AXES: Final = {
    FrontierAxis.ROUND_TRIP: ROUND_TRIP,
    FrontierAxis.LINK_RATE: LINK_RATE,
    FrontierAxis.DELAY: DELAY,
    FrontierAxis.CONCURRENCY: CONCURRENCY,
}
"""Along which of them a frontier runs."""
AXES: Final = (SIZE, LINK_RATE, ROUND_TRIP, DELAY, QUEUE, CONCURRENCY)
"""In the order in which they are put into a grid: the first of those with the most values is its vertical one."""
