"""The axes of the capacity question: the quantities that vary, the values that are asked for, and their format."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.options import parse_values
from httpdyno.model import (
    Link,
    LinkPath,
    Loop,
    format_exact,
    format_rate,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)
from httpdyno.model.link import DEFAULT_QUEUE_NS, HOUR_NS, RATES_BITS_PER_S

_COUNT: Final = re.compile(r"[0-9]{1,7}")
_LARGEST_BYTES: Final = 1024**3
_Units = tuple[tuple[str, int], ...]
_SIZES: Final[_Units] = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TIMES: Final[_Units] = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_RATES: Final[_Units] = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3))
_UNLIMITED: Final = "no limit"

Value = int | None
"""Value on an axis: bytes, nanoseconds, bits a second or requests; None for a link without such a limit."""


def shown_size(size_bytes: int) -> str:
    """Write a size with all of its digits: ``0 B``, ``100 KiB``, ``1000 B``."""
    return _shown(size_bytes, _SIZES, ("B", 1))


def _shown_time(time_ns: int) -> str:
    return _shown(time_ns, _TIMES, ("ms", 10**6))


def _shown(value: int, units: _Units, otherwise: tuple[str, int]) -> str:
    unit, factor = next((one for one in units if value and value % one[1] == 0), otherwise)
    return f"{format_exact(value / factor)} {unit}"


@dataclass(frozen=True, slots=True)
class _Scale:
    units: _Units
    """The largest first."""
    shown: Callable[[int], str]
    """Format one value with all of its digits; without spaces and commas, options are written like that."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One axis of the grid."""

    setting: str
    """Its name among the options and the settings of a manifest: ``link_rate``."""
    field: str
    """Its field of a ``CapacityPoint``."""
    axis: str
    """Its field of ``Axes``."""
    read: Callable[[str], int]
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
        return parse_values(text, self.read, name=self.option)

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


def _time(text: str, option: str) -> int:
    # Without a unit `100` might be meant as seconds by one and as milliseconds by another.
    return 0 if text == "0" else parse_duration_ns(text, bare_unit="none", name=option)


def _link_time(option: str, most_hours: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        time_ns = _time(text, option)
        if time_ns > most_hours * HOUR_NS:
            raise InvalidValue(f"{option}: {text[:60]!r} is longer than on any link; write {most_hours}h or less")
        return time_ns

    return read


def _link_rate(text: str) -> int:
    rate = parse_rate_bits_per_s(text, name="--link-rate")
    if rate not in RATES_BITS_PER_S:
        raise InvalidValue(f"--link-rate: {text[:60]!r} is not a rate of a link; write 1kbit to 1tbit, like 100mbit")
    return rate


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text) or int(text) < 1:
        raise InvalidValue(f"--concurrency: {text[:60]!r} is not understood; write whole numbers from 1 on, like 200")
    return int(text)


def _size(text: str) -> int:
    size = parse_size_bytes(text, name="--size")
    if size > _LARGEST_BYTES:
        raise InvalidValue(f"--size: {text[:60]!r} is more than a web serves; at most {shown_size(_LARGEST_BYTES)}")
    return size


def _delay(text: str) -> int:
    delay = _time(text, "--delay")
    if delay % 10**6 or delay > HOUR_NS:
        raise InvalidValue(
            f"--delay: {text[:60]!r} is no wait of a server; write whole milliseconds, up to an hour, like 100ms"
        )
    return delay


_SIZE: Final = _Scale(_SIZES, shown_size)
_TIME: Final = _Scale(_TIMES, _shown_time)
SIZE: Final = Quantity("size", "size_bytes", "sizes_bytes", _size, _SIZE, "size")
DELAY: Final = Quantity("delay", "delay_ns", "delays_ns", _delay, _TIME, "delay", "delay {}", "delay of the server")
# A link has up to an hour each way.
ROUND_TRIP: Final = Quantity(
    "rtt", "round_trip_ns", "round_trips_ns", _link_time("--rtt", 2), _TIME, "rtt", "rtt {}", "round-trip time"
)
QUEUE: Final = Quantity("queue", "queue_ns", "queues_ns", _link_time("--queue", 1), _TIME, "queue", "queue {}")
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
    """Of the link, towards the subject; None: not limited."""
    concurrencies: tuple[int, ...] = (200,)
    queues_ns: tuple[int | None, ...] = (None,)
    """Longest wait of a packet for the rate of the link; None: the default of a link."""
    loss: float = 0.0
    """Share of packets that are lost."""
    rps: float | None = 2000.0
    """Right answers a second to hold; None: no target (closed loop only)."""
    loop: Loop = Loop.OPEN
    link: Link = field(default_factory=Link)
    """Properties of the link without an axis: its packets, and differences of its ways."""

    def __post_init__(self) -> None:
        """Refuse a grid without points, or with impossible points."""
        if not self.count:
            raise InvalidValue("capacity: an axis of the grid has no value")
        if not 0 <= self.loss < 1:
            raise InvalidValue(f"--loss: a link that loses {self.loss * 100:g} % is none; write it like 0.1%")
        limited = None not in self.rates_bits_per_s or self.link.up.rate_bits_per_s is not None
        if self.queues_ns != (None,) and not limited:
            raise InvalidValue("--queue: only a link with a rate has a queue; give a --link-rate, too")
        _ = self.point(0), self.point(self.count - 1)

    def values(self, quantity: Quantity) -> tuple[Value, ...]:
        """Return the values of one quantity."""
        values: tuple[Value, ...] = getattr(self, quantity.axis)
        return values

    @property
    def count(self) -> int:
        """Number of points."""
        return prod(len(self.values(quantity)) for quantity in QUANTITIES)

    def points(self) -> Iterator[CapacityPoint]:
        """Return the points, the sizes as the fastest axis; each is made when it is asked for."""
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
        """Return the grid over a link, whose distance and rate hold where the grid has none of its own."""
        return replace(
            self,
            link=link,
            round_trips_ns=self.round_trips_ns if any(self.round_trips_ns) else (link.round_trip_ns,),
            rates_bits_per_s=self.rates_bits_per_s if any(self.rates_bits_per_s) else (link.down.rate_bits_per_s,),
        )

    def link_at(self, point: CapacityPoint) -> Link:
        """Return the link of a point: values of axes hold both ways, all else is that of ``link``."""
        up, down, half_ns = self.link.up, self.link.down, point.round_trip_ns // 2
        if point.round_trip_ns != self.link.round_trip_ns:
            up, down = replace(up, delay_ns=half_ns), replace(down, delay_ns=point.round_trip_ns - half_ns)
        if point.rate_bits_per_s != down.rate_bits_per_s:
            up, down = (_at_rate(path, point.rate_bits_per_s) for path in (up, down))
        if point.queue_ns is not None:
            # If only one way has a rate, the queue is before that one.
            up, down = (replace(path, queue_ns=path.rate_bits_per_s and point.queue_ns) for path in (up, down))
        if self.loss:
            up, down = replace(up, loss=self.loss), replace(down, loss=self.loss)
        return Link(up, down, self.link.mtu_bytes)

    def settings(self) -> Mapping[str, str | float | None]:
        """Write the axes as the options are written; ``restored`` reads them."""
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
            # Older runs have none.
            link=Link.parse(str(settings.get("link", "direct"))),
        )


def _at_rate(path: LinkPath, rate_bits_per_s: int | None) -> LinkPath:
    queue_ns = None if rate_bits_per_s is None else path.queue_ns or DEFAULT_QUEUE_NS
    return replace(path, rate_bits_per_s=rate_bits_per_s, queue_ns=queue_ns)


def name_of(point: CapacityPoint) -> str:
    """Name a point: the same for equal points in every run, another for every other point of a grid.

    Such as ``100 KiB, delay 20 ms, rtt 40 ms, 1 Gbit/s, 200 in flight``, without what the link or the server does not
    add.
    """
    added = [quantity for quantity in (DELAY, ROUND_TRIP, LINK_RATE) if quantity.at(point)]
    added += [] if point.queue_ns is None else [QUEUE]
    parts = [quantity.name(quantity.at(point)) for quantity in (SIZE, *added)]
    return ", ".join([*parts, f"{point.concurrency} in flight"])
