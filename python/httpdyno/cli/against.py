"""``--against`` beside the options of a crawl: where no web was named, that of the other machine is taken."""

from dataclasses import replace
from typing import TYPE_CHECKING

from httpdyno.cli.terminal import tell
from httpdyno.experiments.against import agreed, refuse_beside
from httpdyno.lab.engine import Engine

if TYPE_CHECKING:
    import typer

    from httpdyno.cli.session import CrawlOptions

__all__ = ["given", "settle_against"]


def given(context: "typer.Context", name: str) -> bool:
    """Return whether an option was typed, or set by the environment: one that was not may follow the other machine."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def settle_against(options: "CrawlOptions", engine: Engine, *, web_given: bool) -> "CrawlOptions":
    """Ask another machine's origin who it is; where no web was named here, its own is taken.

    Parameters
    ----------
    options : CrawlOptions
        Those without ``against`` come back as they are.
    engine : Engine
        Asks.
    web_given : bool
        Whether the web was named, or is only the usual one.

    Raises
    ------
    UsageError
        If ``--link`` stands beside it, or it plays another web than the one that was named.
    InvalidValue
        If it cannot be reached, or is no origin of this version; the message says what to do.
    """
    if options.against is None:
        return options
    refuse_beside(link=options.link)
    url, web, seed = agreed(options.against, engine, tell, web=options.web if web_given else None, seed=options.seed)
    return replace(options, against=url, web=web, seed=seed)
