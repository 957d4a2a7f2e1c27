"""The URLs of a crawl, from a web, a file or standard input: one file that all trials share."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from httpdyno.errors import EmptyList, NotResumable
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.store import UrlList, WebIdentity, has_list, restore_list

STANDARD_INPUT: Final = "-"
DEFAULT_WEB_LIMIT: Final = 2000
"""Number of URLs of a web by default: a web is endless."""
QUICK_LIMIT: Final = 500
"""How many URLs a first look takes, of a web or of a list."""


@dataclass(frozen=True, slots=True)
class UrlFile:
    """A file with one URL a line, and how many there are."""

    file: ScratchFile
    count: int
    source: str | None = None
    """The file that they came from, ``-`` for standard input, another machine's URL; None: the web itself."""
    no_urls: int = 0
    """How many of them are none: lines of a list are handed on as they stand."""
    remark: str = ""
    """What was left out of the list, or is not a URL, in one line; empty: nothing."""
    reordered: bool = False
    """Whether the URLs have another order than their source has."""

    @property
    def kept(self) -> bool:
        """Whether a run keeps the list, because no web can list it again."""
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


def _storing() -> AbstractContextManager[None]:
    return storage_errors("preparing the list of URLs: cannot write")


def urls_of_web(engine: Engine, *, web: str, seed: int | None, limit: int | None) -> UrlFile:
    """Return the first URLs of a web; no limit: ``DEFAULT_WEB_LIMIT`` of them."""
    with _new_file() as file:
        engine.urls(web=web, seed=seed, limit=limit or DEFAULT_WEB_LIMIT, into=file.file)
        with file.path.open("rb") as lines:
            return UrlFile(file, sum(1 for _ in lines))


def urls_of_run(folder: Path, engine: Engine, web: WebIdentity, recorded: UrlList) -> UrlFile:
    """Return the URLs of a run; raise ``NotResumable`` if they have changed."""
    if recorded.source is not None or has_list(folder):
        with _new_file() as file:
            restore_list(folder, file.file)
            urls = UrlFile(file, recorded.count, recorded.source)
    else:
        urls = urls_of_web(engine, web=web.name, seed=web.seed, limit=recorded.count)
    if urls.identity() != recorded:
        urls.file.close()
        raise NotResumable(f"{folder}: the list of URLs has changed since the run began; begin a new run")
    return urls


def written(urls: Iterable[bytes], source: str) -> UrlFile:
    """Write URLs into a file, one a line; raise EmptyList when there is none."""
    count = 0
    with _new_file() as file:
        # Errors of reading the URLs are those of their list.
        for url in urls:
            with _storing():
                file.file.write(url + b"\n")
            count += 1
        with _storing():
            file.file.flush()
        if count == 0:
            raise EmptyList(f"{name_of_list(source)}: there is no URL in it; give one URL or domain a line")
    return UrlFile(file, count, source)


_FASTEST_PER_S: Final = 300
"""URLs a second of the fastest client, at the concurrency that clients have of their own."""


def early_order(count: int, slow: Sequence[int], *, timeout_s: float) -> list[int]:
    """Return the order of a list in which its slowest URLs come early.

    As many URLs come after the last of them as the fastest client reads within a timeout: it has then ended when the
    list has. In a list that is no longer than that the slow URLs come first. In a longer one they are spread evenly
    over the part before, since a client that is held up by its CPU does nothing while all of its requests wait. The
    other URLs keep their order.

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
    """Return a list in the order of ``early_order``; closes the given one.

    The list itself is returned when it has that order already, or no slow URL.
    """
    order = early_order(urls.count, slow, timeout_s=timeout_s) if slow else []
    if order == sorted(order):
        return urls
    with _new_file() as file, urls, _storing():
        with urls.file.path.open("rb") as lines:
            text = list(lines)
        file.file.writelines(text[old] for old in order)
        file.file.flush()
    return replace(urls, file=file, reordered=True)


def at_origin(url: str, against: str) -> str:
    """Return the URL of the same page at another machine's origin, ``http://other:8080``.

    What has no path of its own gets the host as one, so that pages of different hosts stay different ones:
    ``https://www.example.org`` becomes ``http://other:8080/www.example.org``. A line that is not a URL stays as it is,
    since a client has to report it.
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
    with _new_file() as file, urls, urls.file.path.open("rb") as lines, _storing():
        for line in lines:
            try:
                file.file.write(at_origin(line.decode().rstrip("\n"), against).encode() + b"\n")
            except UnicodeDecodeError:
                file.file.write(line)
        file.file.flush()
    # The web cannot list it again: it is kept with the run, like a list of the user.
    return replace(urls, file=file, source=urls.source or against)


HOSTS_COUNTED: Final = 1_000_000
"""Hosts beyond these are not counted: a list may have ten times as many, and no decision depends on it."""
_AUTHORITY: Final = re.compile(
    rb"https?://(?:[^/?#\\@]*@)*(?:www\.)?(\[[^\]/?#\\]*\]|[^:/?#\\@]+?)\.?(?::[0-9]*)?(?=[/?#\\]|$)", re.I
)


def count_hosts(urls: Iterable[bytes]) -> int:
    """Count the hosts of a list without their case, ports and a first ``www.``; ``HOSTS_COUNTED`` at most."""
    hosts: set[bytes] = set()
    for url in urls:
        if found := _AUTHORITY.match(url.strip()):
            hosts.add(found[1].lower())
            if len(hosts) >= HOSTS_COUNTED:
                break
    return len(hosts)
