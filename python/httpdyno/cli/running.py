"""A run from its verb to its end: begun or resumed, left to the background or measured, shown, closed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import typer

from httpdyno.cli.agreement import ask
from httpdyno.cli.background import leave_running
from httpdyno.cli.display import Display
from httpdyno.cli.installing import install_needs
from httpdyno.cli.named_subjects import read_named_subjects
from httpdyno.cli.output import close_run, print_run, telling_of_rest
from httpdyno.cli.place import make_place, options_of_environment
from httpdyno.cli.resuming import refuse_beside_resume, resume_named
from httpdyno.cli.tables import check_format
from httpdyno.cli.terminal import messages, tell
from httpdyno.errors import NothingMeasured
from httpdyno.experiments.beginning import Beginning, Begun, Ended
from httpdyno.experiments.options import option_fields
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.verb import Verb
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import counted, format_span
from httpdyno.runs.artifacts import check_artifacts
from httpdyno.runs.ceiling import FETCHER
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.runs.run import Measured, foreseen_s, measure
from httpdyno.runs.showing import check_columns
from httpdyno.store import Run
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["RunOptions", "begin_agreed", "run_and_show", "show"]

_BESIDE_RESUME: Final = frozenset({"resume", "detach", "format", "columns", "out", "verbose", "yes"})
"""What says nothing of what is measured."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of every verb that makes a run, as they were typed."""

    format: str
    out: Path
    subjects: Sequence[Path] | None = None
    artifacts: str = "all"
    cpus: str | None = None
    resume: str | None = None
    detach: bool = False
    install: bool = False
    columns: str | None = None
    verbose: bool = False
    """Whether every note is printed."""
    yes: bool = False
    """Whether what the run asks about is agreed to."""


def run_and_show(
    context: typer.Context,
    verb: Verb,
    options: RunOptions,
    names: Sequence[str],
    read: Callable[[], object],
) -> None:
    """Begin a run or go on with one, measure it, and show it from its records; or leave it to the background.

    ``read`` reads the options of the experiment; it is called only when there is no run to go on with.
    """
    check_format(options.format)
    check_columns(definition_of(verb.name), options.columns)
    if options.resume is not None:
        refuse_beside_resume(context, _BESIDE_RESUME)
    catalogue, names = read_named_subjects(names, options.subjects)
    interruption = Interruption()
    if options.resume is None:
        if not verb.must_name and not names and not context.params.get("preset"):
            _tell_left_out(catalogue)
        asked = read()
        check_artifacts(options.artifacts)
        environment = options_of_environment(context)
        place = make_place(options.cpus, options.out, environment=environment, artifacts=options.artifacts)
        install = partial(install_needs, interruption=interruption) if options.install else lambda _: None
        begin = definition_of(verb.name).begin
        assert begin is not None, "an experiment without a beginning has a verb of its own"
        begun = begin(Beginning(catalogue, place, interruption, tell, install), names, asked)
        run_of = begin_agreed(begun, place, interruption, agreed=options.yes)
    else:
        run_of = resume_named(options.resume, options.out, interruption, agreed=options.yes, verb=verb.name)
    with interruption, run_of as run, telling_of_rest(run):
        if _is_bare(context, verb):
            _tell_how_long(run, verb, interruption)
        if options.detach:
            leave_running(run, verb.name, options.format)
            return
        fetcher = catalogue.subjects.get(FETCHER) if verb.fetcher else None
        with Display(messages(), folded=True) as display:
            measured = measure(run, display, interruption, fetcher=fetcher)
    kept = show(measured, options.format, options.columns, verbose=options.verbose)
    ended = Ended(run.experiment, run.subjects, run.place, measured.trials, kept, measured.whole, tell)
    found = definition_of(verb.name).end(ended)
    close_run(measured)
    if not found:
        raise typer.Exit(NothingMeasured.exit_code)


@contextmanager
def begin_agreed(
    begun: Begun, place: Place, interruption: Interruption, *, agreed: bool, runs_if_stopped: Path | None = None
) -> Iterator[PendingRun]:
    """Begin a run when the block is entered and not before; one that asks the real internet, once a user agrees.

    ``runs_if_stopped`` is as for ``begin_run``.
    """
    experiment, subjects, urls = begun
    with urls or nullcontext():
        sent = definition_of(experiment.name).sent
        if urls and sent and any(condition.live for condition in experiment.conditions()):
            ask(sent(experiment, urls, experiment.plan(subjects).most), interruption, agreed=agreed)
        with begin_run(experiment, subjects, urls, place, runs_if_stopped=runs_if_stopped) as run:
            yield run


def _tell_left_out(catalogue: Catalogue) -> None:
    """Print before anything is measured which subjects nobody has named would have been measured, too."""
    for error in catalogue.invalid.values():
        tell(f"{error.line}; it is left out")


def _is_bare(context: typer.Context, verb: Verb) -> bool:
    """Return whether nobody has said what is measured, and how much of it, where a first look could be had."""
    named = {"names", "resume", *(one.option.parameter for one in option_fields(verb.options))}
    given = {name for name in named & context.params.keys() if _is_given(context, name)}
    return "quick" in named and not given


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _tell_how_long(run: PendingRun, verb: Verb, interruption: Interruption) -> None:
    """Print before anything is built how long a whole run will take, and what takes less."""
    left_s = foreseen_s(run, interruption)
    if left_s is not None:
        tell(
            f"{verb.name}: {counted(run.plan.most, 'trial')} take about {format_span(left_s)}, after what must be"
            f" built; for a first look: httpdyno {verb.name} --quick"
        )


def show(measured: Measured, format_name: str, columns: str | None = None, *, verbose: bool = False) -> Run:
    """Print what a run has measured, as ``httpdyno report`` does."""
    assert measured.run is not None, "these verbs always keep their run"
    print_run(measured.run, format_name, columns, verbose=verbose)
    return measured.run
