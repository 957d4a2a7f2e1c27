"""The list of a crawl, asked of one origin on another machine: URLs keep their paths and get its name."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.urls.source import UrlFile

__all__ = ["at_origin", "file_at_origin", "list_at_origin"]


def at_origin(url: str, against: str) -> str:
    """Return the URL that asks another machine's origin, ``http://other:8080``, for the same.

    What has no path of its own gets the host as one, so that pages of different hosts stay different ones:
    ``https://www.example.org`` becomes ``http://other:8080/www.example.org``. What is no URL is handed on as it stands,
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


def list_at_origin(lines: Iterable[bytes], against: str) -> Iterator[bytes]:
    """Ask another machine's origin for each URL of a list, in its order, as ``at_origin`` does; no line ends."""
    for line in lines:
        try:
            yield at_origin(line.decode(), against).encode()
        except UnicodeDecodeError:
            yield line


def file_at_origin(urls: UrlFile, against: str) -> UrlFile:
    """Ask another machine's origin for each URL of a prepared list, which is closed."""
    file = ScratchFile()
    try:
        with urls, urls.file.path.open("rb") as lines, storage_errors("preparing the list of URLs: cannot write"):
            for url in list_at_origin((line.rstrip(b"\n") for line in lines), against):
                file.file.write(url + b"\n")
            file.file.flush()
    except BaseException:
        file.close()
        raise
    # Not to be had from the web again as it stands: it is kept with the run, like a list of the user.
    return replace(urls, file=file, source=urls.source or against)
