"""The URL list of a crawl: URLs or bare domains, one a line, from a file or a pipe."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

__all__ = ["GZIP", "ZIP", "from_first_line", "read_url_list"]

GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"
"""What a list that is packed begins with, one way or the other."""

_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLANK: Final = re.compile(rb"\s")


def read_url_list(lines: Iterable[bytes], limit: int | None = None) -> Iterator[bytes]:
    """Return the URLs of a list, in its order, duplicates kept; no limit: all.

    A bare domain, with or without a port or a path, becomes ``https://``. Empty lines are skipped, and so are those
    that begin with ``#``. Anything else is handed on as it stands, also what is no URL: a client has to report that,
    and a list of ten million lines must not be lost for one of them.
    """
    yield from islice(_urls(lines), limit)


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
