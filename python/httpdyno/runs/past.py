"""The runs of a folder, as a table."""

import shlex
from pathlib import Path
from typing import Final

from httpdyno.errors import UnreadableRun
from httpdyno.model import Cell, Column, ColumnKind, Table
from httpdyno.store import Run, holder_of, open_run, run_folders
from httpdyno.store.folder import PINNED, foreign_folders

__all__ = ["RUN_COLUMNS", "runs_table"]

RUN_COLUMNS: Final = (
    Column("run", description="name of the run's folder"),
    Column("experiment"),
    Column("state", description="running, complete, or partial when it was stopped: then it can be resumed"),
    Column("trials", ColumnKind.INTEGER, description="trials that are finished"),
    Column("planned", ColumnKind.INTEGER, description="trials that were planned"),
    Column("pinned", ColumnKind.BOOLEAN, description="whether `runs prune` leaves it alone"),
    Column("process", ColumnKind.INTEGER, description="the process that is making it"),
    Column("command", description="how it was started"),
)


def runs_table(folder: Path) -> tuple[Table, tuple[str, ...]]:
    """List the runs of a folder, the newest first; of each folder that is none or cannot be read, a line that says so.

    A folder that does not exist has no runs.
    """
    if folder.exists() and not folder.is_dir():
        raise UnreadableRun(f"{folder} is no folder; runs are kept in one")
    rows: list[tuple[Cell, ...]] = []
    complaints: list[str] = []
    for path in (*run_folders(folder), *foreign_folders(folder)):
        try:
            rows.append(_row(open_run(path)))
        except UnreadableRun as error:
            complaints.append(error.line)
    return Table(RUN_COLUMNS, tuple(rows)), tuple(complaints)


def _row(run: Run) -> tuple[Cell, ...]:
    manifest = run.manifest
    # A run that has just ended may not have let go of its lock yet.
    holder = None if manifest.state == "complete" else holder_of(run.folder)
    return (
        run.folder.name,
        manifest.experiment,
        manifest.state if holder is None else "running",
        len(run.trials),
        manifest.trials_planned,
        True if (run.folder / PINNED).exists() else None,
        None if holder is None else holder.process,
        shlex.join(manifest.command),
    )
