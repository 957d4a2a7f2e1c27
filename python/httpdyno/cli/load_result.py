"""What ``httpdyno load`` leaves at its end: its tables, where the run is, which limits did not hold."""

from typing import Final

import typer

from httpdyno.cli.output import print_reserved, print_run, write_page_of_run
from httpdyno.cli.terminal import tell
from httpdyno.errors import CheckFailed, NothingMeasured
from httpdyno.experiments.load.definition import DEFINITION
from httpdyno.experiments.load.limit import LoadLimit
from httpdyno.experiments.load.run import LoadRun
from httpdyno.lab.interruption import interrupted_exit_code
from httpdyno.model import Trial, Validity
from httpdyno.report.sections.reservation import not_whole
from httpdyno.runs.showing import reserved, tables_of
from httpdyno.store import open_run

__all__ = ["finish_load"]

_OF_GENERATOR: Final = {Validity.GENERATOR_LIMITED}


def finish_load(ended: LoadRun, format_name: str, limits: list[LoadLimit]) -> None:
    """Print what was measured; say where it is kept, and which limits did not hold; set the exit code."""
    if not ended.trials:
        raise typer.Exit(interrupted_exit_code())
    _show(ended, format_name)
    if ended.folder is not None:
        tell(f"run: {ended.folder}{'' if ended.whole else ' (partial)'}")
        write_page_of_run(open_run(ended.folder))
    failed = _failed(limits, ended.trials)
    if ended.not_kept is not None:
        raise ended.not_kept
    if not ended.whole:
        raise typer.Exit(interrupted_exit_code())
    if failed:
        raise typer.Exit(CheckFailed.exit_code)
    for limit in limits:
        if limit.found(ended.trials) is None:
            if reason := next((one.validity_reason for one in ended.trials if one.validity in _OF_GENERATOR), None):
                raise NothingMeasured(f"--fail-if {limit.text!r}: nothing can be said of the server, for {reason}")
            raise NothingMeasured(
                f"--fail-if {limit.text!r}: nothing of the kind was measured;"
                " leave it out, or see which figures there are with: --format json"
            )


def _show(ended: LoadRun, format_name: str) -> None:
    """Print what was measured: from its records where all of it is kept, as ``httpdyno report`` does."""
    if ended.folder is None or ended.not_kept is not None:
        tables, notes = (
            tables_of(DEFINITION, ended.trials, {}, format_name),
            not_whole(len(ended.trials), ended.planned),
        )
        print_reserved(reserved(tables, notes, format_name), notes, format_name)
    else:
        print_run(open_run(ended.folder), format_name)


def _failed(limits: list[LoadLimit], trials: tuple[Trial, ...]) -> bool:
    """Return of each limit that was passed."""
    failed = False
    for limit in limits:
        found = limit.found(trials)
        if found is not None and limit.holds(found):
            failed = True
            tell(f"FAILED --fail-if {limit.text!r}: {limit.words(found)}")
    return failed
