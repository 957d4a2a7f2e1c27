"""``httpdyno tune``: find the concurrency that gives a client the most right answers a second."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Against,
    Cpus,
    Format,
    HttpVersion,
    Install,
    LinkSeed,
    LinkSpec,
    Memory,
    OutputFolder,
    OwnWeb,
    Resume,
    Seed,
    SubjectFolders,
    Timeout,
    Urls,
    UserAgent,
)
from httpdyno.cli.terminal import tell
from httpdyno.errors import NothingMeasured, UsageError
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Subject, SubjectKind, format_exact, parse_duration_ns

if TYPE_CHECKING:
    from httpdyno.cli.session import CrawlOptions
    from httpdyno.lab.place import Place
    from httpdyno.runs.pending import PendingRun
    from httpdyno.runs.run import Measured
    from httpdyno.urls.source import UrlFile

__all__ = ["tune"]

_TIMEOUTS: Final = 2
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""

_Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        envvar="LIMIT",
        help="How many URLs a trial has at most. Default: as many as a fast client can get through in its time.",
    ),
]
_Duration = Annotated[
    str | None,
    typer.Option(
        "--duration",
        metavar="TIME",
        envvar="DURATION",
        help="When a trial is ended: seconds, or with a unit (20s). Default: two timeouts and 2 s.",
    ),
]


def tune(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help="A client, such as go-net-http.", autocompletion=complete_clients),
    ] = None,
    urls: Urls = None,
    limit: _Limit = None,
    duration: _Duration = None,
    timeout: Timeout = "5",
    http_version: HttpVersion = None,
    user_agent: UserAgent = "",
    web: OwnWeb = "top-sites",
    seed: Seed = None,
    link: LinkSpec = "direct",
    link_seed: LinkSeed = 1,
    against: Against = None,
    install: Install = False,
    cpus: Cpus = None,
    memory: Memory = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
    resume: Resume = None,
) -> None:
    """Find the concurrency with the most right answers a second, in at most 12 short trials, and keep it.

    More errors or late answers than at low concurrency rule one out; of those that are equally good the smallest is
    chosen. `bench --concurrency auto` uses it, on this machine and with the same web.
    """
    from httpdyno.cli.against import given, settle_against
    from httpdyno.cli.output import close_run
    from httpdyno.cli.running import Beginning, RunOptions, make_run, show
    from httpdyno.cli.session import CrawlOptions

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        if name is None:
            raise UsageError("tune: name the SUBJECT whose concurrency is to be found, such as go-net-http")
        (subject,) = beginning.catalogue.select_of_kind([name], SubjectKind.CLIENT)
        beginning.install(subject)
        options = CrawlOptions(
            web=web,
            seed=seed,
            timeout=timeout,
            duration=_lasting(duration, timeout),
            user_agent=user_agent,
            concurrency=None,
            memory=memory,
            link=link,
            link_seed=link_seed,
            against=against,
            http_version=http_version,
        )
        place = beginning.place
        options = settle_against(options, place.engine, web_given=given(context, "web"))
        return _begin(options, subject, place, beginning.interruption, urls=urls, limit=limit)

    made = make_run(context, RunOptions(format, out, subjects, cpus, resume, install=install), begin, fetcher=True)
    assert made is not None, "a search has no --detach"
    show(made.measured, format)
    found = _keep(made.run, made.measured)
    close_run(made.measured)
    if not found:
        raise typer.Exit(NothingMeasured.exit_code)


def _lasting(duration: str | None, timeout: str) -> str:

    if duration is not None:
        return duration
    timeout_s = parse_duration_ns(timeout, name="--timeout") / 1e9
    return format_exact(_TIMEOUTS * timeout_s + _BEYOND_TIMEOUTS_S)


@contextmanager
def _begin(
    options: "CrawlOptions",
    subject: Subject,
    place: "Place",
    interruption: Interruption,
    *,
    urls: str | None,
    limit: int | None,
) -> "Iterator[PendingRun]":
    from httpdyno.cli.session import make_crawl
    from httpdyno.experiments.tune.tune import Tune
    from httpdyno.runs.pending import begin_run

    if options.on_live_web:
        raise UsageError("tune: a search sends far too much to the real internet; tune on a web of ours")
    with _open_urls(options, place, interruption, urls=urls, limit=limit) as prepared:
        crawl = make_crawl(options, prepared, place)
        experiment = Tune(
            workload=crawl.workload,
            start=subject.concurrency,
            web=crawl.web,
            seed=crawl.seed,
            web_digest=crawl.web_digest,
            deadline_s=crawl.deadline_s,
            memory_bytes=crawl.memory_bytes,
            link=crawl.link,
            link_seed=crawl.link_seed,
            against=crawl.against,
        )
        with begin_run(experiment, [subject], prepared, place) as run:
            yield run


def _open_urls(
    options: "CrawlOptions", place: "Place", interruption: Interruption, *, urls: str | None, limit: int | None
) -> "UrlFile":
    """Get the list ready: of the size that is asked for, else as many as a fast client can get through in a trial."""
    from httpdyno.cli.session import open_urls
    from httpdyno.experiments.tune.list_size import SAMPLED, urls_needed

    if limit is None:
        timeout_s = parse_duration_ns(options.timeout, name="--timeout") / 1e9
        deadline_s = parse_duration_ns(options.duration, name="--duration") / 1e9
        # Standard input can be read once only: nothing is known of its URLs beforehand.
        source = None if urls == "-" else urls
        with open_urls(place, options, interruption, urls=source, limit=SAMPLED) as sample:
            limit = urls_needed(
                sample,
                place.engine,
                web=options.web,
                seed=options.seed,
                timeout_s=timeout_s,
                deadline_s=deadline_s,
                against=options.against,
            )
    return open_urls(place, options, interruption, urls=urls, limit=limit)


def _keep(run: "PendingRun", measured: "Measured") -> bool:
    """Keep what was found, and say where it is used; or why nothing is kept. Tell whether something was."""
    from httpdyno.experiments.tune.tune import Tune
    from httpdyno.experiments.tune.tuned import keep_found, options_found_for
    from httpdyno.experiments.tune.tuning import chosen_words, concluded, disturbed_words, uncertain_words

    (subject,) = run.subjects
    if disturbed := disturbed_words(measured.trials):
        tell(disturbed)
    if not measured.whole:
        tell("the search was stopped before its end: what it has found so far is not kept for --concurrency auto")
        return False
    if uncertain := uncertain_words(concluded(measured.trials)):
        tell(uncertain)
        return False
    assert isinstance(run.experiment, Tune), "only a search finds a concurrency"
    if keep_found(run.experiment, subject, run.place, measured.trials, run.folder.name if run.folder else None) is None:
        return False
    tell(chosen_words(subject.id, subject.concurrency, concluded(measured.trials)))
    found_for = options_found_for(run.experiment)
    tell(f"kept for this machine; use it with: httpdyno bench {subject.id}{found_for} --concurrency auto")
    return True
