"""What can be said of a search for a concurrency: its options, each a field."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.crawl.options import AskedUrls
from httpdyno.experiments.options import Option, seconds

__all__ = ["NAME", "TuneOptions"]

NAME: Final = "tune"
_LIMIT = Option(
    "--limit",
    "How many URLs a trial has at most. Default: as many as a fast client can get through in its time.",
    metavar="N",
    environment="LIMIT",
    least=1,
    stored=False,
)
_DURATION = Option(
    "--duration",
    "When a trial is ended: seconds, or with a unit (20s). Default: two timeouts and 2 s.",
    metavar="TIME",
    environment="DURATION",
    read=seconds,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions(AskedUrls):
    """A search as it is asked for; None: not said."""

    limit: Annotated[int | None, _LIMIT] = None
    deadline_s: Annotated[float | None, _DURATION] = None
