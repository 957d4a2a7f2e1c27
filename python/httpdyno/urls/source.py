"""Where the URLs of a crawl come from: a web, a file or standard input, copied into one file for all trials."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from httpdyno.errors import EmptyList, NotResumable
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.store import UrlList, WebIdentity, has_list, restore_list

__all__ = [
    "DEFAULT_WEB_LIMIT",
    "QUICK_LIMIT",
    "STANDARD_INPUT",
    "UrlFile",
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
    no_urls: int = 0
    """How many of them are none: lines of a list are handed on as they stand."""
    remark: str = ""
    """What was left out of the list, or is no URL, in one line; empty: nothing."""
    reordered: bool = False
    """Whether the URLs have another order than their source has."""

    @property
    def kept(self) -> bool:
        """Whether a run keeps the list, since the web does not give it again as it is."""
        return self.source is not None or self.reordered

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


def urls_of_run(folder: Path, engine: Engine, web: WebIdentity, recorded: UrlList) -> UrlFile:
    """Return the URLs that a run has begun with; refuse to go on when they are not the same any more."""
    kept = recorded.source is not None or has_list(folder)
    if kept:
        urls = UrlFile(ScratchFile(), recorded.count, recorded.source)
    else:
        urls = urls_of_web(engine, web=web.name, seed=web.seed, limit=recorded.count)
    try:
        if kept:
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
            raise EmptyList(f"{name}: there is no URL in it; give one URL or domain a line")
    except BaseException:
        file.close()
        raise
    return UrlFile(file, count, source)
