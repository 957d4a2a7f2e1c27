"""Options of `try` and `bench`, options shared with `tune`, and default sizes of a crawl."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.option_fields import Group, option
from httpdyno.experiments.options import (
    DURATION,
    REPEAT,
    TIMEOUT,
    RoomOptions,
    Verb,
    preset_option,
    quick_option,
    scale_option,
    seconds,
    web_option,
)
from httpdyno.model import LIVE

HTTP_VERSIONS: Final = ("1.1", "2")

# A crawl has short trials, and as many blocks as fit into a time budget, because blocks distinguish subjects: nine
# blocks with a third of the URLs each distinguish neighbours that differ by 5 % in 82 % of runs, three blocks with all
# URLs in 7 %. The fixed cost of a trial, which is its start and one timeout, limits the number of blocks.
TRIAL_URLS: Final = 600
"""The shortest list that has a rate for every default client: four URLs for each of 150 requests in flight."""
BUDGET_S: Final = 600.0
"""Time budget of a crawl, compared with its estimated time, which is an upper bound: six blocks of the eleven default
clients fit into it, and take about nine minutes."""
TIME_S: Final = 540.0
"""Time budget of the blocks, compared with the elapsed time: a slow or busy machine leaves out the last blocks."""
_FEWEST: Final = 3
"""Fewest blocks for which differences can be certain."""
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
            f"{text[:40]!r} is not understood; give a number from 1 to {_MOST_IN_FLIGHT:,}, or auto", option=flag
        )
    return number


def _http_version(text: str, flag: str) -> str:
    version = text.strip()
    if version and version not in HTTP_VERSIONS:
        raise InvalidValue(f"{version[:40]!r} is not understood; give {' or '.join(HTTP_VERSIONS)}", option=flag)
    return version


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlOptions(RoomOptions):
    """Options of URLs, web and requests."""

    urls: str | None = option(
        None,
        "--urls FILE|-",
        "A list of URLs or bare domains, or a table of domains (CSV), also as .gz or .zip; - reads standard input.",
        stored=False,
    )
    limit: int | None = option(
        None,
        "--limit N",
        "Number of URLs. Default: all of a list, the first 2,000 of a web.",
        environment="LIMIT",
        least=1,
        stored=False,
    )
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    http_version: str = option(
        "",
        "--http-version 1.1|2",
        "HTTP version of all clients; clients without support are unavailable. Default: each client's own.",
        environment="HTTP_VERSION",
        read=_http_version,
        offers=HTTP_VERSIONS,
    )
    user_agent: str = option(
        "", "--user-agent TEXT", "User agent to send. Default: each client's own.", environment="USER_AGENT"
    )
    web: Annotated[str | None, web_option(WEB)] = None

    @property
    def on_live_web(self) -> bool:
        """Whether the crawl uses the real internet."""
        return self.web == LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(UrlOptions):
    """Options of one crawl; None: not given."""

    concurrency: int | str | None = option(
        None,
        "--concurrency N|auto",
        "Requests in flight at once; auto: the result of tune on this machine. Default: each subject's own.",
        environment="CONCURRENCY",
        read=_concurrency,
    )
    deadline_s: Annotated[
        float | None, replace(DURATION, help=f"{DURATION.help} Default: 600, or less with --quick.")
    ] = None
    web: Annotated[str | None, web_option(WEB, live=True)] = None
    per_host: int | None = option(
        None, "--per-host N", "Live web: URLs of one host in flight at once. Default: 1.", least=1, group=Group.LIVE
    )
    per_host_interval_s: float | None = option(
        None,
        "--per-host-interval TIME",
        "Live web: the least time between two URLs of one host: seconds, or with a unit (200ms). Default: none.",
        read=seconds,
        group=Group.LIVE,
    )
    contact: str = option(
        "",
        "--contact TEXT",
        "Live web: your mail address or web page, for the user agent.",
        environment="HTTPDYNO_CONTACT",
        stored=False,
        group=Group.LIVE,
    )
    yes: bool = option(False, "--yes", "Live web: start without confirmation.", stored=False, group=Group.LIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(CrawlOptions):
    """Options of the crawls of several clients."""

    limit: int | None = option(
        None,
        "--limit N",
        f"Number of URLs. Default: all of a list, the first {TRIAL_URLS} of a web.",
        environment="LIMIT",
        least=1,
        stored=False,
    )
    every: bool = option(False, "--all", "All clients, not only the usual eleven.", stored=False, group=Group.MACHINE)
    saturate: bool = option(
        False,
        "--saturate",
        "Measure each client at the concurrency that saturates its CPUs, found by two short trials.",
        environment="SATURATE",
    )
    repeat: Annotated[
        int | None,
        replace(
            REPEAT,
            help=f"Number of blocks; each subject runs once in each. Default: what fits in {BUDGET_S / 60:.0f} "
            "minutes, 3 to 9; of --urls at least 5, or 7 for more than five subjects.",
        ),
    ] = None
    no_again: bool = option(
        False,
        "--no-again",
        "Do not repeat trials that other programs disturbed. Default: repeat at once, up to twice, then once more in a "
        "block at the end; at most half as many trials as were planned.",
        environment="NO_AGAIN",
        group=Group.RUN,
    )
    quick: Annotated[
        bool,
        quick_option(
            "each subject runs once, with 500 URLs or what a rate needs, unless --repeat or --limit says otherwise."
        ),
    ] = False
    preset: Annotated[str | None, preset_option()] = None
    scale: Annotated[str | None, scale_option("URLs")] = None
    rank_by: str | None = option(
        None,
        "--rank-by FIGURE",
        "Metric of the ranking. Default: right_per_core_s, or right_per_s with --saturate or --preset.",
        group=Group.RESULTS,
        offers=("right_per_core_s", "right_per_s", "cpu_per_right_ms", "p99_ms", "peak_memory_bytes"),
    )
    verbose: bool = option(
        False, "--verbose", "Print all notes, not only the five most serious.", stored=False, group=Group.RESULTS
    )


VERB: Final = Verb(
    NAME,
    BenchOptions,
    help="Crawl the same URLs with each client, interleaved, and print the table.",
    names="Default: eleven, which are the ten of the published crawl and Bun, and those of --subjects.",
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
