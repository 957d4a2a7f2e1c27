"""Prepares a list of URLs for clients: from a list of them, or from a table of domains."""

from collections.abc import Iterable, Iterator
from itertools import chain

from httpdyno.experiments.domain_list import LeftOut, domain_column, read_domains
from httpdyno.experiments.download import Received
from httpdyno.experiments.list_file import list_lines, opened_list
from httpdyno.experiments.url_list import read_url_list
from httpdyno.experiments.url_source import UrlFile, written

__all__ = ["prepare_urls"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def prepare_urls(
    source: str,
    *,
    limit: int | None,
    progress: Received | None = None,
) -> tuple[UrlFile, LeftOut]:
    """Make a list ready.

    A list of URLs or bare domains stays as it is, but for ``https://`` before the latter; a table of domains is
    filtered as ``read_domains`` says.

    Parameters
    ----------
    source, progress
        As for ``opened_list``.
    limit : int, optional
        How many URLs at most; None: all.

    Returns
    -------
    tuple of (UrlFile, LeftOut)
        The URLs, to be closed by the caller, and what was left out.

    Raises
    ------
    UsageError
        If the list cannot be fetched, read or unpacked; EmptyList if there is no URL in it.
    StorageFailed
        If there is no room for it.
    """
    left_out = LeftOut()
    with opened_list(source, progress) as file:
        lines = _from_first_line(list_lines(file))
        first = next(lines, b"")
        column = domain_column(_text(first))
        whole = chain([first], lines)
        if column is None:
            return written(read_url_list(whole, limit), source), left_out
        domains = read_domains(map(_text, whole), column, left_out, limit)
        return written((url.encode() for url in domains), source), left_out


def _from_first_line(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Pass over what stands before a list: blank lines and comments."""
    begun = False
    for line in lines:
        text = line.removeprefix(_BYTE_ORDER_MARK)
        begun = begun or bool(text.strip() and not text.startswith(b"#"))
        if begun:
            yield text


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")
