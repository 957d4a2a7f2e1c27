"""What can be said of a crawl: the options of ``try`` and ``bench``, and those that ``tune`` shares, each a field."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.crawl.budget import BUDGET_S, TRIAL_URLS
from httpdyno.experiments.options import (
    AGAINST,
    DURATION,
    HTTP_VERSION,
    LINK,
    LINK_SEED,
    MEMORY,
    REPEAT,
    SEED,
    TIMEOUT,
    USER_AGENT,
    Group,
    Option,
    preset_option,
    quick_option,
    scale_option,
    seconds,
    web_option,
)
from httpdyno.experiments.verb import Example, Verb
from httpdyno.model import LIVE, Workload

__all__ = ["AUTO", "NAME", "VERB", "WEB", "AskedUrls", "BenchOptions", "CrawlOptions"]

NAME: Final = "bench"
WEB: Final = "top-sites"
"""What is crawled when nobody says."""
AUTO: Final = "auto"
_MOST: Final = 1_000_000
"""No machine has so many ports; a number beyond is a slip of the keyboard."""


def _concurrency(text: str, flag: str) -> int | str | None:
    word = text.strip()
    if not word or word == AUTO:
        return word or None
    number = int(word) if word.isascii() and word.isdigit() and len(word) <= len(str(_MOST)) else 0
    if not 1 <= number <= _MOST:
        raise InvalidValue(f"{flag}: {text[:40]!r} is not understood; give a number from 1 to {_MOST:,}, or auto")
    return number


_DEADLINE = replace(DURATION, help=f"{DURATION.help} Default: 600, or less with --quick.")
_URLS = Option(
    "--urls",
    "A list of URLs or bare domains, or a table of domains (CSV), also as .gz or .zip; - reads standard input.",
    metavar="FILE|-",
    stored=False,
)
_LIMIT = Option(
    "--limit",
    "How many URLs. Default: all of a list, the first 2,000 of a web.",
    metavar="N",
    environment="LIMIT",
    least=1,
    stored=False,
)
_CONCURRENCY = Option(
    "--concurrency",
    "Requests in flight at once; auto: what tune has found here. Default: each subject's own.",
    metavar="N|auto",
    environment="CONCURRENCY",
    read=_concurrency,
)
_PER_HOST = Option(
    "--per-host", "Live web: URLs of one host in flight at once. Default: 1.", metavar="N", least=1, group=Group.LIVE
)
_PER_HOST_INTERVAL = Option(
    "--per-host-interval",
    "Live web: the least time between two URLs of one host: seconds, or with a unit (200ms). Default: none.",
    metavar="TIME",
    read=seconds,
    group=Group.LIVE,
)
_CONTACT = Option(
    "--contact",
    "Live web: how you can be reached, a mail address or a page; it stands in the user agent.",
    metavar="TEXT",
    environment="HTTPDYNO_CONTACT",
    stored=False,
    group=Group.LIVE,
)
_YES = Option("--yes", "Live web: start without asking.", stored=False, group=Group.LIVE)
_ALL = Option(
    "--all",
    "Every client there is, not only the usual eleven.",
    stored=False,
    group=Group.MACHINE,
)
_REPEAT = replace(
    REPEAT,
    help=f"Blocks: how often each subject runs, interleaved. Default: what fits in {BUDGET_S / 60:.0f} minutes, "
    "3 to 9; of --urls at least 5, or 7 for more than five subjects.",
)
_BENCH_LIMIT = replace(_LIMIT, help=f"How many URLs. Default: all of a list, the first {TRIAL_URLS} of a web.")
_NO_AGAIN = Option(
    "--no-again",
    "Do not repeat trials that other programs disturbed. Default: repeat at once, up to twice, then once more in a "
    "block at the end; at most half as many trials as were planned.",
    environment="NO_AGAIN",
    group=Group.RUN,
)
_SATURATE = Option(
    "--saturate",
    "Measure each client with as many requests in flight as its CPUs can take, which two short trials find first.",
    environment="SATURATE",
)
_RANK_BY = Option(
    "--rank-by",
    "Rank by this figure. Default: right_per_core_s, what one core gives; right_per_s with --saturate or --preset.",
    metavar="FIGURE",
    group=Group.RESULTS,
    offers=("right_per_core_s", "right_per_s", "cpu_per_right_ms", "p99_ms", "peak_memory_bytes"),
)
_VERBOSE = Option("--verbose", "Print every note, not only the gravest five.", stored=False, group=Group.RESULTS)
_QUICK = quick_option(
    "each subject runs once, with 500 URLs or what a rate needs, unless --repeat or --limit says otherwise."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedUrls:
    """Which URLs are asked of which web, and how."""

    urls: Annotated[str | None, _URLS] = None
    limit: Annotated[int | None, _LIMIT] = None
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    http_version: Annotated[str, HTTP_VERSION] = ""
    user_agent: Annotated[str, USER_AGENT] = ""
    web: Annotated[str | None, web_option(WEB)] = None
    seed: Annotated[int | None, SEED] = None
    link: Annotated[str, LINK] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    against: Annotated[str | None, AGAINST] = None
    memory_bytes: Annotated[int | None, MEMORY] = None

    @property
    def on_live_web(self) -> bool:
        """Whether the real internet is asked."""
        return self.web == LIVE

    def workload(self, file: Path) -> Workload:
        """Return what a client is given; the list lies in a file."""
        return Workload(file, timeout_s=self.timeout_s, user_agent=self.user_agent, http_version=self.http_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(AskedUrls):
    """One crawl as it is asked for; None: not said."""

    concurrency: Annotated[Any, _CONCURRENCY] = None
    deadline_s: Annotated[float | None, _DEADLINE] = None
    web: Annotated[str | None, web_option(WEB, live=True)] = None
    per_host: Annotated[int | None, _PER_HOST] = None
    per_host_interval_s: Annotated[float | None, _PER_HOST_INTERVAL] = None
    contact: Annotated[str, _CONTACT] = ""
    yes: Annotated[bool, _YES] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(CrawlOptions):
    """The crawls of several clients as they are asked for."""

    limit: Annotated[int | None, _BENCH_LIMIT] = None
    every: Annotated[bool, _ALL] = False
    saturate: Annotated[bool, _SATURATE] = False
    repeat: Annotated[int | None, _REPEAT] = None
    no_again: Annotated[bool, _NO_AGAIN] = False
    quick: Annotated[bool, _QUICK] = False
    preset: Annotated[str | None, preset_option()] = None
    scale: Annotated[str | None, scale_option("URLs")] = None
    rank_by: Annotated[str | None, _RANK_BY] = None
    verbose: Annotated[bool, _VERBOSE] = False


VERB: Final = Verb(
    NAME,
    BenchOptions,
    help="Crawl the same URLs with each client, interleaved, and print the table.",
    names="Default: the usual eleven, which are the ten of the published crawl and Bun, and those of --subjects.",
    fetcher=True,
    examples=(
        Example("httpdyno bench go-net-http rust-reqwest", "two clients, compared"),
        Example("httpdyno bench --quick", "a first look at the eleven"),
        Example("httpdyno bench --saturate", "each at the concurrency that uses its CPU up"),
        Example("httpdyno bench --urls domains.txt --limit 3000", "a list of your own"),
        Example("httpdyno bench go-net-http --link 4g,loss=1%", "over a slow way that loses packets"),
        Example("httpdyno bench --preset published --scale 1/10", "what others have published, measured again"),
        Example("httpdyno bench --resume latest", "go on where it was stopped"),
    ),
)
