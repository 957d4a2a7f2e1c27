"""Heads of answers: status line and fields (RFC 9112, sections 4 and 5)."""

import re
from dataclasses import dataclass
from http import HTTPStatus

from .errors import Incomplete, MalformedHead, TooLarge
from .incoming import Incoming, Parser, bounded, need_more, read_line
from .mutation import wrong

HEAD_BYTES = 128 * 1024
"""Largest head."""
FIELDS = 2000
"""Most fields."""
INTERIM = 100
"""Most interim answers."""
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-5][0-9][0-9])(?: (.*))?", re.DOTALL)
_OTHER_STATUS_LINES = {
    "accepts-any-version": rb"(?i:HTTP)/[0-9](?:\.([0-9]))? ([1-5][0-9][0-9])(?: (.*))?",
    "accepts-any-three-digits": rb"HTTP/1\.([0-9]) ([0-9]{3})(?: (.*))?",
    "reads-statuses-as-numbers": rb"HTTP/1\.([0-9]) ([0-9]+)(?: (.*))?",
    "reads-three-digits": rb"HTTP/1\.([0-9]) ([0-9]{3}).*",
    "requires-reason": rb"HTTP/1\.([0-9]) ([1-5][0-9][0-9]) (.+)",
    "knows-only-1-1": rb"HTTP/1\.(1) ([1-5][0-9][0-9])(?: (.*))?",
}
"""Patterns of careless clients, by their mutation."""
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KNOWN = frozenset(HTTPStatus) - {300}
"""Statuses that a client with a short list knows."""
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True)
class Head:
    """Head of an answer; names of fields are in lower case, values of bytes as latin-1."""

    status: int
    minor: int
    fields: tuple[tuple[str, str], ...] = ()
    has_head: bool = True
    """False: the bytes are no HTTP, and a careless client takes them for content."""

    def values(self, name: str) -> list[str]:
        """Return the values of all lines of a field."""
        values = [value for known, value in self.fields if known == name]
        return values[-1:] if wrong("last-line-replaces-earlier") else values

    def elements(self, name: str) -> list[str]:
        """Return the elements of a field that is a list, without empty ones (RFC 9110, section 5.6.1)."""
        elements = [element.strip(" \t") for value in self.values(name) for element in value.split(",")]
        if "" in elements and wrong("refuses-empty-elements"):
            raise MalformedHead(f"an empty element in {name}")
        return [element for element in elements if element]


def read_head(incoming: Incoming) -> Parser[Head]:
    """Read the head of the final answer; interim answers are skipped.

    Raises
    ------
    MalformedHead, Incomplete, TooLarge
        If it breaks the grammar, is cut, or exceeds a bound.
    """
    for _ in range(INTERIM):
        head = yield from _read_one_head(incoming)
        if not _is_interim(head):
            return head
        if head.status == 101:
            raise MalformedHead("101 without an offer")
        if wrong("reads-content-of-interim"):
            incoming.take(int("".join(head.values("content-length")) or 0))
    raise TooLarge("interim answers")


def _is_interim(head: Head) -> bool:
    if wrong("interim-is-final") or (wrong("switching-is-final") and head.status == 101):
        return False
    if wrong("knows-only-100"):
        return head.status == 100
    if wrong("follows-location-of-interim") and head.values("location"):
        return False
    return 100 <= head.status < 200


def _read_one_head(incoming: Incoming) -> Parser[Head]:
    try:
        first = yield from read_line(incoming)
    except Incomplete:
        if wrong("silence-is-an-empty-answer") and not incoming.data:
            return Head(200, 1, (("content-length", "0"),))
        raise
    try:
        status, minor = parse_status_line(first)
    except MalformedHead:
        if not wrong("answers-without-head"):
            raise
        incoming.data[:0] = first + b"\r\n"
        return Head(200, 0, has_head=False)
    lines = yield from read_field_lines(incoming)
    if wrong("takes-next-line-for-reason") and not first.partition(b" ")[2].partition(b" ")[1]:
        lines = lines[1:]
    return Head(status, minor, parse_fields(lines))


def parse_status_line(line: bytes) -> tuple[int, int]:
    """Return the status and the minor version of a status line.

    Raises
    ------
    MalformedHead
        If it is no status line of HTTP/1.
    """
    if wrong("finds-status-by-search"):
        return int(re.findall(rb"\b[1-5][0-9][0-9]\b", line)[-1]), 1
    of_mistakes = (re.compile(other, re.DOTALL) for mutation, other in _OTHER_STATUS_LINES.items() if wrong(mutation))
    found = next(of_mistakes, _STATUS_LINE).fullmatch(line)
    if found and int(found[2]) not in _KNOWN and wrong("unknown-status-is-an-error"):
        raise MalformedHead("an unknown status")
    if not found or _CONTROL.search(line):
        raise MalformedHead(f"no status line: {line[:80]!r}")
    if wrong("values-are-utf-8"):
        line.decode()
    return int(found[2]), int(found[1] or 1)


def read_field_lines(incoming: Incoming) -> Parser[list[bytes]]:
    """Read the lines of a field section up to its empty line; also that of trailers.

    Raises
    ------
    TooLarge
        If there are too many, or too many bytes.
    """
    if wrong("unbounded-heads"):
        yield from _wait_for_empty_line(incoming)
    lines: list[bytes] = []
    size = 0
    while line := (yield from read_line(incoming)):
        size += len(line)
        if wrong("drops-fields-beyond-limits") and (len(lines) >= 100 or size > 32 * 1024):
            continue
        lines.append(line)
        if size > HEAD_BYTES or len(lines) > FIELDS:
            raise TooLarge("fields")
    return lines


def _wait_for_empty_line(incoming: Incoming) -> Parser[None]:
    """Keep all bytes up to the empty line, as a client does that parses a whole head."""
    has_ended = b"\r\n\r\n" in incoming.data or incoming.data.startswith(b"\r\n")
    while not has_ended and not incoming.data.endswith(b"\r\n\r\n"):
        if len(incoming.data) > bounded(HEAD_BYTES, "unbounded-heads"):
            raise TooLarge("fields")
        yield from need_more(incoming)


def parse_fields(lines: list[bytes]) -> tuple[tuple[str, str], ...]:
    """Return names and values of lines; folded lines become one (RFC 9112, section 5.2).

    Raises
    ------
    MalformedHead
        If a line is no field.
    """
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in b" \t" and not wrong("reads-folds-as-fields") and not wrong("trims-lines"):
            if not fields:
                raise MalformedHead("a blank before the first field")
            if not wrong("drops-folded-lines"):
                name, value = fields[-1]
                fields[-1] = name, f"{value} {parse_value(line)}".strip(" ")
            continue
        field = _parse_field(line.strip(b" \t") if line[:1] in b" \t" else line)
        if field:
            fields.append(field)
    return tuple(fields)


def _parse_field(line: bytes) -> tuple[str, str] | None:
    """Return name and value; None for a line that a careless client skips."""
    if wrong("strings-end-at-nul"):
        line = b":".join(part.partition(b"\0")[0] for part in line.split(b":", 1))
    name, colon, value = line.partition(b":")
    if not colon:
        if wrong("skips-lines-without-colon") or wrong("ends-lines-at-crlf-only"):
            return None
        raise MalformedHead(f"a line without a colon: {line[:80]!r}")
    if not _NAME.fullmatch(name):
        if wrong("ignores-fields-with-blanks") and b" " in name:
            return None
        if not wrong("accepts-odd-names"):
            raise MalformedHead(f"a field's name: {name[:80]!r}")
    if wrong("requires-blank-after-colon") and not value.startswith(b" "):
        raise MalformedHead("no blank after the colon")
    text = name.decode("latin-1")
    return text if wrong("names-depend-on-case") else text.lower(), parse_value(value)


def parse_value(value: bytes) -> str:
    """Return a value without the blanks around it.

    Raises
    ------
    MalformedHead
        If it has control characters.
    """
    if wrong("trims-control-characters"):
        value = value.strip(bytes(range(33)))
    if wrong("reads-cr-as-blank"):
        value = value.replace(b"\r", b" ")
    if wrong("refuses-tabs-around-values") and (value.startswith(b" \t") or value.endswith(b"\t")):
        raise MalformedHead("a tab around a value")
    may_have = wrong("ends-lines-at-crlf-only") or wrong("sends-control-characters")
    if _CONTROL.search(value) and not may_have:
        raise MalformedHead("a control character in a value")
    if wrong("values-are-utf-8"):
        value.decode()
    return value.strip(b" \t").decode("latin-1")
