"""Options of the search for a concurrency, one field each."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.crawl.options import UrlOptions
from httpdyno.experiments.option_fields import option
from httpdyno.experiments.options import Verb, quick_option, seconds

NAME: Final = "tune"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions(UrlOptions):
    """Options of a search; None: not given."""

    limit: int | None = option(
        None,
        "--limit N",
        "Most URLs of a trial. Default: as many as a fast client can fetch in its time.",
        environment="LIMIT",
        least=1,
        stored=False,
    )
    deadline_s: float | None = option(
        None,
        "--duration TIME",
        "Deadline of a trial: seconds, or with a unit (20s). Default: two timeouts and 2 s, or one with --quick.",
        environment="DURATION",
        read=seconds,
    )
    quick: Annotated[
        bool,
        quick_option(
            "at most 6 trials a client, of half the time and so of half the URLs. What it finds is not kept for "
            "--concurrency auto."
        ),
    ] = False


VERB: Final = Verb(
    NAME,
    TuneOptions,
    help="""Find the concurrency with the most right answers a second, in at most 12 short trials a client, and keep it.

    More errors or late answers than at low concurrency rule one out; of those that are equally good the smallest is
    chosen. `bench --concurrency auto` uses it, on this machine and with the same web.
    """,
    names="Clients, such as go-net-http; several take turns, and share one chart.",
    must_name=True,
    fetcher=True,
    examples=(
        ("httpdyno tune node-fetch", "find the best concurrency"),
        ("httpdyno tune go-net-http rust-reqwest", "two clients, each up to its best, in one chart"),
        ("httpdyno tune node-fetch --quick", "a first look, in half a minute"),
        ("httpdyno bench node-fetch --concurrency auto", "use the result"),
    ),
)
