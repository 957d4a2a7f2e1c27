"""The axes of the capacity experiment: the quantities that vary, their values, and the format of values."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.options import parse_values
from httpdyno.model import (
    Link,
    Loop,
    format_exact,
    format_rate,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)
from httpdyno.model.link import DEFAULT_QUEUE_NS, HOUR_NS, RATES_BITS_PER_S

_COUNT: Final = re.compile(r"[0-9]{1,7}")
_Units = tuple[tuple[str, int], ...]
_SIZES: Final[_Units] = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TIMES: Final[_Units] = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_RATES: Final[_Units] = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3))
_UNLIMITED: Final = "no limit"

Value = int | None
"""Value on an axis: bytes, nanoseconds, bits a second or requests; None for a link without such a limit."""


def shown_size(size_bytes: int) -> str:
    """Write a size with all of its digits: ``0 B``, ``100 KiB``, ``1000 B``."""
    return _format_exactly(size_bytes, _SIZES, ("B", 1))


def _format_exactly(value: int, units: _Units, otherwise: tuple[str, int]) -> str:
    unit, factor = next((one for one in units if value and value % one[1] == 0), otherwise)
    return f"{format_exact(value / factor)} {unit}"


class _Scale(NamedTuple):
    units: _Units
    """The largest first."""
    shown: Callable[[int], str]
    """Format one value with all of its digits; without spaces and commas, the result is valid as an option's value."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One axis of the grid."""

    setting: str
    """Its name among the options and the settings of a manifest: ``link_rate``."""
    field: str
    """Its field of a ``CapacityPoint``."""
    axis: str
    """Its field of ``Axes``."""
    read: Callable[..., int]
    """Read one value; the name of the option is for errors."""
    scale: _Scale
    title: str
    wording: str = "{}"
    """The value together with its axis in a sentence: ``rtt {}``."""
    label: str = ""
    """Its title in charts."""

    @property
    def option(self) -> str:
        """Its option: ``--link-rate``."""
        return f"--{self.setting.replace('_', '-')}"

    def values(self, text: str) -> tuple[int, ...]:
        """Read a list of values."""
        return parse_values(text, partial(self.read, name=self.option), name=self.option)

    def text(self, values: Iterable[Value]) -> str | None:
        """Write a list so that ``values`` reads it; None without limits."""
        return ",".join(re.sub("[ ,]", "", self.scale.shown(one)) for one in values if one is not None) or None

    def at(self, point: CapacityPoint) -> Value:
        """Return the value at a point."""
        value: Value = getattr(point, self.field)
        return value

    def distinct(self, points: Iterable[CapacityPoint]) -> tuple[Value, ...]:
        """Return the distinct values of the points in ascending order; None (no limit) comes last."""
        return tuple(sorted({self.at(point) for point in points}, key=lambda one: (one is None, one or 0)))

    def name(self, value: Value) -> str:
        """Format a value together with its axis: ``rtt 40 ms``."""
        return _UNLIMITED if value is None else self.wording.format(self.scale.shown(value))

    def unit(self, values: Iterable[Value]) -> tuple[str, int]:
        """Choose one unit for all values: the largest in which every value except 0 is at least 1.

        Return its name and factor, like ``("KiB", 1024)``. The name of a count is empty.
        """
        least = min((value for value in values if value), default=None)
        if least is None:
            return self.scale.units[len(self.scale.units) // 2]
        return next((unit for unit in self.scale.units if unit[1] <= least), self.scale.units[-1])

    def labels(self, values: Sequence[Value]) -> tuple[str, dict[Value, str]]:
        """Return the title with the unit of the values, like ``rtt, ms``, and each value without its unit."""
        unit, factor = self.unit(values)
        labels = {
            value: _UNLIMITED if value is None else format_exact(float(f"{value / factor:.4g}")) for value in values
        }
        return f"{self.title}, {unit}" if unit else self.title, labels


def _reader(parse: Callable[..., int], allowed: range, remedy: str) -> Callable[..., int]:
    def read(text: str, *, name: str) -> int:
        value = parse(text, name=name)
        if value not in allowed:
            raise InvalidValue(f"{text[:60]!r} {remedy}", option=name)
        return value

    return read


def _parse_time(text: str, *, name: str) -> int:
    # Without a unit, `100` can mean seconds or milliseconds.
    return 0 if text == "0" else parse_duration_ns(text, bare_unit="none", name=name)


def _parse_count(text: str, *, name: str) -> int:
    del name
    return int(text) if _COUNT.fullmatch(text) else 0


_size: Final = _reader(parse_size_bytes, range(2**30 + 1), "is more than a web serves; at most 1 GiB")
_delay: Final = _reader(
    _parse_time,
    range(0, HOUR_NS + 1, 10**6),
    "is not a delay of the server; write whole milliseconds, up to an hour, like 100ms",
)
# Each direction of a link can take an hour.
_rtt: Final = _reader(_parse_time, range(2 * HOUR_NS + 1), "is longer than on any link; write 2h or less")
_queue: Final = _reader(_parse_time, range(HOUR_NS + 1), "is longer than on any link; write 1h or less")
_link_rate: Final = _reader(
    parse_rate_bits_per_s, RATES_BITS_PER_S, "is not a rate of a link; write 1kbit to 1tbit, like 100mbit"
)
_count: Final = _reader(_parse_count, range(1, 10**7), "is not understood; write whole numbers from 1 on, like 200")
_SIZE: Final = _Scale(_SIZES, shown_size)
_TIME: Final = _Scale(_TIMES, lambda time_ns: _format_exactly(time_ns, _TIMES, ("ms", 10**6)))
SIZE: Final = Quantity("size", "size_bytes", "sizes_bytes", _size, _SIZE, "size")
DELAY: Final = Quantity("delay", "delay_ns", "delays_ns", _delay, _TIME, "delay", "delay {}", "delay of the server")
ROUND_TRIP: Final = Quantity("rtt", "round_trip_ns", "round_trips_ns", _rtt, _TIME, "rtt", "rtt {}", "round-trip time")
QUEUE: Final = Quantity("queue", "queue_ns", "queues_ns", _queue, _TIME, "queue", "queue {}")
_RATE: Final = _Scale(_RATES, format_rate)
LINK_RATE: Final = Quantity(
    "link_rate", "rate_bits_per_s", "rates_bits_per_s", _link_rate, _RATE, "link", label="rate of the link"
)
_COUNTS: Final = _Scale((("", 1),), "{:,}".format)
CONCURRENCY: Final = Quantity(
    "concurrency", "concurrency", "concurrencies", _count, _COUNTS, "in flight", "{} in flight", "requests in flight"
)
QUANTITIES: Final = (SIZE, DELAY, ROUND_TRIP, QUEUE, LINK_RATE, CONCURRENCY)
"""All quantities; the first varies fastest in the order of the points."""
AXES: Final = (SIZE, LINK_RATE, ROUND_TRIP, DELAY, QUEUE, CONCURRENCY)
"""In order of precedence: of the axes with the most values, the first becomes the vertical one of a grid."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Values of the axes, and the settings that all points share."""

    sizes_bytes: tuple[int, ...] = (0,)
    delays_ns: tuple[int, ...] = (0,)
    round_trips_ns: tuple[int, ...] = (0,)
    rates_bits_per_s: tuple[int | None, ...] = (None,)
    """Rate of the link towards the subject; None: not limited."""
    concurrencies: tuple[int, ...] = (200,)
    queues_ns: tuple[int | None, ...] = (None,)
    """Longest wait of a packet for the rate of the link; None: the default of a link."""
    loss: float = 0.0
    """Share of packets that are lost."""
    rps: float | None = 2000.0
    """Right answers a second to hold; None: no target (closed loop only)."""
    loop: Loop = Loop.OPEN
    link: Link = field(default_factory=Link)
    """Properties of the link that have no axis: its packets, and differences between its directions."""

    def __post_init__(self) -> None:
        """Refuse a grid without points, or with impossible points."""
        if not self.count:
            raise InvalidValue("capacity: an axis of the grid has no value")
        if not 0 <= self.loss < 1:
            raise InvalidValue(f"--loss: a link cannot lose {self.loss * 100:g} %; write it like 0.1%")
        limited = None not in self.rates_bits_per_s or self.link.up.rate_bits_per_s is not None
        if self.queues_ns != (None,) and not limited:
            raise InvalidValue("--queue: only a link with a rate has a queue; give a --link-rate, too")
        _ = self.point(0), self.point(self.count - 1)

    def values(self, quantity: Quantity) -> tuple[Value, ...]:
        """Return the values of one quantity."""
        return tuple(getattr(self, quantity.axis))

    @property
    def count(self) -> int:
        """Number of points."""
        return prod(len(self.values(quantity)) for quantity in QUANTITIES)

    def points(self) -> Iterator[CapacityPoint]:
        """Generate the points; the sizes are the fastest axis."""
        return map(self.point, range(self.count))

    def point(self, number: int) -> CapacityPoint:
        """Return one of the points, counted from 0, without making the others."""
        at: dict[str, Any] = {}
        for quantity in QUANTITIES:
            values = self.values(quantity)
            number, place = divmod(number, len(values))
            at[quantity.field] = values[place]
        return CapacityPoint(**at, loop=self.loop, target_per_s=self.rps)

    def over(self, link: Link) -> Self:
        """Return the grid over a link, whose distance and rate apply if the grid has no such axis."""
        return replace(
            self,
            link=link,
            round_trips_ns=self.round_trips_ns if any(self.round_trips_ns) else (link.round_trip_ns,),
            rates_bits_per_s=self.rates_bits_per_s if any(self.rates_bits_per_s) else (link.down.rate_bits_per_s,),
        )

    def link_at(self, point: CapacityPoint) -> Link:
        """Return the link of a point: axes apply to both directions, everything else is that of ``link``."""
        up, down, half_ns = self.link.up, self.link.down, point.round_trip_ns // 2
        if point.round_trip_ns != self.link.round_trip_ns:
            up, down = replace(up, delay_ns=half_ns), replace(down, delay_ns=point.round_trip_ns - half_ns)
        if point.rate_bits_per_s != down.rate_bits_per_s:
            rate = point.rate_bits_per_s
            up, down = (
                replace(path, rate_bits_per_s=rate, queue_ns=rate and (path.queue_ns or DEFAULT_QUEUE_NS))
                for path in (up, down)
            )
        if point.queue_ns is not None:
            # If only one direction has a rate, the queue is before that one.
            up, down = (replace(path, queue_ns=path.rate_bits_per_s and point.queue_ns) for path in (up, down))
        if self.loss:
            up, down = replace(up, loss=self.loss), replace(down, loss=self.loss)
        return Link(up, down, self.link.mtu_bytes)

    def settings(self) -> Mapping[str, str | float | None]:
        """Write the axes in the form of the options; ``restored`` parses them."""
        written = {quantity.setting: quantity.text(self.values(quantity)) for quantity in QUANTITIES}
        return {**written, "loss": self.loss, "rps": self.rps, "loop": self.loop.value, "link": str(self.link)}

    @classmethod
    def restored(cls, settings: Mapping[str, object]) -> Self:
        """Rebuild the axes from the output of ``settings``.

        Raise ``InvalidValue``, ``KeyError``, ``TypeError`` or ``ValueError`` for settings that cannot be read.
        """
        rps = settings["rps"]
        written = {quantity: settings[quantity.setting] for quantity in QUANTITIES}
        values: dict[str, Any] = {
            quantity.axis: (None,) if text is None else quantity.values(str(text)) for quantity, text in written.items()
        }
        return cls(
            **values,
            loss=float(str(settings["loss"])),
            rps=None if rps is None else float(str(rps)),
            loop=Loop(str(settings["loop"])),
            # Older runs have no queue.
            link=Link.parse(str(settings.get("link", "direct"))),
        )


def name_of(point: CapacityPoint) -> str:
    """Name a point. Equal points have the same name in every run; different points of a grid have different names.

    For instance ``100 KiB, delay 20 ms, rtt 40 ms, 1 Gbit/s, 200 in flight``; delays of zero and missing limits are
    left out.
    """
    added = [quantity for quantity in (DELAY, ROUND_TRIP, LINK_RATE) if quantity.at(point)]
    added += [] if point.queue_ns is None else [QUEUE]
    parts = [quantity.name(quantity.at(point)) for quantity in (SIZE, *added)]
    return ", ".join([*parts, f"{point.concurrency} in flight"])
