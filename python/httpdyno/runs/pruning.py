"""Which runs go when their folder is pruned, and how they go."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from httpdyno.model import Column, ColumnKind, Table, format_size
from httpdyno.storage import storage_errors
from httpdyno.store import holder_of, run_folders
from httpdyno.store.folder import PINNED, RunLock, started_at

__all__ = ["KeptRun", "Limits", "beyond", "pruning_table", "remove", "stored_runs"]

_REMOVED: Final = ".removed"
"""Ends the hidden name that a run has while its files go."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run as pruning sees it."""

    folder: Path
    started_at: datetime
    size_bytes: int
    stays: bool
    """It is pinned, or a process is making it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be kept; None: no limit of that kind."""

    keep: int | None = None
    older: timedelta | None = None
    size_bytes: int | None = None


def stored_runs(folder: Path, *, only: str | None = None) -> tuple[KeptRun, ...]:
    """List the runs of a folder; links to folders elsewhere are left alone.

    With ``only``, a folder within runs, list those that have it; sizes are then those of that folder.
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


def beyond(runs: Sequence[KeptRun], limits: Limits, *, now: datetime) -> tuple[tuple[KeptRun, str], ...]:
    """Return the runs that are beyond a limit, the newest first, each with the limit in words.

    Those that stay are in no count: neither of runs nor of bytes. A run that does not fit takes all older ones with it.
    """
    return tuple(_beyond(sorted(runs, key=lambda run: run.started_at, reverse=True), limits, now))


def _beyond(newest_first: Sequence[KeptRun], limits: Limits, now: datetime) -> Iterator[tuple[KeptRun, str]]:
    kept, used, full = 0, 0, False
    for run in newest_first:
        if run.stays:
            continue
        full = full or (limits.size_bytes is not None and used + run.size_bytes > limits.size_bytes)
        if limits.older is not None and now - run.started_at > limits.older:
            yield run, f"started {(now - run.started_at).days:,} days ago"
        elif limits.keep is not None and kept >= limits.keep:
            yield run, f"not one of the newest {limits.keep:,}"
        elif full and limits.size_bytes is not None:
            yield run, f"does not fit into {format_size(limits.size_bytes)} with the newer ones"
        else:
            kept, used = kept + 1, used + run.size_bytes


def pruning_table(gone: Sequence[tuple[KeptRun, str]]) -> Table:
    """Describe the runs that go."""
    columns = (Column("run"), Column("size", ColumnKind.SIZE), Column("reason"))
    return Table(columns, tuple((run.folder.name, run.size_bytes, reason) for run, reason in gone))


def remove(runs: Sequence[KeptRun], *, only: str | None = None) -> tuple[KeptRun, ...]:
    """Remove runs, or only a folder within each; return those that stayed, because a process took them up meanwhile.

    A run goes at once: what a crash leaves of it has a hidden name, and goes with the next removal.
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
