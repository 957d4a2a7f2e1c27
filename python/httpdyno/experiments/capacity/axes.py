"""The axes of the capacity question: the quantities that vary, and the values that are asked for."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

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

__all__ = [
    "CONCURRENCY",
    "DELAY",
    "LINK_RATE",
    "QUANTITIES",
    "QUEUE",
    "ROUND_TRIP",
    "SIZE",
    "Axes",
    "Quantity",
    "name_of",
    "shown_size",
    "shown_time",
]

_COUNT: Final = re.compile(r"[0-9]{1,7}")
_LARGEST_BYTES: Final = 1024**3
_SIZES: Final = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))
_TIMES: Final = (("s", 10**9), ("ms", 10**6), ("us", 10**3))


@dataclass(frozen=True, slots=True)
class Quantity:
    """One axis of the grid."""

    setting: str
    """Its name among the settings of a manifest: ``link_rate``."""
    read: Callable[[str], int]
    written: Callable[[int], str]
    """Without spaces, as ``read`` reads it."""

    @property
    def option(self) -> str:
        """Its option: ``--link-rate``."""
        return f"--{self.setting.replace('_', '-')}"

    def values(self, text: str) -> tuple[int, ...]:
        """Read a list of them."""
        return parse_values(text, self.read, name=self.option)

    def text(self, values: tuple[int, ...]) -> str:
        """Write a list so that ``values`` reads it."""
        return ",".join(self.written(value) for value in values)


def shown_size(size_bytes: int) -> str:
    """Write a size with all of its digits: ``0 B``, ``100 KiB``, ``1000 B``."""
    unit, factor = next(
        ((unit, factor) for unit, factor in _SIZES if size_bytes and size_bytes % factor == 0), ("B", 1)
    )
    return f"{size_bytes // factor} {unit}"


def shown_time(time_ns: int) -> str:
    """Write a time with all of its digits: ``0 ms``, ``40 ms``, ``2 s``, ``1.5 ms``."""
    unit, factor = next(((unit, factor) for unit, factor in _TIMES if time_ns and time_ns % factor == 0), ("ms", 10**6))
    return f"{format_exact(time_ns / factor)} {unit}"


def _time(text: str, option: str) -> int:
    # Without a unit `100` might be meant as seconds by one and as milliseconds by another.
    return 0 if text == "0" else parse_duration_ns(text, bare_unit="none", name=option)


def _link_time(option: str, *, most_hours: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        time_ns = _time(text, option)
        if time_ns > most_hours * HOUR_NS:
            raise InvalidValue(f"{option}: {text[:60]!r} is longer than on any link; write {most_hours}h or less")
        return time_ns

    return read


def _link_rate(text: str) -> int:
    rate = parse_rate_bits_per_s(text, name="--link-rate")
    if rate not in RATES_BITS_PER_S:
        raise InvalidValue(f"--link-rate: {text[:60]!r} is no rate of a link; write 1kbit to 1tbit, like 100mbit")
    return rate


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text) or int(text) < 1:
        raise InvalidValue(f"--concurrency: {text[:60]!r} is not understood; write whole numbers from 1 on, like 200")
    return int(text)


def _compact(shown: Callable[[int], str]) -> Callable[[int], str]:
    return lambda value: shown(value).replace(" ", "")


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


SIZE: Final = Quantity("size", _size, _compact(shown_size))
DELAY: Final = Quantity("delay", _delay, _compact(shown_time))
# A link has up to an hour each way.
ROUND_TRIP: Final = Quantity("rtt", _link_time("--rtt", most_hours=2), _compact(shown_time))
LINK_RATE: Final = Quantity("link_rate", _link_rate, _compact(format_rate))
QUEUE: Final = Quantity("queue", _link_time("--queue", most_hours=1), _compact(shown_time))
CONCURRENCY: Final = Quantity("concurrency", _count, str)
QUANTITIES: Final = (SIZE, DELAY, ROUND_TRIP, LINK_RATE, QUEUE, CONCURRENCY)
"""All that there are: what the guide lists is held against them."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What is varied, and what all points share."""

    sizes_bytes: tuple[int, ...] = (0,)
    delays_ns: tuple[int, ...] = (0,)
    round_trips_ns: tuple[int, ...] = (0,)
    rates_bits_per_s: tuple[int | None, ...] = (None,)
    """Of the link, towards the subject; None: not limited."""
    concurrencies: tuple[int, ...] = (200,)
    queues_ns: tuple[int | None, ...] = (None,)
    """How long a packet may wait for the rate of the link; None: as is usual for a link."""
    loss: float = 0.0
    """Share of packets that are lost."""
    rps: float | None = 2000.0
    """Right answers a second that are to be held; None: as many as come (closed loop only)."""
    loop: Loop = Loop.OPEN
    link: Link = field(default_factory=Link)
    """What no axis says of the link: its packets, and where its ways differ."""

    def __post_init__(self) -> None:
        """Refuse a grid without points, or of points that cannot be."""
        if not self.count:
            raise InvalidValue("capacity: an axis of the grid has no value")
        if not 0 <= self.loss < 1:
            raise InvalidValue(f"--loss: a link that loses {self.loss * 100:g} % is none; write it like 0.1%")
        limited = None not in self.rates_bits_per_s or self.link.up.rate_bits_per_s is not None
        if self.queues_ns != (None,) and not limited:
            raise InvalidValue("--queue: only a link with a rate has a queue; give a --link-rate, too")
        _ = self.point(0), self.point(self.count - 1)

    @property
    def count(self) -> int:
        """How many points there are, counted without making them."""
        within = len(self.sizes_bytes) * len(self.delays_ns) * len(self.concurrencies)
        return within * len(self.round_trips_ns) * len(self.rates_bits_per_s) * len(self.queues_ns)

    def points(self) -> Iterator[CapacityPoint]:
        """Return the points, the sizes as the fastest axis, each as it is asked for."""
        return map(self.point, range(self.count))

    def point(self, number: int) -> CapacityPoint:
        """Return one of the points, counted from 0: of a million of them, those that are asked for are made."""
        left, size = divmod(number, len(self.sizes_bytes))
        left, delay = divmod(left, len(self.delays_ns))
        left, round_trip = divmod(left, len(self.round_trips_ns))
        left, queue = divmod(left, len(self.queues_ns))
        concurrency, rate = divmod(left, len(self.rates_bits_per_s))
        return CapacityPoint(
            size_bytes=self.sizes_bytes[size],
            delay_ns=self.delays_ns[delay],
            round_trip_ns=self.round_trips_ns[round_trip],
            rate_bits_per_s=self.rates_bits_per_s[rate],
            queue_ns=self.queues_ns[queue],
            concurrency=self.concurrencies[concurrency],
            loop=self.loop,
            target_per_s=self.rps,
        )

    def over(self, link: Link) -> Self:
        """Return the grid over a link, whose distance and rate hold where the grid has none of its own."""
        return replace(
            self,
            link=link,
            round_trips_ns=self.round_trips_ns if any(self.round_trips_ns) else (link.round_trip_ns,),
            rates_bits_per_s=self.rates_bits_per_s if any(self.rates_bits_per_s) else (link.down.rate_bits_per_s,),
        )

    def link_at(self, point: CapacityPoint) -> Link:
        """Return the link of a point: what an axis says holds both ways, and all else is that of ``link``."""
        up, down, half_ns = self.link.up, self.link.down, point.round_trip_ns // 2
        if point.round_trip_ns != self.link.round_trip_ns:
            up, down = replace(up, delay_ns=half_ns), replace(down, delay_ns=point.round_trip_ns - half_ns)
        if point.rate_bits_per_s != down.rate_bits_per_s:
            up, down = (_at_rate(path, point.rate_bits_per_s) for path in (up, down))
        if point.queue_ns is not None:
            # Where one way only has a rate, the queue is before that one.
            up, down = (replace(path, queue_ns=path.rate_bits_per_s and point.queue_ns) for path in (up, down))
        if self.loss:
            up, down = replace(up, loss=self.loss), replace(down, loss=self.loss)
        return Link(up, down, self.link.mtu_bytes)

    def settings(self) -> Mapping[str, str | float | None]:
        """Write the axes as the options are written; ``restored`` reads them."""
        return {
            "size": SIZE.text(self.sizes_bytes),
            "delay": DELAY.text(self.delays_ns),
            "rtt": ROUND_TRIP.text(self.round_trips_ns),
            "link_rate": _text(LINK_RATE, self.rates_bits_per_s),
            "concurrency": CONCURRENCY.text(self.concurrencies),
            "queue": _text(QUEUE, self.queues_ns),
            "loss": self.loss,
            "rps": self.rps,
            "loop": self.loop.value,
            "link": str(self.link),
        }

    @classmethod
    def restored(cls, settings: Mapping[str, object]) -> Self:
        """Make the axes again from what ``settings`` has written.

        What cannot be read raises ``InvalidValue``, ``KeyError``, ``TypeError`` or ``ValueError``.
        """
        rps = settings["rps"]
        return cls(
            sizes_bytes=SIZE.values(str(settings["size"])),
            delays_ns=DELAY.values(str(settings["delay"])),
            round_trips_ns=ROUND_TRIP.values(str(settings["rtt"])),
            rates_bits_per_s=_values(LINK_RATE, settings["link_rate"]),
            concurrencies=CONCURRENCY.values(str(settings["concurrency"])),
            queues_ns=_values(QUEUE, settings["queue"]),
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

    Such as ``100 KiB, delay 20 ms, rtt 40 ms, 1 Gbit/s, 200 in flight``; what the link or the server does not add is
    left out.
    """
    parts = [shown_size(point.size_bytes)]
    parts += [f"delay {shown_time(point.delay_ns)}"] if point.delay_ns else []
    parts += [f"rtt {shown_time(point.round_trip_ns)}"] if point.round_trip_ns else []
    parts += [] if point.rate_bits_per_s is None else [format_rate(point.rate_bits_per_s)]
    parts += [] if point.queue_ns is None else [f"queue {shown_time(point.queue_ns)}"]
    return ", ".join([*parts, f"{point.concurrency} in flight"])


def _text(quantity: Quantity, values: tuple[int | None, ...]) -> str | None:
    known = tuple(value for value in values if value is not None)
    return quantity.text(known) if known else None


def _values(quantity: Quantity, text: object) -> tuple[int | None, ...]:
    return (None,) if text is None else quantity.values(str(text))
