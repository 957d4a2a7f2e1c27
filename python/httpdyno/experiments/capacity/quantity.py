"""The quantities that span the capacity question: how each is read, and written so that it reads back."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.value_list import parse_values
from httpdyno.model import format_exact, format_rate, parse_duration_ns, parse_rate_bits_per_s, parse_size_bytes
from httpdyno.model.link import HOUR_NS, RATES_BITS_PER_S

__all__ = [
    "CONCURRENCY",
    "DELAY",
    "LINK_RATE",
    "QUANTITIES",
    "QUEUE",
    "ROUND_TRIP",
    "SIZE",
    "Quantity",
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
