"""``httpdyno tune``: find the concurrency that gives a client the most right answers a second."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Cpus,
    Format,
    Memory,
    OutputFolder,
    Resume,
    Seed,
    SubjectFolders,
    Timeout,
    Urls,
    UserAgent,
    Web,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from httpdyno.cli.session import CrawlOptions
    from httpdyno.experiments.measure import Measured
    from httpdyno.experiments.pending import PendingRun
    from httpdyno.experiments.place import Place
    from httpdyno.experiments.url_source import UrlFile
    from httpdyno.lab.interruption import Interruption
    from httpdyno.model import Subject

__all__ = ["tune"]

_BESIDE_RESUME: Final = frozenset({"resume", "format", "out"})
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
    user_agent: UserAgent = "",
    web: Web = "top-sites",
    seed: Seed = None,
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
    from httpdyno.cli.display import Display
    from httpdyno.cli.live import LiveOptions
    from httpdyno.cli.output import check_format, close_run, print_table, telling_of_rest
    from httpdyno.cli.session import (
        CrawlOptions,
        make_place,
        options_of_environment,
        refuse_beside_resume,
        resume_named,
    )
    from httpdyno.cli.terminal import messages
    from httpdyno.errors import NothingMeasured, UsageError
    from httpdyno.experiments.measure import measure
    from httpdyno.lab.interruption import Interruption
    from httpdyno.model import SubjectKind
    from httpdyno.subjects.catalogue import read_catalogue

    check_format(format)
    interruption = Interruption()
    if resume is None:
        if name is None:
            raise UsageError("tune: name the SUBJECT whose concurrency is to be found, such as go-net-http")
        (subject,) = read_catalogue(subjects or ()).select_of_kind([name], SubjectKind.CLIENT)
        options = CrawlOptions(web, seed, timeout, _lasting(duration, timeout), user_agent, None, memory)
        place = make_place(cpus, out, environment=options_of_environment(context))
        begun = _begin(options, subject, place, interruption, urls=urls, limit=limit)
    else:
        refuse_beside_resume(context, _BESIDE_RESUME)
        begun = resume_named(resume, out, interruption, LiveOptions(), verb="tune")
    with interruption, begun as (run, place), telling_of_rest(run), Display(messages()) as display:
        measured = measure(run, place, display, interruption)
    print_table(measured.table, format)
    found = _keep(run, place, measured)
    close_run(measured)
    if not found:
        raise typer.Exit(NothingMeasured.exit_code)


def _lasting(duration: str | None, timeout: str) -> str:
    from httpdyno.model import format_exact, parse_duration_ns

    if duration is not None:
        return duration
    timeout_s = parse_duration_ns(timeout, name="--timeout") / 1e9
    return format_exact(_TIMEOUTS * timeout_s + _BEYOND_TIMEOUTS_S)


@contextmanager
def _begin(
    options: "CrawlOptions",
    subject: "Subject",
    place: "Place",
    interruption: "Interruption",
    *,
    urls: str | None,
    limit: int | None,
) -> "Iterator[tuple[PendingRun, Place]]":
    from httpdyno.cli.session import make_crawl
    from httpdyno.errors import UsageError
    from httpdyno.experiments.pending import begin_run
    from httpdyno.experiments.tune import Tune

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
        )
        with begin_run(experiment, [subject], prepared, place) as run:
            yield run, place


def _open_urls(
    options: "CrawlOptions", place: "Place", interruption: "Interruption", *, urls: str | None, limit: int | None
) -> "UrlFile":
    """Get the list ready: of the size that is asked for, else as many as a fast client can get through in a trial."""
    from httpdyno.cli.session import open_urls
    from httpdyno.experiments.list_size import SAMPLED, urls_needed
    from httpdyno.model import parse_duration_ns

    if limit is None:
        timeout_s = parse_duration_ns(options.timeout, name="--timeout") / 1e9
        deadline_s = parse_duration_ns(options.duration, name="--duration") / 1e9
        # Standard input can be read once only: nothing is known of its URLs beforehand.
        source = None if urls == "-" else urls
        with open_urls(place, options, interruption, urls=source, limit=SAMPLED) as sample:
            limit = urls_needed(
                sample, place.engine, web=options.web, seed=options.seed, timeout_s=timeout_s, deadline_s=deadline_s
            )
    return open_urls(place, options, interruption, urls=urls, limit=limit)


def _keep(run: "PendingRun", place: "Place", measured: "Measured") -> bool:
    """Keep what was found, and say where it is used; or why nothing is kept. Tell whether something was."""
    from httpdyno.cli.terminal import tell
    from httpdyno.experiments.tuned import keep_found
    from httpdyno.experiments.tuning import chosen_words, concluded, disturbed_words, uncertain_words

    (subject,) = run.subjects
    if disturbed := disturbed_words(measured.trials):
        tell(disturbed)
    if not measured.whole:
        tell("the search was stopped before its end: what it has found so far is not kept for --concurrency auto")
        return False
    if uncertain := uncertain_words(concluded(measured.trials)):
        tell(uncertain)
        return False
    if keep_found(run, place, measured.trials) is None:
        return False
    tell(chosen_words(subject.id, subject.concurrency, concluded(measured.trials)))
    tell(f"kept for this machine; use it with: httpdyno bench {subject.id} --concurrency auto")
    return True
