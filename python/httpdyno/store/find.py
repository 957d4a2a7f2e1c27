"""Finds a run by the name that people give it: a folder, a name below the folder of runs, ``latest``, ``previous``."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from httpdyno.errors import UnknownName, UnreadableRun
from httpdyno.store.layout import MANIFEST

__all__ = ["RELATIVE_NAMES", "find_run", "foreign_folders", "run_folders", "started_at"]

RELATIVE_NAMES: Final = ("latest", "previous")
"""The run that was started last, and the one before it."""

_NAMED_AT_MOST: Final = 5


def find_run(name: str, runs: Path) -> Path:
    """Find the folder of a run.

    The name is ``latest`` or ``previous``; else the path of a folder; else the name of a folder below ``runs``. What
    begins with ``./`` is always a path. Whether it can be read is another question: that is answered by ``open_run``.
    """
    folders = run_folders(runs)
    if name in RELATIVE_NAMES:
        place = RELATIVE_NAMES.index(name)
        if place < len(folders):
            return folders[place]
        held = "no run" if not folders else "only one run"
        raise UnknownName(f"{name}: {runs} holds {held}; make one with: httpdyno bench")
    for path in (Path(name), runs / name):
        if name and path.is_dir():
            return path
        if name and path.exists():
            raise UnreadableRun(f"{path} is no run of httpdyno: a run is a folder; see: httpdyno runs")
    raise UnknownName(f"{name[:200]!r}: there is no such run, neither as a folder nor below {runs}; {_known(folders)}")


def run_folders(runs: Path) -> tuple[Path, ...]:
    """List the folders of runs below a folder, the one that was started last first.

    A folder without ``manifest.json`` is no run, nor is a hidden one, and none that does not exist has any. A damaged
    run keeps its place: the latest run that is damaged is still the latest.
    """
    found = [path for path in _folders(runs) if (path / MANIFEST).is_file()]
    return tuple(sorted(found, key=lambda path: (started_at(path), path.name), reverse=True))


def foreign_folders(runs: Path) -> tuple[Path, ...]:
    """List what lies among the runs and is none: folders without ``manifest.json``; hidden ones are left alone."""
    return tuple(sorted(path for path in _folders(runs) if not (path / MANIFEST).is_file()))


def _folders(runs: Path) -> list[Path]:
    try:
        found = runs.iterdir() if runs.is_dir() else ()
        return [path for path in found if not path.name.startswith(".") and path.is_dir()]
    except OSError as error:
        raise UnreadableRun(f"{runs}: the runs cannot be listed: {error.strerror}") from error


def started_at(folder: Path) -> datetime:
    """Return when a run was started: from its manifest, since people rename folders, or else from its name."""
    try:
        # The time alone, without the whole manifest's validation: also one of a newer version has it.
        return _time(json.loads((folder / MANIFEST).read_bytes())["started_at"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    try:
        return _time(folder.name.partition("-")[0])
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _known(folders: tuple[Path, ...]) -> str:
    if not folders:
        return "make one with: httpdyno bench"
    names = ", ".join(folder.name for folder in folders[:_NAMED_AT_MOST])
    more = len(folders) - _NAMED_AT_MOST
    return f"known are: {names}" + (f" and {more} more (httpdyno runs)" if more > 0 else "")
