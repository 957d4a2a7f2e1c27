"""From the options of a verb to what an experiment takes: URLs, workload, place."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import typer

from httpdyno.cli.concurrency import AUTO, parse_concurrency
from httpdyno.cli.http_version import parse_http_version
from httpdyno.cli.live import LiveOptions, Traffic, confirm, live_user_agent, require_answer
from httpdyno.cli.terminal import tell
from httpdyno.errors import EmptyList, InvalidValue, UsageError
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.options import WEBS
from httpdyno.experiments.schedule import usual_repeat
from httpdyno.lab.engine import Engine, ServedWeb
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.location import find_engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import (
    LIVE,
    Link,
    Subject,
    Workload,
    format_cpus,
    optional_size_bytes,
    parse_cpus,
    parse_duration_ns,
)
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.subjects.cache import cache_folder
from httpdyno.urls.against_list import file_at_origin
from httpdyno.urls.hosts import count_hosts
from httpdyno.urls.source import QUICK_LIMIT, STANDARD_INPUT, UrlFile, urls_of_list, urls_of_web

__all__ = [
    "CrawlOptions",
    "begin_crawl",
    "make_crawl",
    "make_place",
    "open_urls",
    "options_of_environment",
    "traffic_of",
]


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of ``bench`` and ``try`` as they were typed."""

    web: str
    seed: int | None
    timeout: str
    duration: str
    user_agent: str
    concurrency: str | None
    memory: str | None
    repeat: int | None = None
    quick: bool = False
    preset: str | None = None
    live: LiveOptions = field(default_factory=LiveOptions)
    link: str = "direct"
    link_seed: int = 1
    against: str | None = None
    http_version: str | None = None

    @property
    def on_live_web(self) -> bool:
        """Whether the real internet is asked."""
        return self.web == LIVE


def make_crawl(options: CrawlOptions, urls: UrlFile, place: Place) -> Crawl:
    """Make the crawl that the options describe; the engine says which seed a web has of its own.

    Raises
    ------
    InvalidValue
        If one of them cannot be read, the message names it; if there is no such web.
    """
    timeout_ns = parse_duration_ns(options.timeout, name="--timeout")
    user_agent = options.user_agent
    if options.on_live_web:
        web = ServedWeb(LIVE, 1 if options.seed is None else options.seed, None)
        user_agent = user_agent or live_user_agent(options.live.contact)
    else:
        web = place.engine.web(options.web, seed=options.seed)
    return Crawl(
        workload=Workload(
            urls=urls.file.path,
            timeout_s=timeout_ns / 1e9,
            user_agent=user_agent,
            http_version=parse_http_version(options.http_version),
        ),
        web=_lasting(options.web),
        seed=web.seed,
        web_digest=web.digest,
        concurrency=None if (asked := parse_concurrency(options.concurrency)) == AUTO else asked,
        deadline_s=parse_duration_ns(options.duration, name="--duration") / 1e9,
        memory_bytes=optional_size_bytes(options.memory, name="--memory"),
        per_host=options.live.per_host or 1,
        per_host_interval_s=options.live.per_host_interval_s,
        link=str(Link.parse(options.link)),
        link_seed=options.link_seed,
        against=options.against,
        repeat=options.repeat,
        quick=options.quick,
        preset=options.preset,
    )


@contextmanager
def begin_crawl(
    options: CrawlOptions,
    subjects: Sequence[Subject],
    place: Place,
    interruption: Interruption,
    *,
    urls: str | None,
    limit: int | None,
    piped: bool = False,
) -> Iterator[PendingRun]:
    """Begin the crawl that the options describe.

    Raises
    ------
    UsageError
        If an option cannot be used as it stands.
    StorageFailed
        If the folder of runs cannot be written.
    Interrupted
        At a signal while the list is read.
    """
    options.live.check(options.web, options.link)
    asked = parse_concurrency(options.concurrency)
    if options.on_live_web:
        require_answer(options.live)
    with open_urls(place, options, interruption, urls=urls, limit=limit, piped=piped) as prepared:
        crawl = make_crawl(options, prepared, place)
        if asked == AUTO:
            subjects = _as_tuned(subjects, crawl, place)
        if options.on_live_web:
            repeat = usual_repeat(len(subjects), quick=options.quick) if options.repeat is None else options.repeat
            confirm(traffic_of(crawl, prepared, len(subjects) * repeat), options.live, interruption)
        with begin_run(crawl, subjects, prepared, place) as run:
            yield run


def _as_tuned(subjects: Sequence[Subject], crawl: Crawl, place: Place) -> list[Subject]:
    """Set the concurrencies of subjects that were found here, and say of each where its own comes from."""
    from httpdyno.experiments.tune.tuned import with_tuned

    tuned = with_tuned(subjects, place, crawl)
    for one in tuned:
        tell(one.line)
    return [one.subject for one in tuned]


def traffic_of(crawl: Crawl, urls: UrlFile, trials: int) -> Traffic:
    """Return what so many trials of a crawl send to the real internet."""
    with urls.file.path.open("rb") as lines:
        return Traffic(trials, urls.count, count_hosts(lines), crawl.per_host, crawl.workload.user_agent)


def options_of_environment(context: typer.Context) -> tuple[str, ...]:
    """Return the options that variables of the environment have set, as they would be typed: ``("--limit", "500")``.

    The command of a run has them too: without them it would not repeat the run. ``FORMAT`` only decides how a table is
    printed.
    """
    given = [
        (parameter.opts[0], str(context.params[parameter.name]))
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name != "format"
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "ENVIRONMENT"
    ]
    return tuple(word for option in given for word in option)


def make_place(cpus: str | None, runs: Path | None, *, environment: Sequence[str] = ()) -> Place:
    """Find the engine and the cache; read ``--cpus SUBJECT[:ENGINE]``.

    Parameters
    ----------
    cpus : str, optional
        As it was typed.
    runs : Path, optional
        Folder of runs.
    environment : sequence of str
        Options that were not typed and belong to the command all the same.

    Raises
    ------
    EngineFailed
        If there is no engine.
    InvalidValue
        If ``cpus`` has an empty part, or names a CPU that this process may not use.
    """
    subject, _, engine = (cpus or "").partition(":")
    if cpus is not None and (not subject or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0,1")
    available = os.sched_getaffinity(0)
    for part in filter(None, (subject, engine)):
        if absent := parse_cpus(part, name="--cpus") - available:
            raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    return Place(
        engine=Engine(find_engine()),
        pinning=Pinning(subject or None, engine or None),
        cache=cache_folder(),
        runs=runs,
        command=("httpdyno", *sys.argv[1:2], *environment, *sys.argv[2:]),
    )


def open_urls(
    place: Place,
    options: CrawlOptions,
    interruption: Interruption,
    *,
    urls: str | None,
    limit: int | None,
    piped: bool = False,
) -> UrlFile:
    """Get the list ready: from a file, from standard input, or from the web itself.

    Parameters
    ----------
    place, options
        Where the engine is, and which web is asked when there is no list.
    interruption : Interruption
        A signal ends the reading at once: nobody knows how long a pipe stays open.
    urls : str, optional
        The list that was asked for: a file, or ``-``.
    limit : int, optional
        How many URLs at most; None: all, or those of a first look.
    piped : bool
        Whether what is piped in is a list, too. One that is empty is none when a ``limit`` says how many URLs of the
        web are wanted instead: commands that run unattended inherit such pipes.

    Raises
    ------
    UsageError
        If the list cannot be read or is empty.
    InvalidValue
        If there is no such web.
    Interrupted
        At a signal.
    """
    if options.on_live_web and urls is None and not (piped and _is_piped()):
        raise UsageError(
            "--web live: the real internet has no list of its own; give one with --urls FILE"
            " ('httpdyno urls FILE.csv' or 'httpdyno urls https://...' makes one of a list of domains)"
        )
    if limit is None and options.quick:
        limit = QUICK_LIMIT
    with interruption.at_once("the list of URLs was being read"):
        listed = _listed(place, options, urls=urls, limit=limit, piped=piped)
        return listed if options.against is None else file_at_origin(listed, options.against)


def _listed(place: Place, options: CrawlOptions, *, urls: str | None, limit: int | None, piped: bool) -> UrlFile:
    if urls is not None:
        return urls_of_list(urls, limit=limit)
    if piped and _is_piped():
        try:
            return urls_of_list(STANDARD_INPUT, limit=limit)
        except EmptyList:
            if limit is None or options.on_live_web:
                raise
    return urls_of_web(place.engine, web=options.web, seed=options.seed, limit=limit)


def _lasting(web: str) -> str:
    """Return the path of a web's model such that it is found from everywhere, as a run may be resumed there."""
    return str(Path(web).absolute()) if web not in {*WEBS, LIVE} and Path(web).is_file() else web


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file; a terminal and ``/dev/null`` are meant as a list by nobody."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
