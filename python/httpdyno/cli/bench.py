"""``httpdyno bench``: crawl the same URLs with several clients and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import complete_subjects
from httpdyno.cli.options import (
    Concurrency,
    Cpus,
    Duration,
    Format,
    Limit,
    Memory,
    OutputFolder,
    Preset,
    Quick,
    Repeat,
    Scale,
    Seed,
    SubjectFolders,
    Timeout,
    Urls,
    UserAgent,
    Web,
)

__all__ = ["bench"]


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUBJECT", help="Default: every client.", autocompletion=complete_subjects),
    ] = None,
    urls: Urls = None,
    limit: Limit = None,
    concurrency: Concurrency = None,
    duration: Duration = "600",
    timeout: Timeout = "5",
    user_agent: UserAgent = "",
    web: Web = "top-sites",
    seed: Seed = None,
    repeat: Repeat = None,
    quick: Quick = False,
    cpus: Cpus = None,
    memory: Memory = None,
    preset: Preset = None,
    scale: Scale = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
) -> None:
    """Crawl the same URLs with each client, interleaved, and print the table."""
    from httpdyno.cli.display import Display
    from httpdyno.cli.output import check_format, close_run
    from httpdyno.cli.preset import print_result, select
    from httpdyno.cli.session import CrawlOptions, make_crawl, make_place, open_urls
    from httpdyno.cli.terminal import messages
    from httpdyno.experiments.measure import measure
    from httpdyno.lab.interruption import Interruption
    from httpdyno.subjects.catalogue import read_catalogue

    check_format(format)
    catalogue = read_catalogue(subjects or ())
    chosen = select(catalogue, names, "bench", preset=preset, scale=scale, limit=limit, quick=quick)
    options = CrawlOptions(web, seed, timeout, duration, user_agent, concurrency, memory, repeat, quick, preset)
    place = make_place(cpus, out)
    with (
        Interruption() as interruption,
        open_urls(place, options, interruption, urls=urls, limit=chosen.limit) as prepared,
        Display(messages()) as display,
    ):
        measured = measure(
            make_crawl(options, prepared, place), chosen.subjects, prepared.file, place, display, interruption
        )
    print_result(chosen, measured.table, measured.folder, format)
    close_run(measured, invalid=() if names else tuple(catalogue.invalid.values()))
