"""What a verb leaves on stdout and stderr at its end: the table, where the run is, what could not be built."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from httpdyno.cli.terminal import reader_may_leave, results, tell
from httpdyno.errors import HttpdynoError, Interrupted, NothingMeasured, NotResumable, UnknownName
from httpdyno.experiments.measure import Measured
from httpdyno.experiments.pending import PendingRun
from httpdyno.model import Subject, Table
from httpdyno.report import Surface, format_names, render
from httpdyno.report.cell import without_controls
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import ProbeResult

__all__ = ["check_format", "close_run", "print_probe", "print_table", "require_builds", "telling_of_rest"]


def check_format(name: str) -> None:
    """Refuse a format that no report has, before anything is measured.

    Raises
    ------
    UnknownName
        If there is no such format.
    """
    known = format_names()
    if name not in known:
        raise UnknownName(f"--format: {name!r} is not known; known are: {', '.join(known)}")


def print_table(table: Table, format_name: str) -> None:
    """Write a table to stdout."""
    text = render(table, format_name, Surface.of(sys.stdout))
    with reader_may_leave():
        sys.stdout.write(text)
        sys.stdout.flush()


def close_run(measured: Measured, invalid: Iterable[HttpdynoError] = ()) -> None:
    """Write the page of the run; say on stderr where both are and what is missing; set the exit code.

    Raises
    ------
    typer.Exit
        With 3 when nothing could be measured, 130 when the run was interrupted.
    """
    for error in invalid:
        tell(error.line)
    if measured.folder:
        tell(f"run: {measured.folder}" if measured.whole else _partial(measured.folder, measured.experiment))
        _tell_report(measured.folder)
    if not measured.whole:
        raise typer.Exit(Interrupted.exit_code)
    if not measured.anything:
        raise typer.Exit(NothingMeasured.exit_code)


def _tell_report(folder: Path) -> None:
    """Write the page of a run and say where it is; that it cannot be written is no failure of the measurement."""
    from httpdyno.cli.report import write_report

    try:
        tell(f"report: {write_report(folder)}")
    except HttpdynoError as error:
        tell(error.line)


@contextmanager
def telling_of_rest(run: PendingRun) -> Iterator[None]:
    """When an error ends the block, say where the run is and how it goes on."""
    try:
        yield
    except NotResumable:
        raise
    except HttpdynoError:
        if run.folder and run.settled:
            tell(_partial(run.folder, run.experiment.name))
        raise


def _partial(folder: Path, verb: str) -> str:
    return f"run: {folder} (partial); go on with: httpdyno {verb} --resume {shlex.quote(str(folder))}"


def require_builds(outcomes: Iterable[BuildOutcome], *, every: bool) -> None:
    """Set the exit code of a command that builds.

    Parameters
    ----------
    outcomes : iterable of BuildOutcome
        What became of the builds.
    every : bool
        Whether each of them was asked for by name: then one that failed is the command's failure.

    Raises
    ------
    typer.Exit
        With 3 when nothing was built, or ``every`` and one of them was not.
    """
    built = [outcome.build is not None for outcome in outcomes]
    if not (all(built) if every else any(built)):
        raise typer.Exit(NothingMeasured.exit_code)


def print_probe(subject: Subject, probed: Sequence[ProbeResult]) -> bool:
    """Print what a probe found; return whether every claim holds."""
    console = results()
    for result in probed:
        console.out("ok      " if result.honest else "FAILED  ", style="green" if result.honest else "red", end="")
        console.out(without_controls(f"{subject.id}: {result}"))
    return all(result.honest for result in probed)
