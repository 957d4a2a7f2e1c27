"""Brotli with stored metablocks and with runs of one literal, which scripts send (RFC 7932); others are refused."""

from collections.abc import Callable

from .errors import MalformedCoding
from .mutation import wrong

_PIECE = 64 * 1024
_INSERT_ONE_COPY_MANY = 399
"""Command that inserts one literal and copies 2118 bytes and more, in 24 further bits."""


class _NeedsMoreError(Exception):
    pass


class BrotliDecoder:
    """Decoder of one stream."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0
        """Bits that were read."""
        self._read = self._read_window
        self._has_ended = False

    def feed(self, data: bytes, sink: Callable[[bytes], None]) -> None:
        """Decode a piece."""
        if self._has_ended:
            self._follow(data, sink)
            return
        self._data += data
        while not self._has_ended:
            before = self._at
            try:
                self._read(sink)
            except _NeedsMoreError:
                self._at = before
                break
            del self._data[: self._at // 8]
            self._at %= 8
        if self._has_ended and (rest := self._data[bool(self._at) :]):
            self._follow(bytes(rest), sink)

    def finish(self) -> None:
        """End the content."""
        if not self._has_ended and not wrong("accepts-cut-codings"):
            raise MalformedCoding("cut")

    def _follow(self, data: bytes, sink: Callable[[bytes], None]) -> None:
        """Handle bytes after the end of the stream."""
        if not wrong("appends-what-follows"):
            raise MalformedCoding("bytes after the end")
        sink(data)

    def _bits(self, width: int) -> int:
        if self._at + width > 8 * len(self._data):
            raise _NeedsMoreError
        first, last = self._at // 8, (self._at + width + 7) // 8
        number = int.from_bytes(self._data[first:last], "little") >> self._at % 8
        self._at += width
        return number & ((1 << width) - 1)

    def _align(self) -> None:
        if self._bits(-self._at % 8):
            raise MalformedCoding("padding that is not zero")

    def _read_window(self, sink: Callable[[bytes], None]) -> None:
        del sink
        # Two groups of three bits: 0 and 1 are reserved.
        if self._bits(1) and not self._bits(3) and self._bits(3) == 1 and not wrong("skips-reserved-bits"):
            raise MalformedCoding("the reserved size of window")
        self._read = self._read_metablock

    def _read_metablock(self, sink: Callable[[bytes], None]) -> None:
        is_last = self._bits(1)
        if is_last and self._bits(1):
            self._align()
            if wrong("refuses-empty-streams"):
                raise MalformedCoding("no content")
            self._has_ended = True
            return
        nibbles = self._bits(2) + 4
        if nibbles == 7:
            raise MalformedCoding("metadata")
        length = self._bits(4 * nibbles) + 1
        if not is_last and self._bits(1):
            self._align()
            first = self._at // 8
            if len(self._data) < first + length:
                raise _NeedsMoreError
            self._at += 8 * length
            sink(bytes(self._data[first : first + length]))
            return
        self._read_run(length, sink)

    def _read_run(self, length: int, sink: Callable[[bytes], None]) -> None:
        """Read a metablock of one literal and one copy of it: each prefix code has one symbol, which takes no bits."""
        if self._bits(3 + 6 + 2 + 2):
            raise MalformedCoding("a metablock with several types of block")
        literal, command, distance = (self._one_symbol(width) for width in (8, 10, 6))
        if (command, distance) != (_INSERT_ONE_COPY_MANY, 16):
            raise MalformedCoding("another command")
        if 1 + 2118 + self._bits(24) != length or self._bits(1):
            raise MalformedCoding("a copy of another length or distance")
        for at in range(0, length, _PIECE):
            sink(bytes([literal]) * min(_PIECE, length - at))

    def _one_symbol(self, width: int) -> int:
        if (self._bits(2), self._bits(2)) != (1, 0):
            raise MalformedCoding("a prefix code of several symbols")
        return self._bits(width)
