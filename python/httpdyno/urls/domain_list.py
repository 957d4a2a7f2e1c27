"""A list of domains as publishers of rankings hand them out, made into URLs: what cannot be a site is left out."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

__all__ = ["DomainColumn", "LeftOut", "domain_column", "host_name", "is_table", "read_domains"]

_NAMES: Final = ("domain", "host", "hostname", "name", "origin", "site", "url", "website")
"""Headings of the column that holds domains, in any case."""
_DELIMITERS: Final = (",", ";", "\t")
"""What stands between the columns of tables, the usual one first; none of it can be in the name of a host."""
_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_LAST_LABEL: Final = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{1,59}")
_ADDRESS: Final = re.compile(r"[0-9.]+|.*:.*:.*|\[.*\]")
_ONE_WORD: Final = re.compile(r"[^\s.,:/]+([.:/][^\s,]*)?")
_WITH_PATH: Final = re.compile(r"[a-z][a-z0-9+.-]*://.*[?#/].*", re.I)
_AUTHORITY: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?([^/?#]*)", re.I)
_ORIGIN: Final = re.compile(r"(https?)://([^/?#]+)/?", re.I)
_LONGEST_NAME: Final = 253
_NO_SITES: Final = frozenset({"alt", "arpa", "internal", "invalid", "local", "localhost", "onion"})
"""Last labels under which the public name system has no sites (RFC 6761, 6762, 7686, 9476)."""

_ADVERTISING: Final = "doubleclick"
"""What the crawl that this one grew out of leaves out of its list: servers of advertisements, which are no sites."""


@dataclass(slots=True)
class LeftOut:
    """How many lines of a list were left out, by reason."""

    lines: int = 0
    """Read in all, but for blank ones and headings."""
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """Describe it in one line; empty when nothing was left out."""
        count = sum(self.reasons.values())
        if not count:
            return ""
        parts = ", ".join(f"{reason}: {number:,}" for reason, number in self.reasons.most_common())
        return f"left out {count:,} of {self.lines:,} ({parts})"


@dataclass(frozen=True, slots=True)
class DomainColumn:
    """Where in a table its domains stand."""

    place: int
    heading: bool
    """Whether the first row names the columns."""
    delimiter: str = ","


def domain_column(first_line: str) -> DomainColumn | None:
    """Return from its first line whether a list is a table of domains, and in which column they stand.

    Known are tables with a heading (DomCop's ``"Rank","Domain","Open Page Rank"``, Majestic's, Cloudflare's ``domain``,
    Chrome's ``origin,rank``) and those without one, in which a rank stands before or behind the name (Tranco's and
    Umbrella's ``1,example.org``). Columns are separated by commas, semicolons or tabulators.

    None for a plain list: URLs, or one domain a line; and for a table that is none of these.
    """
    return next(filter(None, (_column(first_line, delimiter) for delimiter in _DELIMITERS)), None)


def is_table(first_line: str) -> bool:
    """Return from its first line whether a list is a table, also where nobody knows in which column domains stand.

    Before its path a URL has nothing that separates columns, and a bare domain has it nowhere.
    """
    before_path = _AUTHORITY.match(first_line.strip())
    authority = before_path[1] if before_path else ""
    separated = any(delimiter in authority for delimiter in _DELIMITERS) and "@" not in authority
    return separated or domain_column(first_line) is not None


def _column(first_line: str, delimiter: str) -> DomainColumn | None:
    cells = [cell.strip() for cell in _row(first_line, delimiter)]
    headings = [cell.lower() for cell in cells]
    for name in _NAMES:
        if name in headings:
            return DomainColumn(headings.index(name), heading=True, delimiter=delimiter)
    ranked = len(cells) > 1 and not _WITH_PATH.match(cells[0])
    for rank, domain in ((0, 1), (1, 0)):
        if ranked and cells[rank].isascii() and cells[rank].isdigit() and _ONE_WORD.fullmatch(cells[domain]):
            return DomainColumn(domain, heading=False, delimiter=delimiter)
    return None


def host_name(text: str) -> str | None:
    """Return a domain as the name system spells it: lower case, punycode, no dot at the end.

    None when it is no name of a host with two labels or more: ``com``, ``a_b.example``, ``-a.example``.
    """
    name = text.strip().removesuffix(".").lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or len(labels) < 2:
        return None
    if not all(map(_LABEL.fullmatch, labels)) or not _LAST_LABEL.fullmatch(labels[-1]):
        return None
    return name


def read_domains(
    lines: Iterable[str], column: DomainColumn, left_out: LeftOut, limit: int | None = None
) -> Iterator[str]:
    """Make URLs of a table of domains, from its first line on, in its order, each once; no limit: all.

    Left out, and counted by reason, is what no client can fetch as a site: addresses instead of names, what is no name
    of a host, names under which there are no public sites (``.onion``, ``.local``, ...), servers of advertisements, and
    what came before. The URLs are ``https://example.org/``; a scheme that the table names is kept.
    """
    yield from islice(_urls(lines, column, left_out), limit)


def _urls(lines: Iterable[str], column: DomainColumn, left_out: LeftOut) -> Iterator[str]:
    seen: set[str] = set()
    rest = iter(lines)
    if column.heading:
        next(rest, None)
    for line in rest:
        if not line.strip():
            continue
        left_out.lines += 1
        cells = _row(line, column.delimiter)
        scheme, domain = _origin(cells[column.place].strip()) if len(cells) > column.place else ("https", "")
        name = host_name(domain)
        reason = _reason(domain, name)
        url = f"{scheme}://{name}/"
        if reason is None and url in seen:
            reason = "duplicates"
        if reason is not None:
            left_out.reasons[reason] += 1
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


def _origin(text: str) -> tuple[str, str]:
    """Split an origin into its scheme and its host; a bare domain is meant with https."""
    found = _ORIGIN.fullmatch(text)
    return (found[1].lower(), found[2]) if found else ("https", text)


def _row(line: str, delimiter: str) -> list[str]:
    """Read one row of a table: no field of a list of domains goes on in the next line."""
    try:
        return next(csv.reader(io.StringIO(line.strip("\r\n")), delimiter=delimiter), [])
    except csv.Error:
        return []
