"""``--resume``: goes on with a run that is named, and refuses what would contradict it."""

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import typer

from httpdyno.cli.agreement import ask
from httpdyno.cli.place import make_place
from httpdyno.errors import NotResumable, UsageError
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.interruption import Interruption
from httpdyno.runs.pending import PendingRun
from httpdyno.runs.resume import Resumed, resume_run
from httpdyno.store import find_run, read_manifest

__all__ = ["refuse_beside_resume", "resume_named"]


@contextmanager
def resume_named(name: str, runs: Path, interruption: Interruption, *, agreed: bool, verb: str) -> Iterator[PendingRun]:
    """Go on with a run that a user has named; standard input may be its lock."""
    folder = find_run(name, runs)
    definition = definition_of(read_manifest(folder).experiment)
    if (experiment := definition.name) != verb:
        if not definition.resumable:
            raise NotResumable(f"{folder} is a run of {experiment}, which cannot be continued; begin a new one")
        again = f"httpdyno {experiment} --resume {shlex.quote(str(folder))}"
        raise UsageError(f"{folder} is a run of {experiment}; go on with: {again}")
    with interruption.at_once("the run was being reopened"):
        resumed = resume_run(folder, make_place(None, runs), inherited=0)
    with resumed.urls or nullcontext(), resumed.run:
        _agree_again(resumed, interruption, agreed=agreed)
        yield resumed.run


def _agree_again(resumed: Resumed, interruption: Interruption, *, agreed: bool) -> None:
    """Ask before the rest of a run goes to the real internet, unless the process that handed it over has asked."""
    run = resumed.run
    if not run.live or run.manifest is None or (run.writer and run.writer.lock.inherited):
        return
    sent = definition_of(run.experiment.name).sent
    assert sent is not None, "who asks the real internet says what is sent there"
    assert resumed.urls is not None, "what is asked there is a list"
    trials = run.manifest.trials_planned - len(run.trials)
    ask(sent(run.experiment, resumed.urls, trials), interruption, agreed=agreed)


def refuse_beside_resume(context: typer.Context, allowed: Collection[str]) -> None:
    """Refuse what was typed beside ``--resume`` and would contradict what the run was begun with.

    Environment variables do not count: they may stand there for other commands. ``allowed`` are the parameters that say
    nothing of what is measured.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in allowed and source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0] if parameter.opts[0].startswith("-") else "a SUBJECT"
            raise UsageError(
                f"--resume: {option} cannot be given beside it: a run goes on as it was begun; leave it out"
            )
