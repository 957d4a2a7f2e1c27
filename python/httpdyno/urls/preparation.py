"""Preparation of a list for clients: from URLs, bare domains, or a table of domains."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import IO, Final

from httpdyno.errors import UsageError
from httpdyno.model import counted
from httpdyno.urls.list_file import Received, opened_list
from httpdyno.urls.source import UrlFile, name_of_list, written

_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLANK: Final = re.compile(rb"\s")
_HOST_LABEL: Final = rb"[a-z0-9_\x80-\xff](?:[a-z0-9_\x80-\xff-]*[a-z0-9_\x80-\xff])?"
_REST: Final = rb"(?::(?P<port>[0-9]{0,5}))?(?:[/?#]\S*)?"
_URL: Final = re.compile(
    rb"https?://(?:[^\s/?#@]*@)?(?:LABEL(?:\.LABEL)*\.?|\[[0-9a-f:.]+\])".replace(b"LABEL", _HOST_LABEL) + _REST, re.I
)
_DOMAIN: Final = re.compile(
    rb"(?:LABEL(?:\.LABEL)+\.?|localhost|\[[0-9a-f:.]+\])".replace(b"LABEL", _HOST_LABEL) + _REST, re.I
)
"""A word without a dot is not a domain; a local host needs a scheme."""
_MOST_PORTS: Final = 65_535
_LONGEST_QUOTED: Final = 60
_LONGEST_LINE: Final = 64 * 1024
"""Longer lines are cut, so that a file that is not a list does not fill memory."""


class _Lines:
    """Lines of a list from its first URL or heading on, without a byte order mark; binary data is refused."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._number = 0
        """Number of the last line that was read, from 1."""
        self._last = b""
        self.no_urls = 0
        self.first_no_url = ""

    def __iter__(self) -> Iterator[bytes]:
        begun = False
        while line := self._file.readline(_LONGEST_LINE):
            self._number += 1
            if b"\0" in line:
                raise UsageError(
                    f"{self._name}: line {self._number} has a NUL byte: this is a binary file;"
                    " give a text in UTF-8, one URL or domain a line"
                )
            self._last = line.removeprefix(_BYTE_ORDER_MARK)
            begun = begun or bool(_content(self._last))
            if begun:
                yield self._last

    def count_no_urls(self, urls: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each URL, and count those whose line is neither a URL nor a domain."""
        for url in urls:
            if not is_url_or_domain(self._last):
                self.no_urls += 1
                self.first_no_url = self.first_no_url or f"line {self._number} ({_quote(self._last)})"
            yield url


def _content(line: bytes) -> bytes:
    """Return the text of a line of a list; empty for a comment."""
    text = line.removeprefix(_BYTE_ORDER_MARK).strip()
    return b"" if text.startswith(b"#") else text


def read_url_list(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Return the URLs of a list, in its order, duplicates kept.

    A bare domain, with or without a port or a path, becomes ``https://``. Empty lines and those that begin with ``#``
    are skipped. Other lines remain unchanged, even if they are not URLs: clients have to report those.
    """
    for text in filter(None, map(_content, lines)):
        yield text if _SCHEME.match(text) or _BLANK.search(text) else b"https://" + text


def is_url_or_domain(line: bytes) -> bool:
    """Return whether a line of a list is a URL of http or https, or a bare domain."""
    text = line.removeprefix(_BYTE_ORDER_MARK).strip()
    found = _URL.fullmatch(text) or _DOMAIN.fullmatch(text)
    if found is None or int(found["port"] or 0) > _MOST_PORTS:
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


_NAMES: Final = ("domain", "host", "hostname", "name", "origin", "site", "url", "website")
"""Headings of the column that holds domains, in any case."""
_DELIMITERS: Final = (",", ";", "\t")
"""Delimiters of columns, the usual one first; no name of a host contains one."""
_HOST_NAME: Final = re.compile(
    r"(?=.{4,253}$)(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59}(?<!-))"
)
_ADDRESS: Final = re.compile(r"[0-9.]+|.*:.*:.*|\[.*\]")
_ONE_WORD: Final = re.compile(r"[^\s.,:/]+([.:/][^\s,]*)?")
_WITH_PATH: Final = re.compile(r"[a-z][a-z0-9+.-]*://.*[?#/].*", re.I)
_COLUMNS: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?![^/?#]*@)[^/?#]*[,;\t]", re.I)
_ORIGIN: Final = re.compile(r"(https?)://([^/?#]+)/?", re.I)
_NO_SITES: Final = frozenset({"alt", "arpa", "internal", "invalid", "local", "localhost", "onion"})
"""Last labels under which the public name system has no sites (RFC 6761, 6762, 7686, 9476)."""

_ADVERTISING: Final = "doubleclick"
"""Part of the names of advertisement servers, which are not sites."""


@dataclass(frozen=True, slots=True)
class DomainColumn:
    """Column of the domains in a table."""

    place: int
    heading: bool
    """Whether the first row names the columns."""
    delimiter: str = ","


def domain_column(first_line: str) -> DomainColumn | None:
    """Return from its first line whether a list is a table of domains, and which column has them.

    Supported are tables with a heading (DomCop's ``"Rank","Domain","Open Page Rank"``, Majestic's, Cloudflare's
    ``domain``, Chrome's ``origin,rank``) and those without one, in which a rank stands before or behind the name
    (Tranco's and Umbrella's ``1,example.org``). Columns are separated by commas, semicolons or tabulators.

    None for a plain list of URLs or domains, and for any other table.
    """
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in _row(first_line, delimiter)]
        headings = [cell.lower() for cell in cells]
        named = next((headings.index(name) for name in _NAMES if name in headings), None)
        if named is not None:
            return DomainColumn(named, heading=True, delimiter=delimiter)
        ranked = len(cells) > 1 and not _WITH_PATH.match(cells[0])
        for rank, domain in ((0, 1), (1, 0)):
            if ranked and cells[rank].isascii() and cells[rank].isdigit() and _ONE_WORD.fullmatch(cells[domain]):
                return DomainColumn(domain, heading=False, delimiter=delimiter)
    return None


def is_table(first_line: str) -> bool:
    """Return whether the first line of a list has several columns: a URL has no delimiter before its path."""
    return _COLUMNS.match(first_line.strip()) is not None


def host_name(text: str) -> str | None:
    """Return a domain in lower case and punycode, or None: ``com``, ``a_b.example``, ``-a.example`` are not hosts."""
    name = text.strip().removesuffix(".").lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    return name if _HOST_NAME.fullmatch(name) else None


def read_domains(lines: Iterable[str], column: DomainColumn, left_out: Counter[str]) -> Iterator[str]:
    """Make URLs of a table of domains, from its first line on, in its order, each once.

    These lines are left out and counted by reason: addresses, invalid names of hosts, names without public sites
    (``.onion``, ``.local``, ...), servers of advertisements, and duplicates. URLs have the form
    ``https://example.org/``, or the scheme of the table.
    """
    seen: set[str] = set()
    for line in islice(lines, int(column.heading), None):
        if not line.strip():
            continue
        cells = _row(line, column.delimiter)
        domain = cells[column.place].strip() if len(cells) > column.place else ""
        origin = _ORIGIN.fullmatch(domain)
        scheme, domain = (origin[1].lower(), origin[2]) if origin else ("https", domain)
        name = host_name(domain)
        url = f"{scheme}://{name}/"
        reason = _reason(domain, name) or ("duplicates" if url in seen else None)
        if reason is not None:
            left_out[reason] += 1
            continue
        seen.add(url)
        yield url


def _reason(domain: str, name: str | None) -> str | None:
    if _ADDRESS.fullmatch(domain):
        return "addresses instead of names"
    if name is None:
        return "no names of hosts"
    if name.rpartition(".")[2] in _NO_SITES:
        return "names without public sites"
    return "servers of advertisements" if _ADVERTISING in name else None


def _row(line: str, delimiter: str) -> list[str]:
    """Read one row of a table: no field of a list of domains continues on the next line."""
    try:
        return next(csv.reader(io.StringIO(line.strip("\r\n")), delimiter=delimiter), [])
    except csv.Error:
        return []


def prepare_urls(source: str, *, limit: int | None, progress: Received | None = None) -> UrlFile:
    """Prepare a list: a file, ``-`` for standard input, or a URL; the caller closes it; without a limit it is whole.

    Bare domains get ``https://``; a table of domains is filtered by ``read_domains``. Raise EmptyList without a URL.
    """
    name = name_of_list(source)
    with opened_list(source, progress) as file:
        lines = _Lines(file, name)
        rest = iter(lines)
        first = next(rest, b"")
        column, whole = domain_column(_text(first)), chain([first], rest)
        if column is not None:
            left_out: Counter[str] = Counter()
            domains = islice(read_domains(map(_text, whole), column, left_out), limit)
            urls = written((url.encode() for url in domains), source)
            count, reasons = left_out.total(), ", ".join(f"{one}: {of:,}" for one, of in left_out.most_common())
            remark = f"{name}: left out {count:,} of {urls.count + count:,} ({reasons})"
            return replace(urls, remark=remark if count else "")
        if is_table(_text(first)):
            raise UsageError(
                f"{name}: its first line, {_quote(first)}, is neither a URL nor a domain, nor the header of a known"
                " table; use a header row such as rank,domain, or lines of the form rank,domain, or one domain a line"
            )
        urls = written(lines.count_no_urls(islice(read_url_list(whole), limit)), source)
    wrong = "is not a URL" if lines.no_urls == 1 else "are not URLs"
    remark = f"{name}: {lines.no_urls:,} of {counted(urls.count, 'line')} {wrong}, first: {lines.first_no_url}"
    return replace(urls, no_urls=lines.no_urls, remark=remark if lines.no_urls else "")


def _quote(line: bytes) -> str:
    return repr(_text(line).strip()[:_LONGEST_QUOTED])


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")
