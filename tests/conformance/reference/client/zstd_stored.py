"""Zstandard with raw and repeated blocks, which scripts send (RFC 8878); compressed blocks are refused."""

from collections.abc import Callable

from .errors import MalformedCoding, TooLarge
from .mutation import wrong

WINDOW_BYTES = 8 * 2**20
"""Largest window (RFC 9659)."""
RESERVED_BYTES = 1100 * 2**20
RESERVED: list[bytes] = []
_MAGIC, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
_PIECE = 64 * 1024
_64 = 2**64 - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


class ZstdDecoder:
    """Decoder of any number of frames."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._steps: list[Callable[[Callable[[bytes], None]], bool]] = [self._read_frame_head]
        self._has_checksum = False
        self._hash = XxHash64()
        self._frames = 0

    def feed(self, data: bytes, sink: Callable[[bytes], None]) -> None:
        """Decode a piece."""
        self._data += data
        while self._data and self._steps[-1](sink):
            pass

    def finish(self) -> None:
        """End the content."""
        is_between = self._steps[-1] == self._read_frame_head and not self._data
        if not is_between and not wrong("accepts-cut-codings"):
            raise MalformedCoding("cut")

    def _read_frame_head(self, sink: Callable[[bytes], None]) -> bool:
        del sink
        data = self._data
        if len(data) < 4:
            return False
        magic = int.from_bytes(data[:4], "little")
        if magic in _SKIPPABLE and not wrong("knows-no-skippable-frames"):
            return self._skip_frame()
        if magic != _MAGIC:
            raise MalformedCoding("no frame of zstd")
        if self._frames and wrong("first-member-only"):
            data.clear()
            return False
        if len(data) < 5:
            return False
        flags = data[4]
        is_single = bool(flags & 0x20)
        dictionary = (0, 1, 2, 4)[flags & 3]
        size = (1 if is_single else 0, 2, 4, 8)[flags >> 6]
        length = 5 + (not is_single) + dictionary + size
        if len(data) < length:
            return False
        if flags & 8 and not wrong("skips-reserved-bits"):
            raise MalformedCoding("a reserved bit")
        if any(data[5 + (not is_single) : 5 + (not is_single) + dictionary]):
            raise MalformedCoding("a dictionary")
        if not is_single:
            _check_window(data[5])
        self._has_checksum, self._hash = bool(flags & 4), XxHash64()
        del data[:length]
        self._steps[-1] = self._read_block
        return True

    def _skip_frame(self) -> bool:
        if len(self._data) < 8:
            return False
        length = 8 + int.from_bytes(self._data[4:8], "little")
        if len(self._data) < length:
            return False
        del self._data[:length]
        return True

    def _read_block(self, sink: Callable[[bytes], None]) -> bool:
        data = self._data
        if len(data) < 3:
            return False
        head = int.from_bytes(data[:3], "little")
        is_last, kind, size = head & 1, head >> 1 & 3, head >> 3
        if size > 128 * 1024:
            raise MalformedCoding("a block beyond 128 KiB")
        if kind > 1:
            raise MalformedCoding("a compressed block")
        stored = 1 if kind == 1 else size
        if len(data) < 3 + stored:
            return False
        block = bytes(data[3 : 3 + stored]) * (size if kind == 1 else 1)
        del data[: 3 + stored]
        if self._has_checksum:
            self._hash.update(block)
        for at in range(0, len(block), _PIECE):
            sink(block[at : at + _PIECE])
        if is_last:
            self._frames += 1
            self._steps[-1] = self._read_checksum if self._has_checksum else self._read_frame_head
        return True

    def _read_checksum(self, sink: Callable[[bytes], None]) -> bool:
        del sink
        if len(self._data) < 4:
            return False
        stated = int.from_bytes(self._data[:4], "little")
        del self._data[:4]
        if stated != self._hash.digest() & 0xFFFFFFFF and not wrong("ignores-checksums"):
            raise MalformedCoding("a wrong checksum")
        self._steps[-1] = self._read_frame_head
        return True


def _check_window(byte: int) -> None:
    base = 1 << (10 + (byte >> 3))
    window = base + base // 8 * (byte & 7)
    if wrong("reserves-announced-size"):
        RESERVED.append(b"\1" * min(window, RESERVED_BYTES))
    elif window > WINDOW_BYTES:
        raise TooLarge(f"a window of {window} bytes")


class XxHash64:
    """XXH64 with seed 0, the checksum of zstd."""

    def __init__(self) -> None:
        self._data = bytearray()

    def update(self, data: bytes) -> None:
        """Add bytes."""
        self._data += data

    def digest(self) -> int:
        """Return the hash."""
        p1, p2, p3, p4, p5 = _PRIMES
        data, at = self._data, 0
        if len(data) >= 32:
            lanes = [(p1 + p2) & _64, p2, 0, -p1 & _64]
            while at + 32 <= len(data):
                for lane in range(4):
                    lanes[lane] = _round(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
                    at += 8
            total = sum(_rotate(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _64
            for lane in lanes:
                total = ((total ^ _round(0, lane)) * p1 + p4) & _64
        else:
            total = p5
        total = (total + len(data)) & _64
        while at + 8 <= len(data):
            total = (_rotate(total ^ _round(0, int.from_bytes(data[at : at + 8], "little")), 27) * p1 + p4) & _64
            at += 8
        if at + 4 <= len(data):
            total = (_rotate(total ^ int.from_bytes(data[at : at + 4], "little") * p1 & _64, 23) * p2 + p3) & _64
            at += 4
        for byte in data[at:]:
            total = _rotate(total ^ byte * p5 & _64, 11) * p1 & _64
        total = (total ^ total >> 33) * p2 & _64
        total = (total ^ total >> 29) * p3 & _64
        return total ^ total >> 32


def _rotate(number: int, by: int) -> int:
    return (number << by | number >> (64 - by)) & _64


def _round(lane: int, number: int) -> int:
    return _rotate((lane + number * _PRIMES[1]) & _64, 31) * _PRIMES[0] & _64
