"""A run from its verb to its end: begun or resumed, left to the background or measured, shown, closed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import typer

from httpdyno.cli.background import leave_running
from httpdyno.cli.display import Display
from httpdyno.cli.installing import install_needs
from httpdyno.cli.output import close_run, print_run, telling_of_rest
from httpdyno.cli.resuming import refuse_beside_resume, resume_named
from httpdyno.cli.session import make_place, options_of_environment
from httpdyno.cli.tables import check_format
from httpdyno.cli.terminal import messages, tell
from httpdyno.experiments.experiment import Experiment
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import Subject
from httpdyno.runs.ceiling import FETCHER
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.runs.run import Measured, measure
from httpdyno.store import Run
from httpdyno.subjects.catalogue import Catalogue, read_catalogue

__all__ = ["Beginning", "Made", "RunOptions", "make_run", "run_and_show", "show"]

_BESIDE_RESUME: Final = frozenset({"resume", "detach", "format", "out", "yes"})
"""What says nothing of what is measured."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of every verb that makes a run, as they were typed."""

    format: str
    out: Path
    subjects: Sequence[Path] | None = None
    cpus: str | None = None
    resume: str | None = None
    detach: bool = False
    install: bool = False
    yes: bool = False
    """Whether what the run asks about is agreed to."""


class Beginning:
    """With what a verb begins a run.

    Attributes
    ----------
    catalogue : Catalogue
        All subjects, those of the user's own folders among them.
    interruption : Interruption
        Ends what is waited for while the run is begun.
    """

    def __init__(self, context: typer.Context, options: RunOptions, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.interruption = Interruption()
        self._context = context
        self._options = options

    @cached_property
    def place(self) -> Place:
        """Where the run is made; asked for when the verb's own options have been read.

        Raises
        ------
        EngineFailed
            If there is no engine.
        InvalidValue
            If ``--cpus`` cannot be had.
        """
        return make_place(self._options.cpus, self._options.out, environment=options_of_environment(self._context))

    @property
    def cpus(self) -> str | None:
        """``--cpus`` as it was typed."""
        return self._options.cpus

    def install(self, *subjects: Subject | None) -> None:
        """Bring what subjects need, where ``--install`` asks for it."""
        if self._options.install:
            install_needs([subject for subject in subjects if subject is not None], self.interruption)

    @contextmanager
    def run(self, experiment: Experiment, subjects: Sequence[Subject]) -> Iterator[PendingRun]:
        """Begin a run whose conditions have lists of their own, when the block is entered and not before."""
        with begin_run(experiment, subjects, None, self.place) as run:
            yield run


Begin = Callable[[Beginning], AbstractContextManager[PendingRun]]


@dataclass(frozen=True, slots=True)
class Made:
    """A run that was made, with what it was made of."""

    run: PendingRun
    measured: Measured


def make_run(
    context: typer.Context,
    options: RunOptions,
    begin: Begin,
    *,
    fetcher: bool = False,
) -> Made | None:
    """Begin a run or go on with one, and measure it; None when it was left to a process in the background.

    Parameters
    ----------
    context : typer.Context
        Of the verb, whose name is that of the experiment.
    options : RunOptions
        As they were typed.
    begin : callable
        Begins the run when there is none to go on with: reads the verb's own options at once, and makes the run's
        folder when the context that it gives is entered.
    fetcher : bool
        Whether it is asked before all trials what the web can give at all.

    Raises
    ------
    HttpdynoError
        Whatever a run can fail by; where it lies has been said then.
    """
    verb = context.info_name
    assert verb is not None, "a verb has a name"
    check_format(options.format)
    if options.resume is not None:
        refuse_beside_resume(context, _BESIDE_RESUME)
    beginning = Beginning(context, options, read_catalogue(options.subjects or ()))
    catalogue, interruption = beginning.catalogue, beginning.interruption
    if options.resume is None:
        if "names" in context.params and not context.params["names"] and not context.params.get("preset"):
            _tell_left_out(catalogue)
        begun = begin(beginning)
    else:
        begun = resume_named(options.resume, options.out, interruption, agreed=options.yes, verb=verb)
    with interruption, begun as run, telling_of_rest(run):
        if options.detach:
            leave_running(run, verb, options.format)
            return None
        asks = catalogue.subjects.get(FETCHER) if fetcher else None
        with Display(messages()) as display:
            return Made(run, measure(run, display, interruption, fetcher=asks))


def _tell_left_out(catalogue: Catalogue) -> None:
    """Print before anything is measured which subjects nobody has named would have been measured, too."""
    for error in catalogue.invalid.values():
        tell(f"{error.line}; it is left out")


def run_and_show(
    context: typer.Context,
    options: RunOptions,
    begin: Begin,
    *,
    fetcher: bool = False,
    beside: Callable[[Run], None] | None = None,
) -> None:
    """Make a run, and show it from its records.

    Parameters
    ----------
    context, options, begin, fetcher
        As ``make_run`` takes them.
    beside : callable, optional
        Leaves in the folder of the run whatever else belongs there.

    Raises
    ------
    HttpdynoError
        Whatever a run can fail by.
    typer.Exit
        With 3 when nothing could be measured, 130 when the run was interrupted.
    """
    made = make_run(context, options, begin, fetcher=fetcher)
    if made is None:
        return
    run = show(made.measured, options.format)
    if beside is not None:
        beside(run)
    close_run(made.measured)


def show(measured: Measured, format_name: str) -> Run:
    """Print what a run has measured, as ``httpdyno report`` does.

    Raises
    ------
    HttpdynoError
        If its records cannot be read, or this version does not know its preset.
    """
    assert measured.run is not None, "these verbs always keep their run"
    print_run(measured.run, format_name)
    return measured.run
