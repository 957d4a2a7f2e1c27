"""``httpdyno urls``: the URLs of a web, or a list made ready for a client."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from httpdyno.cli.completion import offer_own_webs
from httpdyno.cli.terminal import ignore_closed_pipe, messages, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue, UnknownName, UsageError
from httpdyno.experiments.option_fields import Option

if TYPE_CHECKING:
    from httpdyno.urls.source import UrlFile


@verb(
    "urls",
    examples=(
        ("httpdyno urls top-sites --limit 500", "those of a web"),
        ("httpdyno urls top10milliondomains.csv.zip --limit 1000 > urls.txt", "of a table of domains"),
        ("httpdyno urls https://tranco-list.eu/top-1m.csv.zip --limit 1000 > urls.txt", "of a table to download"),
    ),
)
def urls(
    source: Annotated[
        str | None,
        Option(
            "WEB|FILE|-|https://...",
            "A web; or a list of URLs or bare domains, or a table of domains (CSV), also as .gz or .zip.",
            offers=offer_own_webs,
        ),
    ] = None,
    listed: Annotated[str | None, Option("--urls FILE|-", "A list, as other verbs are given it.")] = None,
    limit: Annotated[
        int | None,
        Option(
            "--limit N",
            "Number of URLs. Default: all of a list, the first 2,000 of a web.",
            least=1,
            environment="LIMIT",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option(
            "--seed N",
            "Seed of the web and of the order of trials.",
            least=0,
            most=2**64 - 1,
            shown_default="the web's own",
        ),
    ] = None,
) -> None:
    """Print URLs, one a line: those of a web, or those of a list with https:// put before bare domains.

    Of a table of domains (DomCop's, Tranco's, Majestic's, Umbrella's, Chrome's) each site is printed once, as
    https://domain/; entries that are not host names or have no public site are left out, and counted on stderr.
    """
    from httpdyno.urls.list_file import is_remote
    from httpdyno.urls.source import STANDARD_INPUT

    if (source is None) == (listed is None):
        raise UsageError("urls: name one web or one list, as in: httpdyno urls domains.csv")
    name, path = listed or source or "", Path(source or "")
    is_list = listed or name == STANDARD_INPUT or is_remote(name) or (path.is_file() and path.suffix != ".toml")
    with (
        _list_urls(name, limit) if is_list else _web_urls(name, limit, seed) as prepared,
        prepared.file.path.open("rb") as lines,
        ignore_closed_pipe(),
    ):
        shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.flush()


def _list_urls(source: str, limit: int | None) -> "UrlFile":
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from httpdyno.urls.preparation import prepare_urls

    console = messages()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(30), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(source, total=None, visible=False)

        def show(received: int, expected: int | None) -> None:
            bars.update(task, completed=received, total=expected, visible=True)

        prepared = prepare_urls(source, limit=limit, progress=show)
    if prepared.remark:
        tell(prepared.remark)
    return prepared


def _web_urls(web: str, limit: int | None, seed: int | None) -> "UrlFile":
    from httpdyno.experiments.options import WEBS
    from httpdyno.lab.engine import Engine
    from httpdyno.model import LIVE
    from httpdyno.subjects.engine_program import find_engine
    from httpdyno.urls.source import urls_of_web

    if web == LIVE:
        raise UsageError("urls live: the real internet has no list of its own; give a file or https://...")
    if web not in WEBS and not Path(web).is_file():
        raise UnknownName(f"urls: {web[:200]!r} is not a file, and no web ({', '.join(WEBS)})")
    try:
        return urls_of_web(Engine(find_engine()), web=web, seed=seed, limit=limit)
    except InvalidValue as error:
        # The engine takes it as an option.
        line = f"{web}: {error.message}" if error.option == f"--web {web}" else error.line
        raise InvalidValue(line, option="urls") from error
