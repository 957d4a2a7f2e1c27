"""The list of a crawl as it is asked for: a file, standard input, the web itself, or another machine's origin."""

import os
import stat
import sys

from httpdyno.errors import EmptyList, NothingMeasured, UsageError
from httpdyno.experiments.beginning import Tell
from httpdyno.experiments.crawl.options import WEB, AskedUrls
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.urls.preparation import prepare_urls
from httpdyno.urls.source import STANDARD_INPUT, UrlFile, file_at_origin, urls_of_web

__all__ = ["open_urls", "remark_on"]


def open_urls(engine: Engine, options: AskedUrls, interruption: Interruption, *, piped: bool = False) -> UrlFile:
    """Get the list ready.

    ``piped``: what is piped in is a list, too; an empty one is none when ``limit`` says how many URLs of the web are
    wanted instead, since commands that run unattended inherit such pipes. A signal ends the reading at once: nobody
    knows how long a pipe stays open.
    """
    if options.on_live_web and options.urls is None and not (piped and _is_piped()):
        raise UsageError(
            "--web live: the real internet has no list of its own;"
            " give one with --urls: a file or https://..., of URLs or a table of domains"
        )
    with interruption, interruption.at_once("the list of URLs was being read"):
        listed = _listed(engine, options, piped=piped)
        return listed if options.against is None else file_at_origin(listed, options.against)


def remark_on(urls: UrlFile, tell: Tell) -> None:
    """Tell what of a list cannot be asked for; where that is all of it, there is nothing to measure."""
    if urls.no_urls == urls.count:
        raise NothingMeasured(f"{urls.remark}; nothing was run: give one URL or domain a line")
    if urls.remark:
        tell(urls.remark)


def _listed(engine: Engine, options: AskedUrls, *, piped: bool) -> UrlFile:
    if options.urls is not None:
        return prepare_urls(options.urls, limit=options.limit)
    if piped and _is_piped():
        try:
            return prepare_urls(STANDARD_INPUT, limit=options.limit)
        except EmptyList:
            if options.limit is None or options.on_live_web:
                raise
    return urls_of_web(engine, web=options.web or WEB, seed=options.seed, limit=options.limit)


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file; a terminal and ``/dev/null`` are meant as a list by nobody."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
