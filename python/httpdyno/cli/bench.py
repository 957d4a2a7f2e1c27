"""``httpdyno bench``: crawl the same URLs with several clients and compare them."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Against,
    Concurrency,
    Contact,
    Cpus,
    Detach,
    Duration,
    Every,
    Format,
    HttpVersion,
    Install,
    Limit,
    LinkSeed,
    LinkSpec,
    Memory,
    OutputFolder,
    PerHost,
    PerHostInterval,
    Preset,
    Quick,
    Repeat,
    Resume,
    Scale,
    Seed,
    SubjectFolders,
    Timeout,
    Urls,
    UserAgent,
    Web,
    Yes,
)

if TYPE_CHECKING:
    from httpdyno.runs.pending import PendingRun

__all__ = ["bench"]


def bench(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUBJECT",
            help="Default: the eleven of the published crawl's table, and those of --subjects.",
            autocompletion=complete_clients,
        ),
    ] = None,
    every: Every = False,
    install: Install = False,
    urls: Urls = None,
    limit: Limit = None,
    concurrency: Concurrency = None,
    duration: Duration = "600",
    timeout: Timeout = "5",
    http_version: HttpVersion = None,
    user_agent: UserAgent = "",
    web: Web = "top-sites",
    seed: Seed = None,
    link: LinkSpec = "direct",
    link_seed: LinkSeed = 1,
    against: Against = None,
    per_host: PerHost = None,
    per_host_interval: PerHostInterval = None,
    contact: Contact = "",
    yes: Yes = False,
    repeat: Repeat = None,
    quick: Quick = False,
    cpus: Cpus = None,
    memory: Memory = None,
    preset: Preset = None,
    scale: Scale = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
    resume: Resume = None,
    detach: Detach = False,
) -> None:
    """Crawl the same URLs with each client, interleaved, and print the table."""
    from httpdyno.cli.against import given, settle_against
    from httpdyno.cli.live import LiveOptions
    from httpdyno.cli.preset import select
    from httpdyno.cli.running import Beginning, RunOptions, run_and_show
    from httpdyno.cli.session import CrawlOptions, begin_crawl

    live = LiveOptions(per_host, per_host_interval, contact, yes)

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        clients, count = select(
            beginning.catalogue, names, "bench", preset=preset, scale=scale, limit=limit, quick=quick, every=every
        )
        beginning.install(*clients)
        options = CrawlOptions(
            web=web,
            seed=seed,
            timeout=timeout,
            duration=duration,
            user_agent=user_agent,
            concurrency=concurrency,
            memory=memory,
            repeat=repeat,
            quick=quick,
            preset=preset,
            live=live,
            link=link,
            link_seed=link_seed,
            against=against,
            http_version=http_version,
        )
        place = beginning.place
        options = settle_against(options, place.engine, web_given=given(context, "web"))
        return begin_crawl(options, clients, place, beginning.interruption, urls=urls, limit=count)

    of_run = RunOptions(format, out, subjects, cpus, resume, detach, install)
    run_and_show(context, of_run, begin, live=live, fetcher=True)
