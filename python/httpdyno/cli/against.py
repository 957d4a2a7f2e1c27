"""``--against`` beside the options of a crawl: where no web was named, that of the other machine is taken."""

from dataclasses import replace
from typing import TypeVar

from httpdyno.cli.terminal import tell
from httpdyno.experiments.against import agreed, refuse_beside
from httpdyno.experiments.crawl.options import AskedUrls
from httpdyno.lab.engine import Engine

__all__ = ["settle_against"]

_Asked = TypeVar("_Asked", bound=AskedUrls)


def settle_against(options: _Asked, engine: Engine) -> _Asked:
    """Ask another machine's origin who it is; where no web was named here, its own is taken.

    Parameters
    ----------
    options : AskedUrls
        Those without ``against`` come back as they are.
    engine : Engine
        Asks.

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
    url, web, seed = agreed(options.against, engine, tell, web=options.web, seed=options.seed)
    return replace(options, against=url, web=web, seed=seed)
