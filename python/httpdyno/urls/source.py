"""Where the URLs of a crawl come from: a web, a file or standard input, copied into one file for all trials."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from httpdyno.errors import EmptyList, NotResumable, UsageError
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.store import UrlList, WebIdentity, restore_list
from httpdyno.urls.domain_list import is_table
from httpdyno.urls.url_list import GZIP, ZIP, from_first_line, read_url_list

__all__ = [
    "DEFAULT_WEB_LIMIT",
    "QUICK_LIMIT",
    "STANDARD_INPUT",
    "UrlFile",
    "urls_of_list",
    "urls_of_run",
    "urls_of_web",
    "written",
]

STANDARD_INPUT: Final = "-"
DEFAULT_WEB_LIMIT: Final = 2000
"""A web has no end: this is how many of its URLs are taken unless another number is asked for."""
QUICK_LIMIT: Final = 500
"""How many URLs a first look takes, of a web or of a list."""


@dataclass(frozen=True, slots=True)
class UrlFile:
    """A file with one URL a line, and how many there are."""

    file: ScratchFile
    count: int
    source: str | None = None
    """The file that they came from, ``-`` for standard input, another machine's URL; None: the web itself."""

    def identity(self) -> UrlList:
        """Return which list it is."""
        with self.file.path.open("rb") as lines:
            return UrlList(self.source, self.count, hashlib.file_digest(lines, "sha256").hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()


def urls_of_web(engine: Engine, *, web: str, seed: int | None, limit: int | None) -> UrlFile:
    """Return the first URLs of a web; no limit: ``DEFAULT_WEB_LIMIT`` of them."""
    file = ScratchFile()
    try:
        engine.urls(web=web, seed=seed, limit=limit or DEFAULT_WEB_LIMIT, into=file.file)
        with file.path.open("rb") as lines:
            return UrlFile(file, sum(1 for _ in lines))
    except BaseException:
        file.close()
        raise


def urls_of_list(source: str, *, limit: int | None) -> UrlFile:
    """Return the URLs of a list: a file, or ``-`` for standard input; no limit: all.

    EmptyList is raised when there is no URL in it.
    """
    try:
        if source == STANDARD_INPUT:
            return written(_plain_list(sys.stdin.buffer, limit, source), source)
        with Path(source).open("rb") as lines:
            return written(_plain_list(lines, limit, source), source)
    except OSError as error:
        raise UsageError(
            f"--urls {source}: cannot be read: {error.strerror}; name another file, or - for standard input"
        ) from error


def _plain_list(lines: Iterable[bytes], limit: int | None, source: str) -> Iterator[bytes]:
    """Return the URLs of a list that needs no preparation; else a whole run would ask for what nobody has."""
    rest = from_first_line(lines)
    first = next(rest, b"")
    kind = "packed" if first.startswith((GZIP, ZIP)) else "a table of domains"
    if kind == "packed" or is_table(first.decode("utf-8", errors="replace")):
        piped = source == STANDARD_INPUT
        raise UsageError(
            f"{'standard input' if piped else f'--urls {source}'}: this is {kind}, not a list of URLs;"
            f" make one of it with: httpdyno urls {source if piped else shlex.quote(source)} > urls.txt"
        )
    return read_url_list(chain([first], rest), limit)


def urls_of_run(folder: Path, engine: Engine, web: WebIdentity, recorded: UrlList) -> UrlFile:
    """Return the URLs that a run has begun with; refuse to go on when they are not the same any more."""
    if recorded.source is None:
        urls = urls_of_web(engine, web=web.name, seed=web.seed, limit=recorded.count)
    else:
        urls = UrlFile(ScratchFile(), recorded.count, recorded.source)
    try:
        if recorded.source is not None:
            restore_list(folder, urls.file.file)
        if urls.identity() != recorded:
            raise NotResumable(
                f"{folder}: the list of URLs is not the one that the run was begun with; begin a new run"
            )
    except BaseException:
        urls.file.close()
        raise
    return urls


def written(urls: Iterable[bytes], source: str) -> UrlFile:
    """Write URLs into a file, one a line; raise EmptyList when there is none."""
    file = ScratchFile()
    count = 0
    try:
        for url in urls:
            with storage_errors("preparing the list of URLs: cannot write"):
                file.file.write(url + b"\n")
            count += 1
        with storage_errors("preparing the list of URLs: cannot write"):
            file.file.flush()
        if count == 0:
            name = "standard input" if source == STANDARD_INPUT else source
            raise EmptyList(f"there is no URL in {name}; give one URL or domain a line")
    except BaseException:
        file.close()
        raise
    return UrlFile(file, count, source)
