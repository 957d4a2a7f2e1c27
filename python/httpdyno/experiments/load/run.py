"""Measures a load from its options to its run: the trials one after the other, each kept as soon as it has ended.

Imports nothing heavy before the engine has sent, so as not to take its CPU.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from httpdyno.errors import InvalidValue, StorageFailed
from httpdyno.experiments.load.generator import LoadObserver, LoadReport, run_load, watch_load
from httpdyno.experiments.load.options import LoadOptions
from httpdyno.experiments.load.started import StartedLoad
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.experiments.load.keeping import LoadKeeper
    from httpdyno.model import Trial

__all__ = ["LoadRun", "measure_load", "require_folder"]

_MOST_REPEATS: Final = 1000


@dataclass(frozen=True, slots=True)
class LoadRun:
    """What came out of a load."""

    trials: tuple["Trial", ...]
    planned: int
    """How many trials were asked for."""
    whole: bool
    """Whether every trial was sent to its end."""
    folder: Path | None
    """Where the run lies; None when it was not kept."""
    not_kept: StorageFailed | None = None
    """Why the run, or the rest of it, could not be kept although it should have been."""


@dataclass(slots=True)
class _Ended:
    """What is there so far."""

    trials: list["Trial"] = field(default_factory=list)
    keeper: "LoadKeeper | None" = None
    not_kept: StorageFailed | None = None


def measure_load(
    started: StartedLoad,
    options: LoadOptions,
    *,
    repeat: int,
    runs: Path | None,
    command: Sequence[str],
    interruption: Interruption,
    observer: LoadObserver | None = None,
    begins: Callable[[int], None] = lambda _: None,
) -> LoadRun:
    """Measure a load that was started, send it again as often as is asked for, and keep what it says.

    Must be called in the main thread.

    ``repeat`` counts the first trial, too; ``begins`` gets the number of each, from 0. Where ``runs`` is None, nothing
    is kept.
    """
    if not 1 <= repeat <= _MOST_REPEATS:
        raise InvalidValue(f"--repeat: {repeat} is no number from 1 to {_MOST_REPEATS}; write it like 5")
    if runs is not None:
        require_folder(runs)
    engine = Path(started.engine)
    ended = _Ended()
    stopped = False
    try:
        while (number := len(ended.trials)) < repeat and not (number and interruption.requested):
            begins(number)
            numbered = replace(
                options, samples=_numbered(options.samples, number), hdr_log=_numbered(options.hdr_log, number)
            )
            report = (
                run_load(engine, numbered, interruption, observer)
                if number
                else watch_load(started, numbered, interruption, observer)
            )
            stopped = stopped or bool(report.get("interrupted"))
            _end(ended, engine, numbered, report, repeat=repeat, runs=runs, command=command)
    finally:
        whole = len(ended.trials) == repeat and not stopped
        folder = _close(ended, whole=whole)
    return LoadRun(tuple(ended.trials), repeat, whole, folder, ended.not_kept)


def require_folder(runs: Path) -> None:
    """Make the folder of runs, and refuse one that cannot be written: that is found out before anything is sent."""
    from httpdyno.storage import storage_errors

    cure = "name another with --out DIR, or keep nothing with --no-store"
    with storage_errors(f"{runs}: results cannot be written", folder=runs, cure=cure):
        runs.mkdir(parents=True, exist_ok=True)
        if not os.access(runs, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))


def _end(
    ended: _Ended,
    engine: Path,
    options: LoadOptions,
    report: LoadReport,
    *,
    repeat: int,
    runs: Path | None,
    command: Sequence[str],
) -> None:
    """Judge a trial and keep it; that it cannot be kept takes nothing from what was measured."""
    from httpdyno.experiments.load.judge import judge_load
    from httpdyno.experiments.load.keeping import LoadKeeper, target_of

    trial = judge_load(len(ended.trials), report, target=target_of(options), checks=options.checks)
    ended.trials.append(trial)
    if runs is None or ended.not_kept is not None:
        return
    try:
        if ended.keeper is None:
            ended.keeper = LoadKeeper.begin(engine, options, _plan(report), repeat=repeat, runs=runs, command=command)
        ended.keeper.keep(trial, report, options)
    except StorageFailed as error:
        ended.not_kept = error


def _plan(report: LoadReport) -> Mapping[str, Any]:
    return {"started": report.get("started"), **dict(report["plan"])}


def _close(ended: _Ended, *, whole: bool) -> Path | None:
    if ended.keeper is None:
        return None
    try:
        return ended.keeper.close(whole=whole and ended.not_kept is None)
    except StorageFailed as error:
        ended.not_kept = ended.not_kept or error
        return None


def _numbered(file: str | None, number: int) -> str | None:
    """Name a file of its own for each trial behind the first: ``samples.csv``, ``samples-2.csv``."""
    if file is None or number == 0:
        return file
    path = Path(file)
    return str(path.with_name(f"{path.stem}-{number + 1}{path.suffix}"))
