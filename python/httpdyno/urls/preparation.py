"""Prepares a list of URLs for clients: from a list of them, or from a table of domains."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.model import counted
from httpdyno.urls.domain_list import LeftOut, domain_column, is_table, read_domains
from httpdyno.urls.download import Received
from httpdyno.urls.list_file import ListLines, name_of_list, opened_list
from httpdyno.urls.source import UrlFile, written
from httpdyno.urls.url_list import from_first_line, is_url_or_domain, read_url_list

__all__ = ["prepare_urls"]

_SHOWN: Final = 60


def prepare_urls(source: str, *, limit: int | None, progress: Received | None = None) -> UrlFile:
    """Make a list ready: a file, ``-`` for standard input, or a URL; to be closed by the caller; no limit: all.

    A list of URLs or bare domains stays as it is, but for ``https://`` before the latter; a table of domains is
    filtered as ``read_domains`` says. EmptyList is raised when there is no URL in it.
    """
    with opened_list(source, progress) as file:
        read = ListLines(file, name_of_list(source))
        lines = from_first_line(read)
        first = next(lines, b"")
        column = domain_column(_text(first))
        whole = chain([first], lines)
        if column is None:
            if is_table(_text(first)):
                raise UsageError(_unknown(source, _text(first)))
            none = _NoUrls()
            urls = written(none.noted(read_url_list(whole, limit), read), source)
            return replace(urls, no_urls=none.lines, remark=none.remark(urls))
        left_out = LeftOut()
        domains = read_domains(map(_text, whole), column, left_out, limit)
        urls = written((url.encode() for url in domains), source)
        return replace(urls, remark=f"{name_of_list(source)}: {left_out.text}" if left_out.text else "")


@dataclass(slots=True)
class _NoUrls:
    """The lines of a list that are no URLs: they are handed on, since a client has to report them."""

    lines: int = 0
    first: str = ""

    def noted(self, urls: Iterable[bytes], read: ListLines) -> Iterator[bytes]:
        """Hand on what was made of each line, when it was the last to be read."""
        for url in urls:
            if not is_url_or_domain(read.last):
                self.lines += 1
                self.first = self.first or f"line {read.number} ({_shown(_text(read.last))})"
            yield url

    def remark(self, urls: UrlFile) -> str:
        """Describe them in one line; empty when there are none."""
        if not self.lines:
            return ""
        are = "is" if self.lines == 1 else "are"
        said = f"{self.lines:,} of {counted(urls.count, 'line')} {are} no URL, first: {self.first}"
        return f"{name_of_list(urls.source or '')}: {said}"


def _unknown(source: str, first: str) -> str:
    return (
        f"{name_of_list(source)}: its first line, {_shown(first)}, is neither a URL nor a domain, and no table of"
        " domains that is known; give it a heading, such as rank,domain, or a rank beside each domain, or one domain a"
        " line"
    )


def _shown(line: str) -> str:
    return repr(line.strip()[:_SHOWN])


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")
