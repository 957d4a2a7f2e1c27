"""The URL list of a crawl: URLs or bare domains, one a line, from a file or a pipe."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

__all__ = ["from_first_line", "is_url_or_domain", "read_url_list"]

_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLANK: Final = re.compile(rb"\s")
_LABEL: Final = rb"[a-z0-9_\x80-\xff](?:[a-z0-9_\x80-\xff-]*[a-z0-9_\x80-\xff])?"
_REST: Final = rb"(?::(?P<port>[0-9]{0,5}))?(?:[/?#]\S*)?"
_URL: Final = re.compile(
    rb"https?://(?:[^\s/?#@]*@)?(?:LABEL(?:\.LABEL)*\.?|\[[0-9a-f:.]+\])".replace(b"LABEL", _LABEL) + _REST, re.I
)
_DOMAIN: Final = re.compile(
    rb"(?:LABEL(?:\.LABEL)+\.?|localhost|\[[0-9a-f:.]+\])".replace(b"LABEL", _LABEL) + _REST, re.I
)
"""One word without a dot is nobody's domain: who means a host of the own network writes its scheme, too."""
_MOST_PORTS: Final = 65_535


def read_url_list(lines: Iterable[bytes], limit: int | None = None) -> Iterator[bytes]:
    """Return the URLs of a list, in its order, duplicates kept; no limit: all.

    A bare domain, with or without a port or a path, becomes ``https://``. Empty lines are skipped, and so are those
    that begin with ``#``. Anything else is handed on as it stands, also what is no URL: a client has to report that,
    and a list of ten million lines must not be lost for one of them.
    """
    yield from islice(_urls(lines), limit)


def is_url_or_domain(line: bytes) -> bool:
    """Return whether a line of a list can be fetched at all: it is a URL of http or https, or a bare domain."""
    text = line.removeprefix(_BYTE_ORDER_MARK).strip()
    found = _URL.fullmatch(text) or _DOMAIN.fullmatch(text)
    if found is None or int(found["port"] or 0) > _MOST_PORTS:
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def from_first_line(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Pass over what stands before a list: blank lines and comments."""
    begun = False
    for line in lines:
        text = line.removeprefix(_BYTE_ORDER_MARK)
        begun = begun or bool(text.strip() and not text.lstrip().startswith(b"#"))
        if begun:
            yield text


def _urls(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        text = line.removeprefix(_BYTE_ORDER_MARK).strip()
        if not text or text.startswith(b"#"):
            continue
        bare = not _SCHEME.match(text) and not _BLANK.search(text)
        yield b"https://" + text if bare else text
