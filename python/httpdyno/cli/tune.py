"""``httpdyno tune``: find the concurrency that gives a client the most right answers a second."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.experiment_verb import OF_EVERY_RUN, option_parameters, verb_of
from httpdyno.cli.terminal import tell
from httpdyno.errors import NothingMeasured, UsageError
from httpdyno.experiments.options import read_options, stored_options
from httpdyno.experiments.tune.options import TuneOptions
from httpdyno.model import SubjectKind

if TYPE_CHECKING:
    from httpdyno.cli.running import Beginning
    from httpdyno.lab.interruption import Interruption
    from httpdyno.lab.place import Place
    from httpdyno.runs.pending import PendingRun
    from httpdyno.runs.run import Measured
    from httpdyno.urls.source import UrlFile

__all__ = ["tune"]

_TIMEOUTS: Final = 2
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""


def _tune(context: typer.Context, typed: Mapping[str, Any]) -> None:
    from httpdyno.cli.output import close_run
    from httpdyno.cli.running import Beginning, RunOptions, make_run, show

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        return _begin(beginning, typed["name"], TuneOptions(**read_options(TuneOptions, typed)))

    made = make_run(context, RunOptions(**{name: typed[name] for name, _, _ in _OF_RUN}), begin, fetcher=True)
    assert made is not None, "a search has no --detach"
    show(made.measured, typed["format"])
    found = _keep(made.run, made.measured)
    close_run(made.measured)
    if not found:
        raise typer.Exit(NothingMeasured.exit_code)


@contextmanager
def _begin(beginning: "Beginning", name: str | None, options: TuneOptions) -> "Iterator[PendingRun]":
    from httpdyno.cli.against import settle_against
    from httpdyno.cli.session import lasting_web
    from httpdyno.experiments.crawl.options import WEB
    from httpdyno.experiments.tune.tune import Tune
    from httpdyno.runs.pending import begin_run

    if name is None:
        raise UsageError("tune: name the SUBJECT whose concurrency is to be found, such as go-net-http")
    (subject,) = beginning.catalogue.select_of_kind([name], SubjectKind.CLIENT)
    beginning.install(subject)
    if options.on_live_web:
        raise UsageError("tune: a search sends far too much to the real internet; tune on a web of ours")
    place = beginning.place
    options = settle_against(options, place.engine)
    if options.deadline_s is None:
        options = replace(options, deadline_s=_TIMEOUTS * options.timeout_s + _BEYOND_TIMEOUTS_S)
    web = place.engine.web(options.web or WEB, seed=options.seed)
    with _open_urls(options, place, beginning.interruption) as prepared:
        search = Tune(
            **(stored_options(options) | {"seed": web.seed}),
            file=prepared.file.path,
            start=subject.concurrency,
            web=lasting_web(options.web or WEB),
            web_digest=web.digest,
        )
        with begin_run(search, [subject], prepared, place) as run:
            yield run


def _open_urls(options: TuneOptions, place: "Place", interruption: "Interruption") -> "UrlFile":
    """Get the list ready: of the size that is asked for, else as many as a fast client can get through in a trial."""
    from httpdyno.cli.session import open_urls
    from httpdyno.experiments.crawl.options import WEB
    from httpdyno.experiments.tune.list_size import SAMPLED, urls_needed

    if options.limit is None:
        assert options.deadline_s is not None, "a trial has an end"
        # Standard input can be read once only: nothing is known of its URLs beforehand.
        source = None if options.urls == "-" else options.urls
        with open_urls(place, replace(options, urls=source, limit=SAMPLED), interruption) as sample:
            limit = urls_needed(
                sample,
                place.engine,
                web=options.web or WEB,
                seed=options.seed,
                timeout_s=options.timeout_s,
                deadline_s=options.deadline_s,
                against=options.against,
            )
        options = replace(options, limit=limit)
    return open_urls(place, options, interruption)


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


_OF_RUN: Final = [parameter for parameter in OF_EVERY_RUN if parameter[0] != "detach"]
_name = typer.Argument(metavar="SUBJECT", help="A client, such as go-net-http.", autocompletion=complete_clients)
tune = verb_of(
    _tune,
    [("name", Annotated[str | None, _name], None), *option_parameters(TuneOptions), *_OF_RUN],
    help="""Find the concurrency with the most right answers a second, in at most 12 short trials, and keep it.

    More errors or late answers than at low concurrency rule one out; of those that are equally good the smallest is
    chosen. `bench --concurrency auto` uses it, on this machine and with the same web.
    """,
)
