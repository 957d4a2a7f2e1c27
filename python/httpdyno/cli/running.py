"""Start, resume or detach a run; measure, print and close it."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final

from click import Context
from click.exceptions import Exit

from httpdyno.cli.display import Display
from httpdyno.cli.output import close_run, print_run, resume_hint_on_error
from httpdyno.cli.place import environment_options, install_needs, make_place, read_named_subjects
from httpdyno.cli.terminal import ask, messages, tell
from httpdyno.cli.verb import is_given
from httpdyno.errors import NothingMeasured, NotResumable, StorageFailed, UsageError
from httpdyno.experiments.experiment import Beginning, Begun, Ended
from httpdyno.experiments.option_fields import option_fields, read_options
from httpdyno.experiments.options import Verb
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import counted, format_span
from httpdyno.runs.artifacts import check_artifacts
from httpdyno.runs.pending import PendingRun, begin_run
from httpdyno.runs.resume import resume_run
from httpdyno.runs.run import FETCHER, foreseen_s, measure
from httpdyno.runs.showing import check_columns
from httpdyno.store import find_run, read_manifest
from httpdyno.store.files import storing
from httpdyno.store.folder import OUTPUT

ALLOWED_WITH_RESUME: Final = frozenset({"resume", "detach", "format", "columns", "out", "verbose", "yes"})
"""Parameters that do not change what is measured."""


def run_and_show(context: Context, verb: Verb) -> None:
    """Start or resume a run, measure it and print it from its records; or detach it.

    The options of the experiment are read only for a new run: a resumed run has its options already.
    """
    definition, typed = definition_of(verb.name), context.params
    resumed, agreed = typed["resume"], typed.get("yes", False)
    check_columns(definition, typed["columns"])
    if resumed is not None:
        reject_resume_conflicts(context)
    catalogue, names = read_named_subjects(typed["names"], typed["subjects"])
    interruption = Interruption()
    if resumed is None:
        if not verb.must_name and not names and not typed.get("preset"):
            for error in catalogue.invalid.values():
                tell(f"{error.line}; it is left out")
        asked = verb.options(**read_options(verb.options, typed))
        check_artifacts(typed["artifacts"])
        environment = environment_options(context)
        place = make_place(typed["cpus"], typed["out"], environment=environment, artifacts=typed["artifacts"])
        install = partial(install_needs, interruption=interruption) if typed["install"] else lambda _: None
        begin = definition.planning.begin
        assert begin is not None, "an experiment without `begin` has a verb of its own"
        begun = begin(Beginning(catalogue, place, interruption, tell, install), names, asked)
        run_of = begin_agreed(begun, place, interruption, agreed=agreed)
    else:
        run_of = resume_named(resumed, typed["out"], interruption, agreed=agreed, verb=verb.name)
    with interruption, run_of as run, resume_hint_on_error(run):
        named = {"names", "resume", *(one.option.parameter for one in option_fields(verb.options))}
        bare = "quick" in named and not any(is_given(context, name) for name in named)
        if bare and (left_s := foreseen_s(run, interruption)) is not None:
            # Printed before the builds, which may take minutes.
            tell(
                f"{verb.name}: {counted(run.plan.most, 'trial')} take about {format_span(left_s)}, after missing"
                f" builds; for a first look: httpdyno {verb.name} --quick"
            )
        if typed["detach"]:
            detach_run(run, verb.name, typed["format"])
            return
        fetcher = catalogue.subjects.get(FETCHER) if verb.fetcher else None
        with Display(messages(), folded=True) as display:
            measured = measure(run, display, interruption, fetcher=fetcher)
    kept = measured.run
    assert kept is not None, "these verbs always keep their run"
    print_run(kept, typed["format"], typed["columns"], verbose=typed.get("verbose", False))
    ended = Ended(run.experiment, run.subjects, run.place, measured.trials, kept, measured.whole, tell)
    found = definition.planning.end(ended)
    close_run(measured)
    if not found:
        raise Exit(NothingMeasured.exit_code)


def reject_resume_conflicts(context: Context, allowed: frozenset[str] = ALLOWED_WITH_RESUME) -> None:
    """Raise ``UsageError`` for an option that conflicts with ``--resume``; ``allowed`` are names of parameters.

    Environment variables do not count: they may be meant for other commands.
    """
    for parameter in context.command.params:
        if parameter.name not in allowed and is_given(context, parameter.name or "", "COMMANDLINE"):
            option = parameter.opts[0] if parameter.opts[0].startswith("-") else f"a {parameter.metavar}"
            raise UsageError(f"--resume: {option} cannot change when a run is resumed; leave it out")


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


@contextmanager
def resume_named(name: str, runs: Path, interruption: Interruption, *, agreed: bool, verb: str) -> Iterator[PendingRun]:
    """Resume the run of that name; ask the user before live traffic. Standard input may be the run's lock."""
    folder = find_run(name, runs)
    definition = definition_of(read_manifest(folder).experiment)
    if definition.verb != verb:
        if definition.planning.restore is None:
            raise NotResumable(f"{folder} is a run of {definition.name}, which cannot be continued; begin a new one")
        again = f"httpdyno {definition.verb} --resume {shlex.quote(str(folder))}"
        raise UsageError(f"{folder} is a run of {definition.name}; continue with: {again}")
    with interruption.at_once("the run was being reopened"):
        run = resume_run(folder, make_place(None, runs), inherited=0)
    with run.urls or nullcontext(), run:
        # In a detached run the parent process has asked the user.
        if run.live and run.manifest is not None and not (run.writer and run.writer.lock.inherited):
            assert run.urls is not None, "live traffic comes from a list"
            trials = run.manifest.trials_planned - len(run.trials)
            ask(definition.planning.traffic(run.experiment, run.urls, trials), interruption, agreed=agreed)
        yield run


def detach_run(run: PendingRun, verb: str, format_name: str) -> None:
    """Start a process that makes the run; print where its results will be, how to watch and how to stop it.

    The process works like ``--resume``, but inherits the lock as standard input: so the run is locked all the time.
    """
    if run.writer is None:
        raise UsageError("--detach: a run that is not kept cannot show its results later; leave out --detach")
    folder, output = run.writer.folder, run.writer.folder / OUTPUT
    argv = [sys.executable, "-P", "-m", "httpdyno", verb, "--resume", str(folder.resolve()), "--format", format_name]
    with storing(folder):
        printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    files = enumerate((run.writer.lock.descriptor, printed, printed))
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, standard) for standard, descriptor in files]
    try:
        process = os.posix_spawn(sys.executable, argv, os.environ, file_actions=actions, setsid=True)
    except OSError as error:
        raise StorageFailed(
            f"{sys.executable} cannot be started in the background: {error.strerror}; leave out --detach"
        ) from error
    finally:
        os.close(printed)
    run.hand_over(process)
    # Results go to stdout; the folder is all that exists so far.
    sys.stdout.write(f"{folder}\n")
    sys.stdout.flush()
    tell(f"in the background as process {process}; stop it with: kill {process}")
    listed = "" if folder.parent == Path("runs") else f" --out {shlex.quote(str(folder.parent))}"
    tell(f"watch it with: tail -f {shlex.quote(str(output))}, or: httpdyno runs{listed}")
