"""The URLs of a crawl, from a web, a file or standard input: one file that all trials share."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from httpdyno.errors import EmptyList, NotResumable
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.store import UrlList, WebIdentity, kept_list
from httpdyno.store.folder import URLS

STANDARD_INPUT: Final = "-"
DEFAULT_WEB_LIMIT: Final = 2000
"""Default number of URLs of a web, which has no end."""
_PREPARING: Final = "preparing the list of URLs"
_PIECE: Final = 4096
"""URLs that are written together."""
QUICK_LIMIT: Final = 500
"""Number of URLs of a quick look."""


@dataclass(frozen=True, slots=True)
class UrlFile:
    """A file with one URL a line, and how many there are."""

    file: ScratchFile
    count: int
    source: str | None = None
    """Their file, ``-`` for standard input, or another machine's URL; None: the web itself."""
    no_urls: int = 0
    """Number of lines that are not URLs: clients get them unchanged."""
    remark: str = ""
    """Lines that were left out of the list or are not URLs, in one line; empty: none."""
    reordered: bool = False
    """Whether the URLs are in another order than in their source."""

    @property
    def kept(self) -> bool:
        """Whether a run keeps the list, because no web can generate it again."""
        return self.source is not None or self.reordered

    def identity(self) -> UrlList:
        """Return the identity of the list."""
        with self.file.path.open("rb") as lines:
            return UrlList(self.source, self.count, hashlib.file_digest(lines, "sha256").hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def name_of_list(source: str) -> str:
    """Return the name of a list in messages."""
    return "standard input" if source == STANDARD_INPUT else source


@contextmanager
def _new_file() -> Iterator[ScratchFile]:
    """Create a file for a list; it is closed when the block fails."""
    file = ScratchFile()
    try:
        yield file
    except BaseException:
        file.close()
        raise


def urls_of_web(engine: Engine, *, web: str, seed: int | None, limit: int | None) -> UrlFile:
    """Return the first URLs of a web; no limit: ``DEFAULT_WEB_LIMIT`` of them."""
    with _new_file() as file:
        engine.urls(web=web, seed=seed, limit=limit or DEFAULT_WEB_LIMIT, into=file.file)
        with file.path.open("rb") as lines:
            return UrlFile(file, sum(1 for _ in lines))


def urls_of_run(folder: Path, engine: Engine, web: WebIdentity, recorded: UrlList) -> UrlFile:
    """Return the URLs of a run; raise ``NotResumable`` if they have changed."""
    if recorded.source is not None or (folder / URLS).is_file():
        with _new_file() as file:
            file.write(kept_list(folder), what=_PREPARING)
            urls = UrlFile(file, recorded.count, recorded.source)
    else:
        urls = urls_of_web(engine, web=web.name, seed=web.seed, limit=recorded.count)
    if urls.identity() != recorded:
        urls.file.close()
        raise NotResumable(f"{folder}: the list of URLs has changed since the run began; begin a new run")
    return urls


def written(urls: Iterable[bytes], source: str) -> UrlFile:
    """Write URLs into a file, one a line; raise EmptyList when there is none."""
    count, rest = 0, iter(urls)
    with _new_file() as file:
        # Read outside of ``write``: errors of reading the URLs are those of their list.
        while piece := [url + b"\n" for url in islice(rest, _PIECE)]:
            file.write(piece, what=_PREPARING)
            count += len(piece)
        if count == 0:
            raise EmptyList(f"{name_of_list(source)}: the list has no URL; write one URL or domain a line")
    return UrlFile(file, count, source)


_FASTEST_PER_S: Final = 300
"""URLs a second of the fastest client, at the clients' own concurrency."""


def early_order(count: int, slow: Sequence[int], *, timeout_s: float) -> list[int]:
    """Return the order of a list in which its slowest URLs come early.

    After the last slow URL come as many URLs as the fastest client reads within a timeout, so that the slow URL
    ends before the list. In a shorter list the slow URLs come first. In a longer one they are spread evenly over the
    part before: a client that is limited by its CPU must not wait with all of its requests. The other URLs keep their
    order.

    Parameters
    ----------
    count : int
        Length of the list.
    slow : sequence of int
        The places, from 0, of the slow URLs, in the order in which they are to come.
    timeout_s : float
        The timeout of a URL, in seconds.

    Returns
    -------
    list of int
        The old place of each URL of the new list: a permutation of ``range(count)``.
    """
    first = max(len(slow), count - ceil(timeout_s * _FASTEST_PER_S))
    of_slow = {number * first // len(slow): old for number, old in enumerate(slow)}
    known = frozenset(slow)
    others = (old for old in range(count) if old not in known)
    return [of_slow[place] if place in of_slow else next(others) for place in range(count)]


def with_slow_first(urls: UrlFile, slow: Sequence[int], *, timeout_s: float) -> UrlFile:
    """Return a list in the order of ``early_order`` and close the given one, or return that one if it is in order."""
    order = early_order(urls.count, slow, timeout_s=timeout_s) if slow else []
    if order == sorted(order):
        return urls
    with _new_file() as file, urls, urls.file.path.open("rb") as lines:
        text = list(lines)
        file.write((text[old] for old in order), what=_PREPARING)
    return replace(urls, file=file, reordered=True)


def at_origin(url: str, against: str) -> str:
    """Return the URL of the same page on another machine's origin, ``http://other:8080``.

    A URL without a path gets its host as the path, so that pages of different hosts remain different:
    ``https://www.example.org`` becomes ``http://other:8080/www.example.org``. A line that is not a URL is unchanged.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.netloc or parts.scheme.lower() not in {"http", "https"}:
        return url
    if f"http://{parts.netloc.lower()}" == against:
        return url
    path = f"/{parts.netloc}" if parts.path in {"", "/"} else parts.path
    return f"{against}{path}" + (f"?{parts.query}" if parts.query else "")


def file_at_origin(urls: UrlFile, against: str) -> UrlFile:
    """Rewrite a prepared list with ``at_origin``; closes the given one."""
    with _new_file() as file, urls, urls.file.path.open("rb") as lines:
        file.write((_line_at_origin(line, against) for line in lines), what=_PREPARING)
    # The web cannot generate this list again, so the run keeps it, like a list of the user.
    return replace(urls, file=file, source=urls.source or against)


def _line_at_origin(line: bytes, against: str) -> bytes:
    try:
        return at_origin(line.decode().rstrip("\n"), against).encode() + b"\n"
    except UnicodeDecodeError:
        return line


HOSTS_COUNTED: Final = 1_000_000
"""Largest number of hosts that are counted; no decision depends on a larger number."""
_AUTHORITY: Final = re.compile(
    rb"https?://(?:[^/?#\\@]*@)*(?:www\.)?(\[[^\]/?#\\]*\]|[^:/?#\\@]+?)\.?(?::[0-9]*)?(?=[/?#\\]|$)", re.I
)


def count_hosts(urls: Iterable[bytes]) -> int:
    """Count the hosts of a list, ignoring case, ports and a leading ``www.``; ``HOSTS_COUNTED`` at most."""
    hosts: set[bytes] = set()
    for url in urls:
        if found := _AUTHORITY.match(url.strip()):
            hosts.add(found[1].lower())
            if len(hosts) >= HOSTS_COUNTED:
                break
    return len(hosts)
