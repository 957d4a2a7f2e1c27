"""Options of `try` and `bench`, options shared with `tune`, and default sizes of a crawl."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from httpdyno.errors import InvalidValue
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
    Verb,
    preset_option,
    quick_option,
    scale_option,
    seconds,
    web_option,
)
from httpdyno.model import LIVE

# A crawl has short trials, and as many blocks as a budget of time has room for. Blocks tell subjects apart: nine blocks
# with a third of the URLs each distinguish neighbours that differ by 5 % in 82 % of runs, three whole ones in 7 %. What
# limits their number is the fixed cost of a trial: its start, and one timeout.
TRIAL_URLS: Final = 600
"""The shortest list that has a rate for every usual client: four URLs for each of 150 requests in flight."""
BUDGET_S: Final = 600.0
"""How long a crawl may take by the estimate, which is an upper bound: the eleven usual clients have six blocks in it,
and need about nine minutes."""
TIME_S: Final = 540.0
"""How long its blocks may take by the clock: on a slow or a busy machine the last blocks are left out."""
_FEWEST: Final = 3
"""Fewest blocks with certain differences."""
_MOST_BLOCKS: Final = 9
"""Most blocks; more hardly improve the resolution."""


def block_count(trials_s: Iterable[float], *, least: int = _FEWEST) -> int:
    """Return how many blocks fit into the budget: 3 to 9, and never fewer than ``least``.

    ``trials_s`` are the trials of one block, in seconds each.
    """
    block_s = sum(trials_s)
    fitting = min(BUDGET_S / block_s, _MOST_BLOCKS) if block_s > 0 else _MOST_BLOCKS
    return max(int(fitting), _FEWEST, least)


NAME: Final = "bench"
WEB: Final = "top-sites"
"""The default web of a crawl."""
AUTO: Final = "auto"
_MOST_IN_FLIGHT: Final = 1_000_000
"""Highest concurrency; larger numbers exceed the ports of a machine."""


def _concurrency(text: str, flag: str) -> int | str | None:
    word = text.strip()
    if not word or word == AUTO:
        return word or None
    number = int(word) if word.isascii() and word.isdigit() and len(word) <= len(str(_MOST_IN_FLIGHT)) else 0
    if not 1 <= number <= _MOST_IN_FLIGHT:
        raise InvalidValue(
            f"{flag}: {text[:40]!r} is not understood; give a number from 1 to {_MOST_IN_FLIGHT:,}, or auto"
        )
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
    "Number of URLs. Default: all of a list, the first 2,000 of a web.",
    metavar="N",
    environment="LIMIT",
    least=1,
    stored=False,
)
_CONCURRENCY = Option(
    "--concurrency",
    "Requests in flight at once; auto: the result of tune on this machine. Default: each subject's own.",
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
    "Live web: your mail address or web page, for the user agent.",
    metavar="TEXT",
    environment="HTTPDYNO_CONTACT",
    stored=False,
    group=Group.LIVE,
)
_YES = Option("--yes", "Live web: start without confirmation.", stored=False, group=Group.LIVE)
_ALL = Option(
    "--all",
    "All clients, not only the usual eleven.",
    stored=False,
    group=Group.MACHINE,
)
_REPEAT = replace(
    REPEAT,
    help=f"Number of blocks; each subject runs once in each. Default: what fits in {BUDGET_S / 60:.0f} minutes, "
    "3 to 9; of --urls at least 5, or 7 for more than five subjects.",
)
_BENCH_LIMIT = replace(_LIMIT, help=f"Number of URLs. Default: all of a list, the first {TRIAL_URLS} of a web.")
_NO_AGAIN = Option(
    "--no-again",
    "Do not repeat trials that other programs disturbed. Default: repeat at once, up to twice, then once more in a "
    "block at the end; at most half as many trials as were planned.",
    environment="NO_AGAIN",
    group=Group.RUN,
)
_SATURATE = Option(
    "--saturate",
    "Measure each client at the concurrency that saturates its CPUs, found by two short trials.",
    environment="SATURATE",
)
_RANK_BY = Option(
    "--rank-by",
    "Metric of the ranking. Default: right_per_core_s, or right_per_s with --saturate or --preset.",
    metavar="FIGURE",
    group=Group.RESULTS,
    offers=("right_per_core_s", "right_per_s", "cpu_per_right_ms", "p99_ms", "peak_memory_bytes"),
)
_VERBOSE = Option("--verbose", "Print all notes, not only the five most serious.", stored=False, group=Group.RESULTS)
_QUICK = quick_option(
    "each subject runs once, with 500 URLs or what a rate needs, unless --repeat or --limit says otherwise."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlOptions:
    """Options of URLs, web and requests."""

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
        """Whether the crawl uses the real internet."""
        return self.web == LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(UrlOptions):
    """Options of one crawl; None: not given."""

    concurrency: Annotated[Any, _CONCURRENCY] = None
    deadline_s: Annotated[float | None, _DEADLINE] = None
    web: Annotated[str | None, web_option(WEB, live=True)] = None
    per_host: Annotated[int | None, _PER_HOST] = None
    per_host_interval_s: Annotated[float | None, _PER_HOST_INTERVAL] = None
    contact: Annotated[str, _CONTACT] = ""
    yes: Annotated[bool, _YES] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(CrawlOptions):
    """Options of the crawls of several clients."""

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
        ("httpdyno bench go-net-http rust-reqwest", "two clients, compared"),
        ("httpdyno bench --quick", "a first look at the eleven"),
        ("httpdyno bench --saturate", "each at the concurrency that saturates its CPU"),
        ("httpdyno bench --urls domains.txt --limit 3000", "a list of your own"),
        ("httpdyno bench go-net-http --link 4g,loss=1%", "over a slow, lossy link"),
        ("httpdyno bench --preset published --scale 1/10", "repeat a published measurement"),
        ("httpdyno bench --resume latest", "continue an interrupted run"),
    ),
)
