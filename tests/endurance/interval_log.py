"""Reads HdrHistogram's interval logs, version 2: what `httpdyno load --hdr-log` writes."""

import base64
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPRESSED = 0x1C849304
PLAIN = 0x1C849303
COOKIE_BITS = 0xFFFFFF0F
HEADER = struct.Struct(">IiiiQQd")


@dataclass(frozen=True, slots=True)
class Interval:
    """Counts of values in nanoseconds, from a moment on."""

    start_s: float
    counts: dict[int, int]


def intervals(log: Path) -> Iterator[Interval]:
    """Read the intervals without a tag."""
    for line in log.read_text(encoding="utf-8").splitlines():
        if line.startswith(("#", '"', "Tag=")):
            continue
        start, _, _, histogram = line.split(",")
        yield Interval(float(start), _counts(base64.b64decode(histogram)))


def _counts(coded: bytes) -> dict[int, int]:
    cookie, length = struct.unpack_from(">Ii", coded)
    plain = zlib.decompress(coded[8 : 8 + length])
    header = HEADER.unpack_from(plain)
    if (cookie & COOKIE_BITS, header[0] & COOKIE_BITS) != (COMPRESSED & COOKIE_BITS, PLAIN & COOKIE_BITS):
        raise ValueError("no histogram of version 2")
    length, digits, lowest = header[1], header[3], header[4]
    unit = max(0, lowest.bit_length() - 1)
    half_bits = (2 * 10**digits - 1).bit_length() - 1
    found, index, place = {}, 0, HEADER.size
    while place < HEADER.size + length:
        number, place = _number(plain, place)
        if number < 0:
            index -= number
        else:
            if number:
                found[_value(index, half_bits, unit)] = number
            index += 1
    return found


def _number(coded: bytes, place: int) -> tuple[int, int]:
    """Read a zigzag number of one to nine bytes; return it with the next position."""
    number, shift = 0, 0
    for size in range(1, 10):
        byte = coded[place]
        place += 1
        if size == 9:
            number |= byte << shift
            break
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return (number >> 1) ^ -(number & 1), place


def _value(index: int, half_bits: int, unit: int) -> int:
    """Return the lowest value that is counted at an index."""
    bucket, within = (index >> half_bits) - 1, (index & ((1 << half_bits) - 1)) + (1 << half_bits)
    if bucket < 0:
        bucket, within = 0, within - (1 << half_bits)
    return within << (bucket + unit)
