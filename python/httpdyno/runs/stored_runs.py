"""Runs of a folder: their table, and pruning by limits."""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from httpdyno.errors import UnreadableRun
from httpdyno.model import Cell, Column, ColumnKind, Table, format_size
from httpdyno.storage import storage_errors
from httpdyno.store import holder_of, open_run, run_folders
from httpdyno.store.folder import PINNED, RunLock, foreign_folders, started_at

_COLUMNS: Final = (
    Column("run", description="name of the run's folder"),
    Column("experiment"),
    Column("state", description="running, complete, or partial: stopped, and can be resumed"),
    Column("trials", ColumnKind.INTEGER, description="finished trials"),
    Column("planned", ColumnKind.INTEGER, description="planned trials"),
    Column("pinned", ColumnKind.BOOLEAN, description="whether `runs prune` keeps it"),
    Column("process", ColumnKind.INTEGER, description="process that makes the run"),
    Column("command", description="command of the run"),
)
_REMOVED: Final = ".removed"
"""Suffix of the hidden name of a run while its files are removed."""


def runs_table(folder: Path) -> tuple[Table, tuple[str, ...]]:
    """Return the runs of a folder, the newest first, and a line for each folder that is not a readable run.

    A folder that does not exist has no runs.
    """
    if folder.exists() and not folder.is_dir():
        raise UnreadableRun(f"{folder} is not a folder; name the folder that holds the runs")
    rows: list[tuple[Cell, ...]] = []
    complaints: list[str] = []
    for path in (*run_folders(folder), *foreign_folders(folder)):
        try:
            run = open_run(path)
        except UnreadableRun as error:
            complaints.append(error.line)
            continue
        manifest, process = run.manifest, run.process
        rows.append(
            (
                run.folder.name,
                manifest.experiment,
                manifest.state if process is None else "running",
                len(run.trials),
                manifest.trials_planned,
                True if (run.folder / PINNED).exists() else None,
                process or None,
                shlex.join(manifest.command),
            )
        )
    return Table(_COLUMNS, tuple(rows)), tuple(complaints)


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A stored run with the properties that pruning needs."""

    folder: Path
    started_at: datetime
    size_bytes: int
    stays: bool
    """Whether it is pinned or still running."""


def stored_runs(folder: Path, *, only: str | None = None) -> tuple[KeptRun, ...]:
    """List the runs of a folder; links to folders elsewhere are skipped.

    With ``only``, the name of a folder within a run, list the runs with such a folder, and its size.
    """
    return tuple(
        KeptRun(
            path,
            started_at(path),
            sum(file.lstat().st_size for file in (path / (only or "")).rglob("*")),
            stays=(path / PINNED).exists() or holder_of(path) is not None,
        )
        for path in run_folders(folder)
        if not path.is_symlink() and (path / (only or "")).is_dir()
    )


def beyond(
    runs: Sequence[KeptRun],
    *,
    now: datetime,
    keep: int | None = None,
    older: timedelta | None = None,
    size_bytes: int | None = None,
) -> list[tuple[KeptRun, str]]:
    """Return the runs that are beyond a limit, the newest first, each with the limit in words; None: no limit.

    Kept runs (``KeptRun.stays``) do not count. If a run does not fit into the size, all older runs are beyond the
    limit, too.
    """
    gone: list[tuple[KeptRun, str]] = []
    kept, used, full = 0, 0, False
    for run in sorted((run for run in runs if not run.stays), key=lambda run: run.started_at, reverse=True):
        full = full or (size_bytes is not None and used + run.size_bytes > size_bytes)
        if older is not None and now - run.started_at > older:
            gone.append((run, f"started {(now - run.started_at).days:,} days ago"))
        elif keep is not None and kept >= keep:
            gone.append((run, f"not one of the newest {keep:,}"))
        elif full and size_bytes is not None:
            gone.append((run, f"does not fit into {format_size(size_bytes)} with the newer ones"))
        else:
            kept, used = kept + 1, used + run.size_bytes
    return gone


def pruning_table(gone: Sequence[tuple[KeptRun, str]]) -> Table:
    """Return the table of the runs to remove."""
    columns = (Column("run"), Column("size", ColumnKind.SIZE), Column("reason"))
    return Table(columns, tuple((run.folder.name, run.size_bytes, reason) for run, reason in gone))


def remove(runs: Sequence[KeptRun], *, only: str | None = None) -> tuple[KeptRun, ...]:
    """Remove runs, or only a folder within each; return the runs that stay because a process holds their lock.

    A run is first renamed to a hidden name; the next removal removes files that a crash left.
    """
    stayed = []
    for run in runs:
        lock = RunLock.take(run.folder)
        if lock is None:
            stayed.append(run)
            continue
        gone = run.folder / (only or "")
        hidden = run.folder.with_name(f".{run.folder.name}{_REMOVED}")
        with storage_errors(f"{gone}: cannot be removed", folder=run.folder.parent):
            gone.rename(hidden)
        lock.release(remove=only is not None)
    for folder in {run.folder.parent for run in runs}:
        for hidden in folder.glob(f".*{_REMOVED}"):
            with storage_errors(f"{hidden}: cannot be removed", folder=folder):
                shutil.rmtree(hidden)
    return tuple(stayed)
