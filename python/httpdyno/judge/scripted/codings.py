"""Content codings of a script: gzip and deflate by zlib, br and zstd in the simplest form of their formats."""

import zlib
from collections.abc import Sequence
from typing import Final

_BITS: Final = {"gzip": 31, "deflate": 15, "raw_deflate": -15}
_BLOCK: Final = 128 * 1024 - 1
_STORED: Final = 1 << 16
_METABLOCK: Final = 1 << 24


def code(content: bytes, codings: Sequence[str]) -> bytes:
    """Apply codings in their order.

    ``deflate`` has the zlib wrapper, as RFC 9110, section 8.4.1.2 defines it; ``raw_deflate`` has none. ``br`` and
    ``zstd`` are stored, except for runs of zeros.
    """
    for coding in codings:
        if coding in _BITS:
            packer = zlib.compressobj(9, zlib.DEFLATED, _BITS[coding])
            content = packer.compress(content) + packer.flush()
        else:
            content = _zstd(content) if coding == "zstd" else _brotli(content)
    return content


def _zstd(content: bytes) -> bytes:
    """Return one frame of raw blocks and of blocks that repeat one byte (RFC 8878, section 3.1.1)."""
    # No checksum, no dictionary; a window of 128 KiB: exponent 7 over 1 KiB.
    frame = bytearray(b"\x28\xb5\x2f\xfd\x00\x38")
    for at in range(0, max(len(content), 1), _BLOCK):
        piece = content[at : at + _BLOCK]
        is_last, is_run = at + _BLOCK >= len(content), len(piece) > 1 and not piece.strip(piece[:1])
        head = is_last | is_run << 1 | len(piece) << 3
        frame += head.to_bytes(3, "little") + (piece[:1] if is_run else piece)
    return bytes(frame)


def _brotli(content: bytes) -> bytes:
    """Return one stream of stored metablocks; zeros alone are metablocks that copy one zero (RFC 7932, section 9)."""
    bits = _Bits()
    bits.add(0b0, 1)  # a window of 64 KiB
    if len(content) > _STORED and not content.strip(b"\0"):
        for at in range(0, len(content), _METABLOCK):
            _add_zeros(bits, min(_METABLOCK, len(content) - at))
        content = b""
    for at in range(0, len(content), _STORED):
        piece = content[at : at + _STORED]
        bits.add(0, 1)  # not the last
        bits.add(0, 2)  # length in four nibbles
        bits.add(len(piece) - 1, 16)
        bits.add(1, 1)  # stored
        bits.align()
        bits.bytes += piece
    bits.add(0b11, 2)  # the last, empty
    bits.align()
    return bytes(bits.bytes)


def _add_zeros(bits: "_Bits", count: int) -> None:
    """Add a metablock of zeros, at most 16 MiB: one literal, and one copy over distance 1.

    Every prefix code has one symbol, which takes no bits.
    """
    if count < 2 + 2118:
        _add_zeros_stored(bits, count)
        return
    nibbles = 4 if count <= 1 << 16 else 5 if count <= 1 << 20 else 6
    bits.add(0, 1)  # not the last
    bits.add(nibbles - 4, 2)
    bits.add(count - 1, 4 * nibbles)
    bits.add(0, 1)  # compressed
    bits.add(0, 3)  # one type of block for literals, commands and distances
    bits.add(0, 6)  # neither postfix bits nor direct distances
    bits.add(0, 2)  # context mode
    bits.add(0, 2)  # one prefix code for literals, one for distances
    for symbol, width in ((0, 8), (399, 10), (16, 6)):
        bits.add(1, 2)  # simple
        bits.add(0, 2)  # one symbol
        bits.add(symbol, width)
    # Command 399 inserts one literal and copies 2118 bytes and more, in 24 bits; distance code 16 has one bit.
    bits.add(count - 1 - 2118, 24)
    bits.add(0, 1)


def _add_zeros_stored(bits: "_Bits", count: int) -> None:
    bits.add(0, 3)
    bits.add(count - 1, 16)
    bits.add(1, 1)
    bits.align()
    bits.bytes += bytes(count)


class _Bits:
    """Bits, the lowest of each byte first."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._number = self._width = 0

    def add(self, number: int, width: int) -> None:
        """Append the bits of a number, the lowest first."""
        self._number |= number << self._width
        self._width += width
        while self._width >= 8:
            self.bytes.append(self._number & 0xFF)
            self._number >>= 8
            self._width -= 8

    def align(self) -> None:
        """Fill the last byte with zeros."""
        if self._width:
            self.add(0, 8 - self._width)
