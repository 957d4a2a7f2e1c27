"""The published grids of the capacity question, as they were run: which points, over which link, under which label."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.model import Loop
from httpdyno.published import PublishedTable, find_preset

__all__ = ["DEFAULT_SUBJECTS", "CapacityPreset", "Place", "find_capacity_preset"]

DEFAULT_SUBJECTS: Final = ("go-net-http",)
"""Whom a preset asks when nobody is named.

The grids were measured with hey, but ask about the client that hey is made of, Go's net/http. As a client each of its
answers is verified, and it needs nothing but Go; hey itself is asked when it is named, and then as shipped.
"""

Place = tuple[float, float, int]
"""Where a published row lies in its grid: its first three columns."""

_KIB: Final = 1024
_MS: Final = 10**6
_GBIT: Final = 10**9
_BATCH_4: Final = "published-batch-4"


def _range(first: int, last: int, step: int, unit: int = 1) -> tuple[int, ...]:
    return tuple(unit * value for value in range(first, last + 1, step))


def _closed(sizes_kib: tuple[int, ...], delays_ms: tuple[int, ...], concurrencies: tuple[int, ...]) -> Axes:
    return Axes(
        sizes_bytes=tuple(_KIB * size for size in sizes_kib),
        delays_ns=tuple(_MS * delay for delay in delays_ms),
        concurrencies=concurrencies,
        loop=Loop.CLOSED,
    )


_BATCH_1: Final = _closed((0, 500, 1000), _range(100, 2000, 100), _range(100, 1500, 100))
_BATCH_2: Final = _closed(_range(0, 500, 100), _range(100, 1000, 100), _range(200, 1000, 200))
_BATCH_3: Final = _closed(_range(0, 100, 10), (100,), _range(1, 113, 16))
_OVER_TBF: Final = replace(
    _closed((200,), (0,), _range(200, 1000, 200)),
    rates_bits_per_s=_range(1, 10, 1, _GBIT),
    queues_ns=_range(100, 500, 100, _MS),
)
_AS_RUN: Final = {
    "published-batch-1": _BATCH_1,
    # Its figures say what the line was: an answer without content took 38.7 ms longer than its delay, of which the
    # programs take less than one, and content came at 450 Mbit/s, which is 470 with headers. At 600 ms, where next to
    # nothing was answered, the batch broke off: that is not run again.
    "published-batch-1-public-network": replace(
        _BATCH_1,
        delays_ns=_range(100, 500, 100, _MS),
        round_trips_ns=(38 * _MS,),
        rates_bits_per_s=(470 * 10**6,),
    ),
    "published-batch-2": _BATCH_2,
    # Their links had 10 and 23 Gbit/s, of which 0.91 were used: a direct link asks the same question.
    "published-batch-3": _BATCH_3,
    "published-batch-3-23gbit": _BATCH_3,
    _BATCH_4: _OVER_TBF,
}
_AS_LABELLED: Final = {
    _BATCH_4: replace(_OVER_TBF, queues_ns=(None,), round_trips_ns=_range(100, 500, 100, _MS)),
}


def _think_time(point: CapacityPoint) -> int:
    return point.delay_ns


def _label(point: CapacityPoint) -> int:
    return point.round_trip_ns or point.queue_ns or 0


@dataclass(frozen=True, slots=True)
class CapacityPreset:
    """One published grid."""

    name: str
    """``published-batch-4``."""
    as_run: Axes
    as_labelled: Axes | None
    """What its labels say that it was; None where that is the same."""
    timeout_s: float = 20.0
    """Of hey, unless it is told another: a request that takes longer has failed."""
    table: PublishedTable = field(init=False)

    def __post_init__(self) -> None:
        """Read what was published."""
        object.__setattr__(self, "table", find_preset(self.name, "capacity").table)

    def axes(self, scale: Fraction = Fraction(1), *, as_labelled: bool = False) -> Axes:
        """Return the grid at a share of its rates and of what is in flight; sizes and times stay as they are.

        Answers then take as long as they would: half as many over half the rate.

        Raises
        ------
        UsageError
            If it is wanted as labelled, and its labels are right.
        """
        axes = self.as_run
        if as_labelled:
            if self.as_labelled is None:
                raise UsageError(
                    f"--as-labelled: {self.name} is what its labels say, only {_BATCH_4} is not; leave it out"
                )
            axes = self.as_labelled
        return replace(
            axes,
            rates_bits_per_s=tuple(None if rate is None else int(rate * scale) for rate in axes.rates_bits_per_s),
            concurrencies=tuple(dict.fromkeys(_fewer(count, scale) for count in axes.concurrencies)),
            rps=None if axes.rps is None else float(axes.rps * scale),
        )

    def place(self, point: CapacityPoint) -> Place:
        """Return where a point lies in the published grid, in its columns and units, as it was measured."""
        first_ns: Callable[[CapacityPoint], int] = _label if self.has_rates else _think_time
        second = Fraction(point.rate_bits_per_s or 0, _GBIT) if self.has_rates else Fraction(point.size_bytes, _KIB)
        return _number(Fraction(first_ns(point), _MS)), _number(second), point.concurrency

    def scaled(self, published: Place, scale: Fraction) -> Place:
        """Return where a published row lies in a grid at that scale."""
        first, second, concurrency = published
        scaled = _number(Fraction(second) * scale) if self.has_rates else second
        return first, scaled, _fewer(concurrency, scale)

    def share(self, published: Place, scale: Fraction) -> float:
        """Return which share of a published rate is the same at that scale.

        Where the rate of the link decides, the scale; else what is in flight, which is a whole number and may be more.
        """
        return float(scale) if self.has_rates else self.scaled(published, scale)[2] / published[2]

    @property
    def has_rates(self) -> bool:
        """Whether the second column is the rate of the link; else it is the size of answers."""
        return self.name == _BATCH_4


def find_capacity_preset(name: str) -> CapacityPreset:
    """Return the preset of that name.

    Raises
    ------
    UnknownName
        If there is none; the message lists those that there are.
    """
    _ = find_preset(name, "capacity")
    return CapacityPreset(name, _AS_RUN[name], _AS_LABELLED.get(name))


def _fewer(count: int, scale: Fraction) -> int:
    """Take a share of what is in flight: at least one, halves rounded up."""
    return max(1, int(count * scale + Fraction(1, 2)))


def _number(value: Fraction) -> float:
    """Return a whole number as one, so that it is written without a point."""
    return int(value) if value.denominator == 1 else float(value)
