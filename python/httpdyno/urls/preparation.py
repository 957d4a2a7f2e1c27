"""Prepares a list of URLs for clients: from a list of them, or from a table of domains."""

from itertools import chain
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.urls.domain_list import LeftOut, domain_column, is_table, read_domains
from httpdyno.urls.download import Received
from httpdyno.urls.list_file import list_lines, opened_list
from httpdyno.urls.source import STANDARD_INPUT, UrlFile, written
from httpdyno.urls.url_list import from_first_line, read_url_list

__all__ = ["prepare_urls"]

_SHOWN: Final = 60


def prepare_urls(
    source: str,
    *,
    limit: int | None,
    progress: Received | None = None,
) -> tuple[UrlFile, LeftOut]:
    """Make a list ready; return its URLs, to be closed by the caller, and what was left out; no limit: all.

    A list of URLs or bare domains stays as it is, but for ``https://`` before the latter; a table of domains is
    filtered as ``read_domains`` says.
    """
    left_out = LeftOut()
    with opened_list(source, progress) as file:
        lines = from_first_line(list_lines(file))
        first = next(lines, b"")
        column = domain_column(_text(first))
        whole = chain([first], lines)
        if column is None:
            if is_table(_text(first)):
                raise UsageError(_unknown(source, _text(first)))
            return written(read_url_list(whole, limit), source), left_out
        domains = read_domains(map(_text, whole), column, left_out, limit)
        return written((url.encode() for url in domains), source), left_out


def _unknown(source: str, first: str) -> str:
    name = "standard input" if source == STANDARD_INPUT else source
    return (
        f"{name}: its first line, {first.strip()[:_SHOWN]!r}, is neither a URL nor a domain, and no table of domains"
        " that is known: give it a heading, such as rank,domain, or a rank beside each domain, or one domain a line"
    )


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")
