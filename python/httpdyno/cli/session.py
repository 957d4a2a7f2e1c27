"""From the options of a verb to what an experiment takes: URLs, workload, place."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from httpdyno.cli.live import Traffic, check_live, confirm, live_user_agent, require_answer
from httpdyno.cli.terminal import tell
from httpdyno.errors import EmptyList, InvalidValue, UsageError
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.options import AUTO, WEB, AskedUrls, BenchOptions
from httpdyno.experiments.options import WEBS, stored_options
from httpdyno.lab.engine import Engine, ServedWeb
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.location import find_engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import LIVE, Subject, format_cpus, parse_cpus
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.subjects.cache import cache_folder
from httpdyno.urls.against_list import file_at_origin
from httpdyno.urls.hosts import count_hosts
from httpdyno.urls.source import STANDARD_INPUT, UrlFile, urls_of_list, urls_of_web

__all__ = [
    "begin_crawl",
    "lasting_web",
    "make_crawl",
    "make_place",
    "open_urls",
    "options_of_environment",
    "traffic_of",
]


def make_crawl(options: BenchOptions, urls: UrlFile, place: Place) -> Crawl:
    """Make the crawl that is asked for; the engine says which seed a web has of its own.

    Raises
    ------
    InvalidValue
        If there is no such web.
    """
    name, seed = options.web or WEB, options.seed
    if options.on_live_web:
        web = ServedWeb(LIVE, 1 if seed is None else seed, None)
    else:
        web = place.engine.web(name, seed=seed)
    found = {
        "concurrency": None if options.concurrency == AUTO else options.concurrency,
        "user_agent": options.user_agent or (live_user_agent(options.contact) if options.on_live_web else ""),
        "per_host": options.per_host or 1,
        "per_host_interval_s": options.per_host_interval_s or 0.0,
        "seed": web.seed,
    }
    return Crawl(**(stored_options(options) | found), file=urls.file.path, web=lasting_web(name), web_digest=web.digest)


@contextmanager
def begin_crawl(
    options: BenchOptions,
    subjects: Sequence[Subject],
    place: Place,
    interruption: Interruption,
    *,
    piped: bool = False,
) -> Iterator[PendingRun]:
    """Begin the crawl that is asked for.

    Raises
    ------
    UsageError
        If an option cannot be used as it stands.
    StorageFailed
        If the folder of runs cannot be written.
    Interrupted
        At a signal while the list is read.
    """
    check_live(options)
    if options.on_live_web:
        require_answer(agreed=options.yes)
    with open_urls(place, options, interruption, piped=piped) as prepared:
        crawl = make_crawl(options, prepared, place)
        if options.concurrency == AUTO:
            subjects = _as_tuned(subjects, crawl, place)
        if options.on_live_web:
            trials = crawl.plan(subjects).most
            confirm(traffic_of(crawl, prepared, trials), interruption, agreed=options.yes)
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
        return Traffic(trials, urls.count, count_hosts(lines), crawl.per_host, crawl.user_agent)


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


def open_urls(place: Place, options: AskedUrls, interruption: Interruption, *, piped: bool = False) -> UrlFile:
    """Get the list ready: from a file, from standard input, or from the web itself.

    Parameters
    ----------
    place, options
        Where the engine is, and which list is asked for, or which web when there is none.
    interruption : Interruption
        A signal ends the reading at once: nobody knows how long a pipe stays open.
    piped : bool
        Whether what is piped in is a list, too. One that is empty is none when ``limit`` says how many URLs of the
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
    if options.on_live_web and options.urls is None and not (piped and _is_piped()):
        raise UsageError(
            "--web live: the real internet has no list of its own; give one with --urls FILE"
            " ('httpdyno urls FILE.csv' or 'httpdyno urls https://...' makes one of a list of domains)"
        )
    with interruption.at_once("the list of URLs was being read"):
        listed = _listed(place, options, piped=piped)
        return listed if options.against is None else file_at_origin(listed, options.against)


def _listed(place: Place, options: AskedUrls, *, piped: bool) -> UrlFile:
    if options.urls is not None:
        return urls_of_list(options.urls, limit=options.limit)
    if piped and _is_piped():
        try:
            return urls_of_list(STANDARD_INPUT, limit=options.limit)
        except EmptyList:
            if options.limit is None or options.on_live_web:
                raise
    return urls_of_web(place.engine, web=options.web or WEB, seed=options.seed, limit=options.limit)


def lasting_web(web: str) -> str:
    """Return the path of a web's model such that it is found from everywhere, as a run may be resumed there."""
    return str(Path(web).absolute()) if web not in {*WEBS, LIVE} and Path(web).is_file() else web


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file; a terminal and ``/dev/null`` are meant as a list by nobody."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
