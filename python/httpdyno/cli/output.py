"""The results that a verb prints when it ends: the table, the page, the folder of the run, failed builds."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from click.exceptions import Exit

from httpdyno.cli.terminal import print_tables, tell
from httpdyno.errors import HttpdynoError, NothingMeasured, NotResumable
from httpdyno.experiments.published import preset_of
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.interruption import interrupted_exit_code
from httpdyno.model import Note, Report, Table
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.runs.pending import PendingRun
from httpdyno.runs.run import Measured
from httpdyno.runs.showing import build_report, read_by_programs, shown_tables
from httpdyno.storage import storage_errors
from httpdyno.store import Run
from httpdyno.store.files import write_whole
from httpdyno.store.folder import REPORT
from httpdyno.subjects.catalogue import read_catalogue


def write_report(run: Run, path: Path | None = None, report: Report | None = None) -> Path:
    """Write the page of a run, by default into its folder; return its path. ``report``: the report, if it is built."""
    path, definition = path or run.folder / REPORT, definition_of(run.manifest.experiment)
    text = (definition.presentation.page(run) or _page_of(report or build_report(run, definition))).encode()
    with storage_errors(f"{path}: the report cannot be written", folder=path.parent, cure="name another: --html FILE"):
        write_whole(path, lambda file: file.write(text))
    return path


def _page_of(report: Report) -> str:
    from httpdyno.report.html import page  # heavy: charts are imported only to write a page

    return page(report)


def print_reserved(tables: Sequence[Table], reservations: Callable[[], Sequence[Note]], format_name: str) -> None:
    """Write tables to stdout with their reservations.

    Reservations go to stderr with CSV, and with machine-readable tables without rows: neither can contain them.
    """
    print_tables(tables, format_name)
    if format_name == "csv" or (read_by_programs(format_name) and not any(table.rows for table in tables)):
        for note in reservations():
            tell(note.text)


def print_run(run: Run, format_name: str, columns: str | None = None, *, verbose: bool = False) -> None:
    """Write the tables of a run to stdout, with its reservations."""
    published, absent = preset_of(run.manifest), dict[str, str]()
    measured = {subject.id for subject in run.manifest.subjects}
    missing = [name for name in published.subjects if name not in measured] if published else []
    catalogue = read_catalogue(()) if missing else None
    # Subjects that exist here are missing because the user has named others.
    if catalogue is not None and not any(name in catalogue.subjects for name in missing):
        reasons = {name: error.line for name, error in catalogue.invalid.items()}
        absent = {name: f"unavailable: {reasons.get(name, 'httpdyno has no such subject')}" for name in missing}
    tables = shown_tables(run, format_name, absent, columns, verbose=verbose)
    # Reading a trial again takes about a millisecond, so trials are read only if the tables lack the reservations.
    print_reserved(tables, lambda: table_reservations(run.manifest, run.records()), format_name)


def close_run(measured: Measured) -> None:
    """Write the page of the run, print the paths of run and page on stderr, and set the exit code."""
    if run := measured.run:
        tell(f"run: {run.folder}" if measured.whole else _partial(run.folder, measured.experiment))
        try:
            tell(f"report: {write_report(run)}")
        except HttpdynoError as error:
            tell(error.line)
    if not measured.whole:
        raise Exit(interrupted_exit_code())
    if not measured.anything:
        raise Exit(NothingMeasured.exit_code)


@contextmanager
def resume_hint_on_error(run: PendingRun) -> Iterator[None]:
    """When an error ends the block, print where the run is and how to resume it."""
    try:
        yield
    except HttpdynoError as error:
        if run.folder and run.settled and not isinstance(error, NotResumable):
            tell(_partial(run.folder, run.experiment.name))
        raise


def _partial(folder: Path, experiment: str) -> str:
    verb = definition_of(experiment).verb
    return f"run: {folder} (partial); continue with: httpdyno {verb} --resume {shlex.quote(str(folder))}"
