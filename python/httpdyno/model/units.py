"""Quantities with units and sets of CPUs, as they are typed and printed."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from httpdyno.errors import InvalidValue

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_BYTES: Final = {
    "B": 1,
    "kB": 1000,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
}
_BITS_PER_S: Final = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
_BINARY_SIZES: Final = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))
_TIME_UNITS: Final = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
_QUANTITY: Final = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?P<unit>[A-Za-zµ]*)")
_SECONDS_UP_TO: Final = 90
_MINUTES_UP_TO: Final = 90 * 60
_LARGEST: Final = 2**63 - 1


def parse_duration_ns(text: str, *, bare_unit: str = "s", name: str = "duration") -> int:
    """Read a duration in nanoseconds, 0 or more, such as ``40ms``, ``600s``, ``1.5h`` or ``5``.

    Units are ns, us, ms, s, m (or min), h and d; ``bare_unit`` where the text has none. A fraction of one nanosecond is
    cut off.
    """
    return _parse(text, units=_NANOSECONDS, bare_unit=bare_unit, name=name, examples="40ms, 5s or 10m")


def parse_size_bytes(text: str, *, name: str = "size") -> int:
    """Read a size in bytes, such as ``2GiB``, ``512MB`` or ``4096``.

    KiB, MiB, GiB are powers of two; kB, MB, GB are powers of ten.
    """
    return _parse(text, units=_BYTES, bare_unit="B", name=name, examples="2GiB, 512MiB or 4096")


def parse_rate_bits_per_s(text: str, *, name: str = "rate") -> int:
    """Read the rate of a link in bits a second, such as ``1gbit``, ``100Mbit/s`` or ``2.5gbit``: powers of ten."""
    # Capitals have no meaning of their own in rates.
    plain = text.strip().lower().removesuffix("/s")
    value = _parse(plain, units=_BITS_PER_S, bare_unit="-", name=name, examples="1gbit, 100mbit or 2.5gbit")
    if value <= 0:
        raise InvalidValue(f"{text[:60]!r} is not above 0; write it like 1gbit, 100mbit or 2.5gbit", option=name)
    return value


def format_rate(bits_per_s: int) -> str:
    """Write the rate of a link with all digits: ``1 Gbit/s``, ``2.5 Gbit/s``, ``640 kbit/s``."""
    if bits_per_s <= 0:
        raise InvalidValue(f"a rate must be more than 0: {bits_per_s} bit/s")
    for unit, factor in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bits_per_s >= factor:
            return f"{_plain(Decimal(bits_per_s) / factor)} {unit}"
    return f"{bits_per_s} bit/s"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun: ``1 trial``, ``1,200 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_exact(number: float) -> str:
    """Write a number with all digits and without an exponent: ``5``, ``0.0000025``."""
    if not math.isfinite(number):
        raise InvalidValue(f"{number} cannot be written as a number")
    return _plain(Decimal(repr(number)))


def format_size(size_bytes: int | float) -> str:
    """Write a size in powers of two: ``512 B``, ``4.0 KiB``, ``1.3 GiB``."""
    if size_bytes < 0:
        raise InvalidValue(f"a size cannot be negative: {size_bytes}")
    for unit, factor in _BINARY_SIZES:
        # 1023.95 KiB would round to "1024.0 KiB": the next unit is used from there on.
        if size_bytes >= factor - factor / 20480:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes:.0f} B"


def format_span(seconds: float) -> str:
    """Write an estimated duration, rounded: ``40 s``, ``7 min``, ``2.5 h``."""
    if not 0 <= seconds < math.inf:
        raise InvalidValue(f"{seconds} s is not a duration")
    if seconds < _SECONDS_UP_TO:
        return f"{max(1, round(seconds))} s" if seconds < 10 else f"{5 * round(seconds / 5)} s"
    if seconds < _MINUTES_UP_TO:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def format_time(nanoseconds: float) -> str:
    """Write a measured time with three significant digits: ``250 ns``, ``1.02 ms``, ``12 s``."""
    if not math.isfinite(nanoseconds):
        raise InvalidValue(f"{nanoseconds} ns is not a time")
    # 999.6 us would round to "1000 us": the next unit is used from there on.
    fitting = (one for one in _TIME_UNITS if abs(nanoseconds) >= one[1] * 0.9995)
    unit, factor = next(fitting, _TIME_UNITS[-1])
    value = nanoseconds / factor
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:.{min(digits, 2)}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _parse(text: str, *, units: dict[str, int], bare_unit: str, name: str, examples: str) -> int:
    match = _QUANTITY.fullmatch(text.strip())
    factor = units.get(match["unit"] or bare_unit) if match else None
    if match is None or factor is None:
        wrong = "is negative" if re.match(r"-[0-9]", text.strip()) else "is not understood"
        raise InvalidValue(f"{text[:60]!r} {wrong}; write it like {examples}", option=name)
    value = int(Decimal(match["number"]) * factor)
    if value > _LARGEST:
        raise InvalidValue(f"{text[:60]!r} is too large; write it like {examples}", option=name)
    return value


_RUN: Final = re.compile(r"(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?")


def parse_cpus(text: str, *, name: str = "CPUs") -> frozenset[int]:
    """Read the numbers of CPUs from numbers and ranges, as in ``0,2-3``; ``name`` is what a message calls them."""
    numbers: set[int] = set()
    for part in text.split(","):
        run = _RUN.fullmatch(part.strip())
        first, last = (int(run["first"]), int(run["last"] or run["first"])) if run else (1, 0)
        if last < first:
            raise InvalidValue(
                f"{text[:60]!r} is not understood; write numbers and ranges, like 0 or 1,3-5", option=name
            )
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def format_cpus(numbers: Iterable[int]) -> str:
    """Write a set of CPUs in numbers and ranges, as ``parse_cpus`` reads it."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
