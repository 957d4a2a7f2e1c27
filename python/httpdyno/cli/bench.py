"""``httpdyno bench``: crawl the same URLs with several clients and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Concurrency,
    Contact,
    Cpus,
    Detach,
    Duration,
    Every,
    Format,
    Install,
    Limit,
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

__all__ = ["bench"]


_BESIDE_RESUME = frozenset({"resume", "detach", "format", "out", "install", "yes"})


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
    user_agent: UserAgent = "",
    web: Web = "top-sites",
    seed: Seed = None,
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
    from httpdyno.cli.background import leave_running
    from httpdyno.cli.display import Display
    from httpdyno.cli.installing import install_needs
    from httpdyno.cli.live import LiveOptions
    from httpdyno.cli.output import check_format, close_run, telling_of_rest
    from httpdyno.cli.preset import print_result, select, selected_before
    from httpdyno.cli.session import (
        CrawlOptions,
        begin_crawl,
        make_place,
        options_of_environment,
        refuse_beside_resume,
        resume_named,
    )
    from httpdyno.cli.terminal import messages
    from httpdyno.experiments.measure import measure
    from httpdyno.lab.interruption import Interruption
    from httpdyno.subjects.catalogue import read_catalogue

    check_format(format)
    live = LiveOptions(per_host, per_host_interval, contact, yes)
    interruption = Interruption()
    catalogue = read_catalogue(subjects or ())
    if resume is None:
        chosen = select(catalogue, names, "bench", preset=preset, scale=scale, limit=limit, quick=quick, every=every)
        if install:
            install_needs(chosen.subjects, interruption)
        options = CrawlOptions(
            web, seed, timeout, duration, user_agent, concurrency, memory, repeat, quick, preset, live
        )
        place = make_place(cpus, out, environment=options_of_environment(context))
        begun = begin_crawl(options, chosen.subjects, place, interruption, urls=urls, limit=chosen.limit)
    else:
        refuse_beside_resume(context, _BESIDE_RESUME)
        begun = resume_named(resume, out, interruption, live)
    with interruption, begun as (run, place), telling_of_rest(run):
        if detach:
            leave_running(run, "bench", format)
            return
        with Display(messages()) as display:
            measured = measure(run, place, display, interruption)
    if resume is not None:
        chosen = selected_before(run, catalogue)
    print_result(chosen, measured.table, measured.folder, format)
    close_run(measured, invalid=() if names or resume else tuple(catalogue.invalid.values()))
