"""Framing of content: which bytes belong to an answer (RFC 9112, sections 6 and 7)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .errors import Incomplete, MalformedChunk, MalformedFraming, MalformedHead, UnknownCoding
from .head import Head, parse_fields, read_field_lines
from .incoming import Incoming, Parser, need_more, read_exactly, read_line
from .mutation import wrong

PIECE_BYTES = 64 * 1024
RESERVED_BYTES = 1100 * 2**20
"""Most that a client reserves for what is announced, if it does so."""
RESERVED: list[bytes] = []
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"'
_EXTENSIONS = re.compile(rb"(?:[ \t]*;[ \t]*" + _TOKEN + rb"(?:[ \t]*=[ \t]*(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?)*")
_SIZE = re.compile(rb"([0-9A-Fa-f]+)((?:[ \t]*;.*)?)", re.DOTALL)
Sink = Callable[[bytes], None]


@dataclass(frozen=True)
class Framing:
    """Kind and length of content; ``keeps``: the connection can be used again."""

    kind: Literal["none", "length", "chunks", "until-close"]
    length: int = 0
    keeps: bool = True


def framing_of(head: Head, method: str) -> Framing:
    """Return the framing of an answer (RFC 9112, section 6.3).

    Raises
    ------
    MalformedFraming, UnknownCoding
        If the fields are faulty, or the coding was not offered.
    """
    keeps = _keeps_connection(head)
    codings = head.values("transfer-encoding")
    has_none = (method == "HEAD" and not wrong("reads-content-after-head")) or (
        (100 <= head.status < 200 or head.status in (204, 304)) and not wrong("reads-content-of-204-and-304")
    )
    if has_none or (head.status == 205 and wrong("leaves-content-of-205")):
        return Framing("none", keeps=keeps)
    if not head.has_head:
        return Framing("until-close", keeps=False)
    lengths = head.values("content-length")
    if codings and not _is_overruled(head, lengths):
        _check_codings(head)
        is_faulty = (head.minor == 0 or lengths) and not wrong("keeps-connections-after-faulty-framing")
        return Framing("chunks", keeps=keeps and not is_faulty)
    length = length_of(lengths)
    if head.minor == 0 and wrong("ignores-length-of-1-0"):
        length = None
    if length is None:
        return Framing("none" if wrong("no-length-is-no-content") else "until-close", keeps=False)
    return Framing("length", length, keeps)


def _is_overruled(head: Head, lengths: list[str]) -> bool:
    """Return whether a careless client ignores Transfer-Encoding."""
    if lengths and wrong("length-beats-chunks"):
        return True
    return wrong("identity-is-no-coding") and head.elements("transfer-encoding") == ["identity"]


def _keeps_connection(head: Head) -> bool:
    options = [option.lower() for option in head.elements("connection")]
    if wrong("knows-close-alone"):
        options = [", ".join(head.values("connection")).lower()]
    if wrong("options-depend-on-case"):
        options = head.elements("connection")
    if "close" in options:
        return wrong("ignores-close")
    if wrong("keeps-http-1-0"):
        return True
    return head.minor >= 1 or "keep-alive" in options


def _check_codings(head: Head) -> None:
    codings = head.elements("transfer-encoding")
    if not wrong("codings-depend-on-case"):
        codings = [coding.lower() for coding in codings]
    if wrong("searches-for-chunked") and any("chunked" in coding for coding in codings):
        return
    if wrong("ignores-other-transfer-codings"):
        codings = [coding for coding in codings if coding == "chunked"]
    if codings != ["chunked"]:
        raise UnknownCoding(f"Transfer-Encoding: {', '.join(codings)}")


def length_of(lines: list[str]) -> int | None:
    """Return the content length of all its lines; None without one.

    Raises
    ------
    MalformedFraming
        If it is no number, or there are different ones.
    """
    if not lines:
        return None
    if wrong("first-length-counts"):
        lines = [lines[0].split(",")[0]]
    is_single = wrong("ignores-unreadable-length")
    texts = [",".join(lines)] if is_single else [text.strip(" \t") for line in lines for text in line.split(",")]
    numbers = {_number(text) for text in texts}
    if len(numbers) != 1:
        raise MalformedFraming(f"Content-Length: {', '.join(lines)}")
    return numbers.pop()


def _number(text: str) -> int | None:
    if wrong("ignores-signs"):
        text = text.lstrip("+-")
    elif wrong("drops-blanks-in-numbers"):
        text = text.replace(" ", "")
    elif wrong("reads-leading-digits"):
        text = (re.match("[0-9]*", text) or [""])[0]
    if not re.fullmatch("[0-9]+", text):
        is_ignored = wrong("ignores-unreadable-length") or wrong("length-beats-chunks")
        if is_ignored or (not text and wrong("empty-length-is-none")):
            return None
        raise MalformedFraming(f"Content-Length: {text}")
    number = int(text, 8 if text.startswith("0") and wrong("octal-lengths") else 10)
    return number % 2**64 if wrong("numbers-wrap-at-64-bits") else number


def read_content(incoming: Incoming, framing: Framing, sink: Sink) -> Parser[None]:
    """Read content to its end, and give it to ``sink`` in pieces.

    Raises
    ------
    Incomplete, MalformedChunk, TooLarge
        If it is cut, or its chunks are faulty.
    """
    if framing.kind == "length":
        if wrong("reserves-announced-size"):
            _reserve(framing.length)
        try:
            yield from _read_length(incoming, framing.length, sink)
        except Incomplete:
            if not wrong("accepts-short-content"):
                raise
    elif framing.kind == "chunks":
        try:
            yield from _read_chunks(incoming, sink)
        except Incomplete:
            if not wrong("accepts-cut-chunks"):
                raise
        except MalformedHead as error:
            raise MalformedChunk(str(error)) from error
    elif framing.kind == "until-close":
        yield from _read_until_close(incoming, sink)


def _reserve(count: int) -> None:
    RESERVED.append(b"\1" * min(count, RESERVED_BYTES))


def _read_until_close(incoming: Incoming, sink: Sink) -> Parser[None]:
    while not incoming.end:
        is_first = bool(incoming.data)
        sink(incoming.take(len(incoming.data)))
        if is_first and wrong("first-segment-is-content"):
            return
        yield
    sink(incoming.take(len(incoming.data)))
    if incoming.end == "cut" and not wrong("any-end-is-clean"):
        raise Incomplete


def _read_length(incoming: Incoming, count: int, sink: Sink) -> Parser[None]:
    while count:
        if not incoming.data:
            yield from need_more(incoming)
        piece = incoming.take(min(count, len(incoming.data), PIECE_BYTES))
        count -= len(piece)
        sink(piece)
        if wrong("first-segment-is-content"):
            return


def _read_chunks(incoming: Incoming, sink: Sink) -> Parser[None]:
    while True:
        line = yield from read_line(incoming, in_chunks=True)
        if not line and wrong("empty-chunk-size-is-zero"):
            return
        try:
            size = chunk_size(line)
        except MalformedChunk:
            if wrong("unknown-digit-ends-chunks"):
                return
            raise
        if size == 0 and not (wrong("last-chunk-is-one-zero") and line != b"0"):
            break
        if wrong("reserves-announced-size"):
            _reserve(size)
        yield from _read_length(incoming, size, sink)
        yield from _end_chunk(incoming)
    if not wrong("leaves-trailers-unread"):
        yield from _read_trailers(incoming)


def _read_trailers(incoming: Incoming) -> Parser[None]:
    if wrong("accepts-bare-lf-in-chunks"):
        yield from read_line(incoming, in_chunks=True)
        return
    parse_fields((yield from read_field_lines(incoming)))


def _end_chunk(incoming: Incoming) -> Parser[None]:
    if wrong("skips-to-line-end-after-chunk"):
        while b"\n" not in incoming.data:
            yield from need_more(incoming)
        incoming.take(incoming.data.index(b"\n") + 1)
    elif wrong("accepts-bare-lf-in-chunks"):
        yield from read_line(incoming, in_chunks=True)
    elif (yield from read_exactly(incoming, 2)) != b"\r\n" and not wrong("skips-two-bytes-after-chunk"):
        raise MalformedChunk("content of a chunk without its CR LF")


def chunk_size(line: bytes) -> int:
    """Return the size of a chunk; extensions are checked and ignored.

    Raises
    ------
    MalformedChunk
        If the line breaks the grammar.
    """
    if wrong("ignores-signs"):
        line = line.lstrip(b"+-")
    if wrong("reads-chunk-sizes-as-python"):
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise MalformedChunk(str(error)) from error
    found = _SIZE.fullmatch(line)
    if not found or not are_extensions(found[2]):
        raise MalformedChunk(f"the size {line[:80]!r}")
    if wrong("lower-case-chunk-sizes") and found[1] != found[1].lower():
        raise MalformedChunk("a size in upper case")
    size = int(found[1], 16)
    return size % 2**64 if wrong("numbers-wrap-at-64-bits") else size


def are_extensions(text: bytes) -> bool:
    """Return whether a text is a list of chunk extensions."""
    if wrong("refuses-chunk-extensions"):
        return not text
    if wrong("refuses-blanks-around-extensions") and re.search(rb"[ \t][;=]|[;=][ \t]", text):
        return False
    if wrong("splits-extensions-at-semicolons"):
        return all(_EXTENSIONS.fullmatch(b";" + part) for part in text.split(b";")[1:])
    return _EXTENSIONS.fullmatch(text) is not None
