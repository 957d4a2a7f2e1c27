"""What a verb leaves on stdout and stderr at its end: the table, where the run is, what could not be built."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer

from httpdyno.cli.page import leave_page
from httpdyno.cli.preset import absent_subjects
from httpdyno.cli.tables import print_tables
from httpdyno.cli.terminal import results, tell
from httpdyno.errors import HttpdynoError, NothingMeasured, NotResumable
from httpdyno.lab.contract.check import Checked
from httpdyno.lab.interruption import interrupted_exit_code
from httpdyno.model import Note, Subject, Table
from httpdyno.report.cell import without_controls
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.runs.pending import PendingRun
from httpdyno.runs.run import Measured
from httpdyno.runs.showing import read_by_programs, shown_tables
from httpdyno.store import Run
from httpdyno.subjects.build import BuildOutcome
from httpdyno.subjects.probe import ProbeResult

__all__ = [
    "close_run",
    "print_checked",
    "print_probe",
    "print_reserved",
    "print_run",
    "print_unseen",
    "require_builds",
    "telling_of_rest",
]

_WITHOUT_NOTES: Final = "csv"
_PROBE_COLOURS: Final = {"ok": "green", "known": "yellow", "unseen": "yellow", "FAILED": "red"}


def print_reserved(tables: Sequence[Table], reservations: Sequence[Note], format_name: str) -> None:
    """Write tables to stdout that have their reservations; those for which there is no place go to stderr.

    CSV has no place for them, and a format for programs none where there is no row.
    """
    print_tables(tables, format_name)
    if not _has_place(tables, format_name):
        for note in reservations:
            tell(note.text)


def _has_place(tables: Sequence[Table], format_name: str) -> bool:
    """Return whether the reservations of tables can be read in what is printed of them."""
    without_rows = read_by_programs(format_name) and not any(table.rows for table in tables)
    return format_name != _WITHOUT_NOTES and not without_rows


def print_run(run: Run, format_name: str, columns: str | None = None, *, verbose: bool = False) -> None:
    """Write what a run measured to stdout, and with what reservations it is read."""
    tables = shown_tables(run, format_name, absent_subjects(run), columns, verbose=verbose)
    # To read the trials once more takes about a millisecond each: only where the tables do not say it.
    notes = () if _has_place(tables, format_name) else table_reservations(run.manifest, run.records())
    print_reserved(tables, notes, format_name)


def close_run(measured: Measured) -> None:
    """Write the page of the run; say on stderr where both are; set the exit code."""
    if run := measured.run:
        tell(f"run: {run.folder}" if measured.whole else _partial(run.folder, measured.experiment))
        leave_page(run)
    if not measured.whole:
        raise typer.Exit(interrupted_exit_code())
    if not measured.anything:
        raise typer.Exit(NothingMeasured.exit_code)


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

    Where every build was asked for by name, one that failed is the command's failure; else only when none succeeded.
    """
    built = [outcome.build is not None for outcome in outcomes]
    if not (all(built) if every else any(built)):
        raise typer.Exit(NothingMeasured.exit_code)


def print_probe(subject: Subject, probed: Sequence[ProbeResult]) -> bool:
    """Print what a probe found, and what has to change; return whether every claim holds."""
    console = results()
    for result in probed:
        console.out(f"{result.mark:<8}", style=_PROBE_COLOURS.get(result.mark), end="")
        console.out(without_controls(f"{subject.id}: {result}"))
        if not result.honest:
            console.out(f"{'':<8}to change: {result.change}")
    return all(result.honest for result in probed)


def print_checked(subject: Subject, checked: Checked) -> None:
    """Print what a check of a clause found, and what has to change."""
    console, mark = results(), "FAILED" if checked.breaches else "ok"
    for breach in checked.breaches or (None,):
        seen, *change = (f": {breach.seen}", breach.change) if breach else ("",)
        console.out(f"{mark:<8}", style=_PROBE_COLOURS[mark], end="")
        console.out(without_controls(f"{subject.id}: {checked.clause.name}{seen}"))
        for what in change:
            console.out(f"{'':<8}to change: {what}")


def print_unseen(subject: Subject, names: Sequence[str]) -> None:
    """Print what could not be looked at, for what was broken before."""
    console = results()
    console.out(f"{'unseen':<8}", style=_PROBE_COLOURS["unseen"], end="")
    console.out(f"{subject.id}: {', '.join(names)}")
