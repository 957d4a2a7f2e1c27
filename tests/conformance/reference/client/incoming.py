"""Bytes of a connection, for parsers that are generators: they yield when they need more bytes."""

from collections.abc import Generator
from typing import Literal, TypeVar

from .errors import Incomplete, MalformedHead, TooLarge
from .mutation import wrong

Result = TypeVar("Result")
Parser = Generator[None, None, Result]
"""A parser: it yields when it needs more bytes, and returns its result."""
LINE_BYTES = 80 * 1024
"""Longest line."""
_UNBOUNDED_BYTES = 700 * 2**20
"""Bound of the defects without one: it spares the memory of the machine."""


class Incoming:
    """Bytes that came and are not parsed yet, and the end of the connection.

    ``end`` is ``clean`` after an announced end (FIN, over TLS close_notify), ``cut`` after any other.
    """

    def __init__(self, data: bytes = b"", end: Literal["clean", "cut"] | None = None) -> None:
        self.data = bytearray(data)
        self.end = end
        self.seen = 0
        """Bytes that were searched for a line end."""

    def take(self, count: int) -> bytes:
        """Remove bytes and return them."""
        taken = bytes(self.data[:count])
        del self.data[:count]
        self.seen = 0
        return taken


def need_more(incoming: Incoming) -> Parser[None]:
    """Wait for more bytes.

    Raises
    ------
    Incomplete
        If the connection has ended.
    """
    if incoming.end:
        raise Incomplete
    yield


def read_exactly(incoming: Incoming, count: int) -> Parser[bytes]:
    """Read a number of bytes."""
    while len(incoming.data) < count:
        yield from need_more(incoming)
    return incoming.take(count)


def bounded(limit: int, mutation: str) -> int:
    """Return a bound in bytes, or a much larger one for a client that has none."""
    return _UNBOUNDED_BYTES if wrong(mutation) else limit


def read_line(incoming: Incoming, *, in_chunks: bool = False) -> Parser[bytes]:
    """Read a line, and return it without its CR LF.

    Raises
    ------
    MalformedHead
        If the line ends with a bare LF.
    TooLarge
        If the line is too long.
    """
    limit = bounded(LINE_BYTES, "unbounded-lines")
    while (end := _line_end(incoming)) < 0:
        if len(incoming.data) > limit:
            raise TooLarge
        if wrong("segments-are-lines") and incoming.data:
            return incoming.take(len(incoming.data))
        if wrong("accepts-cut-heads") and incoming.end and not in_chunks:
            line = incoming.take(len(incoming.data)).rstrip(b"\r")
            return line if line.startswith(b"HTTP") or b":" in line else b""
        incoming.seen = max(0, len(incoming.data) - 1)
        yield from need_more(incoming)
    if end > limit:
        raise TooLarge
    line = incoming.take(end + 1)
    if line.endswith(b"\r\n"):
        return line[:-2]
    is_accepted = line.endswith(b"\r") or (in_chunks and wrong("accepts-bare-lf-in-chunks"))
    if not is_accepted:
        raise MalformedHead("a line ends with a bare LF")
    return line[:-1]


def _line_end(incoming: Incoming) -> int:
    """Return the place of the last byte of the first line, -1 if it has not come."""
    if wrong("ends-lines-at-bare-cr"):
        at = incoming.data.find(b"\r")
        if at < 0 or at + 1 == len(incoming.data):
            return -1
        return at + 1 if incoming.data[at + 1] == 0x0A else at
    if wrong("ends-lines-at-crlf-only"):
        at = incoming.data.find(b"\r\n")
        return at + 1 if at >= 0 else -1
    return incoming.data.find(b"\n", incoming.seen)
