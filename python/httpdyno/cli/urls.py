"""``httpdyno urls``: the URLs of a web, or a list made ready for a client."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.options import Limit, Seed

__all__ = ["urls"]


def urls(
    source: Annotated[str, typer.Argument(metavar="WEB|FILE|-", help="A web, or a list of URLs or bare domains.")],
    limit: Limit = None,
    seed: Seed = None,
) -> None:
    """Print URLs, one a line: those of a web, or those of a list with https:// put before bare domains."""
    from httpdyno.cli.terminal import reader_may_leave
    from httpdyno.experiments.url_source import STANDARD_INPUT, urls_of_list, urls_of_web
    from httpdyno.lab.engine import Engine
    from httpdyno.lab.location import find_engine

    path = Path(source)
    if source == STANDARD_INPUT or (path.is_file() and path.suffix != ".toml"):
        prepared = urls_of_list(source, limit=limit)
    else:
        prepared = urls_of_web(Engine(find_engine()), web=source, seed=seed, limit=limit)
    with prepared, prepared.file.path.open("rb") as lines, reader_may_leave():
        shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.flush()
