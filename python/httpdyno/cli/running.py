"""Start, resume or detach a run; measure, print and close it."""

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from click import Context
from click.exceptions import Exit

from httpdyno.cli.display import Display
from httpdyno.cli.output import close_run, print_run, resume_hint_on_error
from httpdyno.cli.place import environment_options, install_needs, make_place, read_named_subjects
from httpdyno.cli.terminal import ask, check_format, messages, tell
from httpdyno.errors import NothingMeasured, NotResumable, StorageFailed, UsageError
from httpdyno.experiments.experiment import Beginning, Begun, Ended
from httpdyno.experiments.options import Verb, option_fields
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import counted, format_span
from httpdyno.runs.artifacts import check_artifacts
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.runs.resume import Resumed, resume_run
from httpdyno.runs.run import FETCHER, Measured, foreseen_s, measure
from httpdyno.runs.showing import check_columns
from httpdyno.store import Run, find_run, read_manifest
from httpdyno.store.files import storing
from httpdyno.store.folder import OUTPUT
from httpdyno.subjects.catalogue import Catalogue


@contextmanager
def resume_named(name: str, runs: Path, interruption: Interruption, *, agreed: bool, verb: str) -> Iterator[PendingRun]:
    """Resume the run of that name; standard input may be its lock."""
    folder = find_run(name, runs)
    definition = definition_of(read_manifest(folder).experiment)
    if (experiment := definition.name) != verb:
        if definition.planning.restore is None:
            raise NotResumable(f"{folder} is a run of {experiment}, which cannot be continued; begin a new one")
        again = f"httpdyno {experiment} --resume {shlex.quote(str(folder))}"
        raise UsageError(f"{folder} is a run of {experiment}; go on with: {again}")
    with interruption.at_once("the run was being reopened"):
        resumed = resume_run(folder, make_place(None, runs), inherited=0)
    with resumed.urls or nullcontext(), resumed.run:
        _confirm_resumed(resumed, interruption, agreed=agreed)
        yield resumed.run


def _confirm_resumed(resumed: Resumed, interruption: Interruption, *, agreed: bool) -> None:
    """Ask for consent before a resumed run sends to the real internet, unless the parent process has asked."""
    run = resumed.run
    if not run.live or run.manifest is None or (run.writer and run.writer.lock.inherited):
        return
    assert resumed.urls is not None, "live traffic comes from a list"
    trials = run.manifest.trials_planned - len(run.trials)
    traffic = definition_of(run.experiment.name).planning.traffic(run.experiment, resumed.urls, trials)
    ask(traffic, interruption, agreed=agreed)


def reject_resume_conflicts(context: Context, allowed: Collection[str]) -> None:
    """Raise ``UsageError`` for an option that conflicts with ``--resume``.

    Environment variables do not count: they may be meant for other commands. ``allowed`` are the parameters that do not
    change what is measured.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in allowed and source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0] if parameter.opts[0].startswith("-") else "a SUBJECT"
            raise UsageError(f"--resume: {option} cannot change when a run is resumed; leave it out")


def detach_run(run: PendingRun, verb: str, format_name: str) -> None:
    """Start a process that makes the run; print where its results will be, how to watch and how to stop it.

    The process is ``--resume``, except that it inherits the lock as standard input: the run is never without a holder.
    """
    if run.writer is None:
        raise UsageError("--detach: a run that is not kept has no place for its results; leave it out")
    folder, output = run.writer.folder, run.writer.folder / OUTPUT
    argv = [sys.executable, "-P", "-m", "httpdyno", verb, "--resume", str(folder.resolve()), "--format", format_name]
    with storing(folder):
        printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        process = os.posix_spawn(
            sys.executable,
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, run.writer.lock.descriptor, 0),
                (os.POSIX_SPAWN_DUP2, printed, 1),
                (os.POSIX_SPAWN_DUP2, printed, 2),
            ],
            setsid=True,
        )
    except OSError as error:
        raise StorageFailed(
            f"{sys.executable} cannot be started in the background: {error.strerror}; leave out --detach"
        ) from error
    finally:
        os.close(printed)
    run.hand_over(process)
    _print_detached(process, folder, output)


def _print_detached(process: int, folder: Path, output: Path) -> None:
    # Results go to stdout: so far, that is their folder.
    sys.stdout.write(f"{folder}\n")
    sys.stdout.flush()
    tell(f"in the background as process {process}; stop it with: kill {process}")
    listed = (
        "httpdyno runs" if folder.parent == Path("runs") else f"httpdyno runs --out {shlex.quote(str(folder.parent))}"
    )
    tell(f"watch it with: tail -f {shlex.quote(str(output))}, or: {listed}")


_ALLOWED_WITH_RESUME: Final = frozenset({"resume", "detach", "format", "columns", "out", "verbose", "yes"})
"""Parameters that do not change what is measured."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of every verb that makes a run."""

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
    """Whether the user has agreed to live traffic."""


def run_and_show(
    context: Context,
    verb: Verb,
    options: RunOptions,
    names: Sequence[str],
    read: Callable[[], object],
) -> None:
    """Start or resume a run, measure it and print it from its records; or detach it.

    ``read`` reads the options of the experiment; it is not called when resuming.
    """
    check_format(options.format)
    check_columns(definition_of(verb.name), options.columns)
    if options.resume is not None:
        reject_resume_conflicts(context, _ALLOWED_WITH_RESUME)
    catalogue, names = read_named_subjects(names, options.subjects)
    interruption = Interruption()
    if options.resume is None:
        if not verb.must_name and not names and not context.params.get("preset"):
            _tell_left_out(catalogue)
        asked = read()
        check_artifacts(options.artifacts)
        environment = environment_options(context)
        place = make_place(options.cpus, options.out, environment=environment, artifacts=options.artifacts)
        install = partial(install_needs, interruption=interruption) if options.install else lambda _: None
        begin = definition_of(verb.name).planning.begin
        assert begin is not None, "an experiment without `begin` has a verb of its own"
        begun = begin(Beginning(catalogue, place, interruption, tell, install), names, asked)
        run_of = begin_agreed(begun, place, interruption, agreed=options.yes)
    else:
        run_of = resume_named(options.resume, options.out, interruption, agreed=options.yes, verb=verb.name)
    with interruption, run_of as run, resume_hint_on_error(run):
        if _is_bare(context, verb):
            _tell_how_long(run, verb, interruption)
        if options.detach:
            detach_run(run, verb.name, options.format)
            return
        fetcher = catalogue.subjects.get(FETCHER) if verb.fetcher else None
        with Display(messages(), folded=True) as display:
            measured = measure(run, display, interruption, fetcher=fetcher)
    kept = show(measured, options.format, options.columns, verbose=options.verbose)
    ended = Ended(run.experiment, run.subjects, run.place, measured.trials, kept, measured.whole, tell)
    found = definition_of(verb.name).planning.end(ended)
    close_run(measured)
    if not found:
        raise Exit(NothingMeasured.exit_code)


@contextmanager
def begin_agreed(
    begun: Begun, place: Place, interruption: Interruption, *, agreed: bool, runs_if_stopped: Path | None = None
) -> Iterator[PendingRun]:
    """Start a run when the block is entered; with live traffic, after the user has agreed.

    ``runs_if_stopped`` is as for ``begin_run``.
    """
    experiment, subjects, urls = begun
    with urls or nullcontext():
        if urls and any(condition.live for condition in experiment.conditions()):
            planning, most = definition_of(experiment.name).planning, experiment.plan(subjects).most
            ask(planning.traffic(experiment, urls, most), interruption, agreed=agreed)
        with begin_run(experiment, subjects, urls, place, runs_if_stopped=runs_if_stopped) as run:
            yield run


def _tell_left_out(catalogue: Catalogue) -> None:
    """Print the invalid subjects that are left out."""
    for error in catalogue.invalid.values():
        tell(f"{error.line}; it is left out")


def _is_bare(context: Context, verb: Verb) -> bool:
    """Return whether the verb has ``--quick`` and neither subjects nor any option of the experiment were given."""
    named = {"names", "resume", *(one.option.parameter for one in option_fields(verb.options))}
    given = {name for name in named & context.params.keys() if _is_given(context, name)}
    return "quick" in named and not given


def _is_given(context: Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _tell_how_long(run: PendingRun, verb: Verb, interruption: Interruption) -> None:
    """Print before the builds how long the whole run takes, and the quicker alternative."""
    left_s = foreseen_s(run, interruption)
    if left_s is not None:
        tell(
            f"{verb.name}: {counted(run.plan.most, 'trial')} take about {format_span(left_s)}, after what must be"
            f" built; for a first look: httpdyno {verb.name} --quick"
        )


def show(measured: Measured, format_name: str, columns: str | None = None, *, verbose: bool = False) -> Run:
    """Print the tables of a run, as ``httpdyno report`` does."""
    assert measured.run is not None, "these verbs always keep their run"
    print_run(measured.run, format_name, columns, verbose=verbose)
    return measured.run
