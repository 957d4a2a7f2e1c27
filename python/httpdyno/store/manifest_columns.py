"""Manifests as columns: the table ``runs`` of a query."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from httpdyno.store.lock import holder_of
from httpdyno.store.manifest import Manifest
from httpdyno.store.reader import Run

__all__ = ["RUN_COLUMNS", "SETTING", "runs_frame"]

SETTING: Final = "setting_"
"""Begins the name of a column that holds an option of the command: ``setting_timeout_s``."""

_TEXT: Final = pl.String()
_TIME: Final = pl.Datetime("us")
RUN_COLUMNS: Final[dict[str, pl.DataType]] = {
    "run": _TEXT,
    "experiment": _TEXT,
    "state": _TEXT,
    "started_at": _TIME,
    "ended_at": _TIME,
    "command": _TEXT,
    "version": _TEXT,
    "engine_version": _TEXT,
    "record_version": pl.Int64(),
    "trials_planned": pl.Int64(),
    "trials_finished": pl.Int64(),
    "git_commit": _TEXT,
    "git_modified": pl.Boolean(),
    "system": _TEXT,
    "kernel": _TEXT,
    "architecture": _TEXT,
    "cpu": _TEXT,
    "cpus": pl.Int64(),
    "memory_bytes": pl.Int64(),
    "virtualisation": _TEXT,
    "governor": _TEXT,
    "clock_source": _TEXT,
    "urls_source": _TEXT,
    "urls": pl.Int64(),
    "sysctls": pl.List(pl.Struct({"name": _TEXT, "value": _TEXT})),
    "webs": pl.List(pl.Struct({"name": _TEXT, "seed": pl.UInt64(), "digest": _TEXT})),
    "subjects": pl.List(
        pl.Struct({"id": _TEXT, "language": _TEXT, "method": _TEXT, "version": _TEXT, "unavailable": _TEXT})
    ),
}
"""The columns that every run has. Times are UTC without a zone, so that they compare with a literal as it is typed."""


def runs_frame(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Put the manifests of runs into one row each, in their order.

    Behind ``RUN_COLUMNS`` stands one column for each setting that any of the runs has; a run that lacks it has null. A
    setting is a number, or true or false, where all runs agree that it is, else text. The column ``run`` has the keys
    of ``runs``.
    """
    settings = [run.manifest.settings for run in runs.values()]
    fixed = [_row(name, run) for name, run in runs.items()]
    frame = pl.DataFrame(fixed, schema=RUN_COLUMNS, orient="row")
    names = dict.fromkeys(name for values in settings for name in values)
    return frame.with_columns(_series(SETTING + name, [values.get(name) for values in settings]) for name in names)


def _row(name: str, run: Run) -> dict[str, Any]:
    manifest = run.manifest
    machine = manifest.machine
    return {
        "run": name,
        "experiment": manifest.experiment,
        "state": _state(run),
        "started_at": _utc(manifest.started_at),
        "ended_at": _utc(manifest.ended_at),
        "command": shlex.join(manifest.command),
        "version": manifest.version,
        "engine_version": manifest.engine.version if manifest.engine else None,
        "record_version": manifest.record_version,
        "trials_planned": manifest.trials_planned,
        "trials_finished": len(run.trials),
        "git_commit": manifest.git.commit if manifest.git else None,
        "git_modified": manifest.git.modified if manifest.git else None,
        **{field: getattr(machine, field) for field in ("system", "kernel", "architecture", "cpu", "cpus")},
        **{field: getattr(machine, field) for field in ("memory_bytes", "virtualisation", "governor", "clock_source")},
        "urls_source": manifest.urls.source if manifest.urls else None,
        "urls": manifest.urls.count if manifest.urls else None,
        "sysctls": [{"name": key, "value": value} for key, value in machine.sysctls.items()],
        **_lists(manifest),
    }


def _state(run: Run) -> str:
    # A run that has just ended may not have let go of its lock yet.
    running = run.manifest.state != "complete" and holder_of(run.folder) is not None
    return "running" if running else run.manifest.state


def _lists(manifest: Manifest) -> dict[str, list[dict[str, Any]]]:
    fields = ("id", "language", "method", "version", "unavailable")
    return {
        "webs": [{"name": web.name, "seed": web.seed, "digest": web.digest} for web in manifest.webs],
        "subjects": [{field: getattr(subject, field) for field in fields} for subject in manifest.subjects],
    }


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC).replace(tzinfo=None) if time and time.tzinfo else time


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} and kinds:
        return pl.Series(name, values, pl.Boolean())
    if kinds <= {int} and kinds and _fit(values):
        return pl.Series(name, values, pl.Int64())
    if kinds <= {int, float} and kinds:
        return pl.Series(name, values, pl.Float64())
    return pl.Series(name, [None if value is None else _written(value) for value in values], pl.String())


def _fit(values: Iterable[int | None]) -> bool:
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
