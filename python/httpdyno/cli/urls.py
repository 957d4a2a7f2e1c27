"""``httpdyno urls``: the URLs of a web, or a list made ready for a client."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_own_webs
from httpdyno.cli.options import Limit, Seed
from httpdyno.cli.terminal import messages, reader_may_leave, tell
from httpdyno.errors import UnknownName, UsageError
from httpdyno.experiments.options import WEBS
from httpdyno.lab.location import find_engine
from httpdyno.model import LIVE

if TYPE_CHECKING:
    from httpdyno.urls.download import Received
    from httpdyno.urls.source import UrlFile

__all__ = ["urls"]


def urls(
    source: Annotated[
        str,
        typer.Argument(
            metavar="WEB|FILE|-|https://...",
            help="A web; or a list of URLs or bare domains, or a table of domains (CSV), also as .gz or .zip.",
            autocompletion=complete_own_webs,
        ),
    ],
    limit: Limit = None,
    seed: Seed = None,
) -> None:
    """Print URLs, one a line: those of a web, or those of a list with https:// put before bare domains.

    Of a table of domains (DomCop's, Tranco's, Majestic's, Umbrella's, Chrome's) each site is printed once, as
    https://domain/; what is no name of a host or has no public site is left out, and counted on stderr.
    """
    with _prepared(source, limit, seed) as prepared, prepared.file.path.open("rb") as lines, reader_may_leave():
        shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.flush()


def _prepared(source: str, limit: int | None, seed: int | None) -> "UrlFile":
    from httpdyno.lab.engine import Engine
    from httpdyno.urls.list_file import is_remote
    from httpdyno.urls.preparation import prepare_urls
    from httpdyno.urls.source import STANDARD_INPUT, urls_of_web

    path = Path(source)
    if source == STANDARD_INPUT or is_remote(source) or (path.is_file() and path.suffix != ".toml"):
        with _download_shown(source) as progress:
            prepared, left_out = prepare_urls(source, limit=limit, progress=progress)
        if left_out.text:
            tell(left_out.text)
        return prepared
    if source == LIVE:
        raise UsageError("urls live: the real internet has no list of its own; give a file or https://...")
    if source not in WEBS and not path.is_file():
        raise UnknownName(f"urls: {source[:200]!r} is no file, and no web ({', '.join(WEBS)})")
    return urls_of_web(Engine(find_engine()), web=source, seed=seed, limit=limit)


@contextmanager
def _download_shown(source: str) -> Iterator["Received"]:
    """Draw a bar on stderr while something is downloaded, when that is a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = messages()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(30), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = None

        def show(received: int, expected: int | None) -> None:
            nonlocal task
            if task is None:
                task = bars.add_task(source, total=None)
            bars.update(task, completed=received, total=expected)

        yield show
