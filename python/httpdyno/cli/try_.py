"""``httpdyno try``: run one client, show each URL as it completes, then the figures."""

from typing import Annotated

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Against,
    Concurrency,
    Contact,
    Cpus,
    Duration,
    Format,
    HttpVersion,
    Limit,
    LinkSeed,
    LinkSpec,
    Memory,
    PerHost,
    PerHostInterval,
    Seed,
    SubjectFolders,
    Timeout,
    Urls,
    UserAgent,
    Web,
    Yes,
)
from httpdyno.cli.tables import check_format
from httpdyno.cli.terminal import messages, results, tell
from httpdyno.lab.interruption import Interruption
from httpdyno.model import SubjectKind

__all__ = ["try_subject"]


def try_subject(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="A client, such as go-net-http.", autocompletion=complete_clients)
    ],
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
    cpus: Cpus = None,
    memory: Memory = None,
    format: Format = "table",  # noqa: A002
    subjects: SubjectFolders = None,
) -> None:
    """Run one client and print a line for each URL as it completes, then the figures.

    URLs come from --urls, else from what is piped in, else from the web; --limit takes the first of them. With --format
    plain the client's own lines are printed and nothing else.
    """
    from httpdyno.cli.against import given, settle_against
    from httpdyno.cli.display import Display, Spectator
    from httpdyno.cli.live import LiveOptions
    from httpdyno.cli.output import close_run, print_reserved
    from httpdyno.cli.result_lines import ResultLines
    from httpdyno.cli.session import CrawlOptions, begin_crawl, make_place
    from httpdyno.experiments.registry import definition_of
    from httpdyno.report.sections.reservation import of_memory
    from httpdyno.runs.run import measure
    from httpdyno.runs.showing import reserved
    from httpdyno.subjects.catalogue import read_catalogue

    check_format(format)
    chosen = read_catalogue(subjects or ()).select_of_kind([name], SubjectKind.CLIENT)
    live = LiveOptions(per_host, per_host_interval, contact, yes)
    options = CrawlOptions(
        *(web, seed, timeout, duration, user_agent, concurrency, memory, 1),
        live=live,
        link=link,
        link_seed=link_seed,
        against=against,
        http_version=http_version,
    )
    place = make_place(cpus, None)
    options = settle_against(options, place.engine, web_given=given(context, "web"))
    # Machine-readable figures must not be mixed with lines.
    lines = ResultLines(results(), raw=format == "plain") if format in {"plain", "table"} else None
    with (
        Interruption() as interruption,
        begin_crawl(options, chosen, place, interruption, urls=urls, limit=limit, piped=True) as run,
        Display(messages(), quiet=True) as display,
    ):
        measured = measure(run, Spectator(display, lines), interruption)
        if lines:
            lines.finish()
    notes = of_memory(measured.trials)
    if format == "plain":
        for note in notes:
            tell(note.text)
    else:
        table = definition_of(measured.experiment).table(measured.trials)
        print_reserved(reserved((table,), notes, format), notes, format)
    close_run(measured)
