"""The words of a link's grammar: its keys with their values, read exactly or refused, and written back."""

import re
from typing import Final

__all__ = [
    "BILLION",
    "HOUR_NS",
    "MTUS",
    "RATES_BITS_PER_S",
    "LinkTextError",
    "key_value",
    "one_or_each",
    "quoted",
    "written_loss",
    "written_rate",
    "written_time",
]

BILLION: Final = 10**9
HOUR_NS: Final = 3600 * BILLION
MTUS: Final = range(1280, 65536)
"""Below the least that every IPv6 link must carry (RFC 8200, section 5), Linux takes IPv6 off a device."""
RATES_BITS_PER_S: Final = range(1000, 10**12 + 1)
_TIMES: Final = {"s": BILLION, "ms": 10**6, "us": 1000, "ns": 1}
_RATES: Final = {"tbit": 10**12, "gbit": BILLION, "mbit": 10**6, "kbit": 1000, "bit": 1}
_PERCENT: Final = BILLION // 100
_NUMBER: Final = re.compile(r"(?P<whole>[0-9]{1,15})(?:\.(?P<fraction>[0-9]{1,15}))?(?P<unit>[A-Za-z]+|%)")
_ENDS: Final = ("up", "down")
_KEYS: Final = frozenset({"delay", "rate", "queue", "loss"})


class LinkTextError(Exception):
    """What is wrong with a text, without the text itself."""


def key_value(part: str) -> tuple[str, int]:
    """Read one ``KEY=VALUE``: a time in nanoseconds, a rate in bits a second, a loss in billionths, or bytes."""
    key, equals, value = part.partition("=")
    if not equals:
        raise LinkTextError(f"{quoted(part)} must be KEY=VALUE: a preset stands first")
    end, _, name = key.rpartition(".")
    if end in _ENDS and name in ("rtt", "mtu"):
        instead = "write up.delay or down.delay" if name == "rtt" else "write mtu"
        raise LinkTextError(f"{key} is of both directions; {instead}")
    if key == "mtu":
        return key, _mtu(value)
    if key not in ("rtt", *_KEYS) and not (end in _ENDS and name in _KEYS):
        raise LinkTextError(
            f"unknown key {quoted(key)}; there are rtt, delay, rate, queue, loss, mtu, and up. or down. before all "
            "but rtt and mtu"
        )
    read = {"rate": _rate, "loss": _loss}.get(name, _time)
    return key, read(key, value)


def one_or_each(key: str, up: str | None, down: str | None) -> list[str]:
    """Write one key for both directions where they agree."""
    if up is not None and up == down:
        return [f"{key}={up}"]
    return [f"{end}.{key}={value}" for end, value in zip(_ENDS, (up, down), strict=True) if value is not None]


def written_time(nanoseconds: int | None) -> str | None:
    """Write a time in the largest unit that needs no fraction; None stays None."""
    return None if nanoseconds is None else _written(nanoseconds, _TIMES)


def written_rate(bits_per_s: int | None) -> str | None:
    """Write a rate in the largest unit that needs no fraction; None stays None."""
    return None if bits_per_s is None else _written(bits_per_s, _RATES)


def written_loss(billionths: int) -> str | None:
    """Write a share in percent; None for none."""
    whole, fraction = divmod(billionths, _PERCENT)
    return f"{whole}.{fraction:07}".rstrip("0").rstrip(".") + "%" if billionths else None


def quoted(text: str) -> str:
    """Quote a part of the input on one line, however it was typed, and not longer than a line bears."""
    return repr(text[:80]) + ("..." if len(text) > 80 else "")


def _time(key: str, text: str) -> int:
    value = 0 if text == "0" else _scaled(text, _TIMES)
    if value is None or value > HOUR_NS:
        raise LinkTextError(f"{key}: {quoted(text)} is no time; write 40ms, 250us or 1.5s, up to an hour")
    return value


def _rate(key: str, text: str) -> int:
    value = _scaled(text.lower() if text.isascii() else text, _RATES)
    if value is None or value not in RATES_BITS_PER_S:
        raise LinkTextError(
            f"{key}: {quoted(text)} is no rate; write 1gbit, 20mbit or 1.5mbit, from 1kbit to 1tbit a second"
        )
    return value


def _loss(key: str, text: str) -> int:
    value = 0 if text == "0" else _scaled(text, {"%": _PERCENT})
    if value is None or value >= BILLION:
        raise LinkTextError(f"{key}: {quoted(text)} is no loss; write 0.1%, below 100 %")
    return value


def _mtu(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) not in MTUS:
        raise LinkTextError(
            f"mtu: {quoted(text)} is no packet length; write 1280 (the least that IPv6 works with) to 65535 bytes"
        )
    return int(text)


def _scaled(text: str, units: dict[str, int]) -> int | None:
    """Return a decimal number times its unit; None when that is no whole number."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"] not in units:
        return None
    fraction = match["fraction"] or ""
    value, rest = divmod(int(match["whole"] + fraction) * units[match["unit"]], 10 ** len(fraction))
    return None if rest else value


def _written(value: int, units: dict[str, int]) -> str:
    return next((f"{value // factor}{unit}" for unit, factor in units.items() if value and value % factor == 0), "0")
