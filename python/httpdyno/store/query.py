"""SQL over runs on disk: their trials, ceilings, samples and cases, read as far as a query needs them."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from httpdyno.errors import InvalidValue, UnknownName, UnreadableRun, suggestion
from httpdyno.model import CaseResult, Cases, Sample, Trial, flatten
from httpdyno.store.folder import holder_of
from httpdyno.store.manifest import CURE, Manifest
from httpdyno.store.reader import Run, open_run, polars_schema

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
    return pl.Series(name, [None if value is None else _setting_text(value) for value in values], pl.String())


def _fit(values: Iterable[int | None]) -> bool:
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


Figures = Mapping[str, pl.DataType]
"""Figures that trials can have, by name, with their types."""


@dataclass(frozen=True, slots=True)
class ComputedFigures:
    """Columns of ``trials`` and ``ceilings`` that are computed of the records, and only where a query mentions them."""

    types: Mapping[str, pl.DataType]
    """By name. A column of the records of the same name comes first."""
    values: Callable[[str, Sequence[Trial], str], Sequence[str | float | None]]
    """Computes the figure of a name for trials of an experiment: ``values(experiment, trials, name)``."""

    def mentioned(self, text: str) -> dict[str, pl.DataType]:
        """Return the computed columns whose name occurs in a query."""
        words = set(re.findall(r"\w+", text))
        return {name: type_ for name, type_ in self.types.items() if name in words}


_NO_COMPUTED: Final = ComputedFigures({}, lambda _experiment, trials, _name: [None] * len(trials))
_Tables = Mapping[str, Callable[[], pl.LazyFrame]]

_RECORDS: Final = {"trials": Trial, "ceilings": Trial, "samples": Sample}
TABLES: Final = ("runs", "trials", "ceilings", "samples", "cases")
TRIAL_OF_CASE: Final = ("trial", "experiment", "subject", "version")
"""Columns of a trial that each of its cases has."""
CASE_COLUMNS: Final = {
    "run": _TEXT,
    **{name: polars_schema(Trial)[name] for name in TRIAL_OF_CASE},
    **polars_schema(CaseResult),
}
"""The columns of ``cases``: a row for each case of conformance that a trial has shown."""
_READING: Final = frozenset({"select", "with", "from", "values", "show", "explain"})
_FIRST_WORD: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(?P<word>\w*)", re.DOTALL)
_NO_COLUMN: Final = re.compile(r'unable to find column "(?P<name>.*?)"; valid columns: \[(?P<known>.*?)\]')
_NO_COLUMN_IN: Final = re.compile(r"no column named '(?P<name>.*?)' found in table")
_LIKE: Final = "write it like: select subject, right_per_s from trials"
_NAMED: Final = 20
"""Of more columns only so many are named: trials have hundreds."""
_CASES: Final = "cases"
_TRIALS_ONLY: Final = "block"
"""A column that trials have and no other table."""
_NO_SQL: Final = "sql parser error: "
_NO_TABLE: Final = re.compile(r"relation '(?P<name>.*?)' was not found")


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a query.

    Attributes
    ----------
    columns : dict
        The types of its columns by their names, in their order.
    batches : iterator of pl.DataFrame
        Its rows, piece by piece, so that they need not all fit into memory; can be read once.
    """

    columns: dict[str, pl.DataType]
    batches: Iterator[pl.DataFrame]


def open_runs(folders: Sequence[Path], refused: Callable[[UnreadableRun], None]) -> dict[str, Run]:
    """Open runs; skip those that cannot be opened.

    ``refused`` gets the error of each folder that is no run, is damaged, or was written by a newer version; it may
    raise it. Runs are by the names of their folders; by their paths where two folders have the same name.
    """
    opened = []
    for folder in folders:
        try:
            run = open_run(folder)
            run.samples()  # what its files hold is looked at; they are not read
        except UnreadableRun as error:
            refused(error)
        else:
            opened.append(run)
    times = Counter(run.folder.name for run in opened)
    return {run.folder.name if times[run.folder.name] == 1 else str(run.folder): run for run in opened}


def table_columns(runs: Mapping[str, Run], figures: Figures) -> dict[str, list[str]]:
    """List the columns of each table; ``figures`` as for ``ask``."""
    with_run = {name: ["run", *_known(record, figures)] for name, record in _RECORDS.items()}
    for name, frames in (
        ("trials", [run.trials for run in runs.values()]),
        ("ceilings", [run.ceilings for run in runs.values()]),
    ):
        with_run[name] = list(dict.fromkeys([*with_run[name], *(column for one in frames for column in one.columns)]))
    return {"runs": runs_frame(runs).columns if runs else list(RUN_COLUMNS), **with_run, "cases": list(CASE_COLUMNS)}


def ask(
    runs: Mapping[str, Run],
    text: str,
    figures: Figures = MappingProxyType({}),
    computed: ComputedFigures = _NO_COMPUTED,
) -> Answer:
    """Run one query on runs, in the SQL of polars; other statements are refused.

    The column ``run`` of each table has the keys of ``runs``; ``figures`` are columns that are there although no run
    has them, ``computed`` those that are computed when the query mentions them. ``UnreadableRun`` comes while the
    batches are read, if a run turns out to be damaged.
    """
    match = _FIRST_WORD.match(text)
    word = match["word"] if match else ""
    if word.lower() not in _READING:
        what = f"{word[:30]!r} begins no query" if word else "there is no query"
        raise InvalidValue(f"query: {what}; {_LIKE}")
    wanted = replace(computed, types=computed.mentioned(text))
    tables: _Tables = {
        "runs": lambda: runs_frame(runs).lazy(),
        "trials": lambda: _trials({name: run.trials for name, run in runs.items()}, runs, figures, wanted),
        "ceilings": lambda: _trials({name: run.ceilings for name, run in runs.items()}, runs, figures, wanted),
        "samples": lambda: _concatenate({name: run.samples() for name, run in runs.items()}, Sample, {}),
        "cases": lambda: _cases(runs),
    }
    mentioned = {name: make() for name, make in tables.items() if re.search(rf"\b{name}\b", text, re.IGNORECASE)}
    with _refusals(runs, {**figures, **computed.types}):
        # A frame for each table, so that SHOW TABLES and the message about an unknown one know them all.
        frames = {name: mentioned.get(name, pl.LazyFrame()) for name in TABLES}
        answer = pl.SQLContext(frames=frames, eager=False).execute(text)
        columns = dict(answer.collect_schema())
    return Answer(columns, _batches(answer, runs, {**figures, **computed.types}))


def _cases(runs: Mapping[str, Run]) -> pl.LazyFrame:
    rows = [
        {"run": name, **{column: getattr(trial, column) for column in TRIAL_OF_CASE}, **flatten(result)}
        for name, run in runs.items()
        if _CASES in run.trials.columns
        for trial in run.records()
        if (shown := trial.get(Cases))
        for result in shown.cases
    ]
    return pl.LazyFrame(rows, schema=CASE_COLUMNS)


def _trials(
    frames: Mapping[str, pl.DataFrame], runs: Mapping[str, Run], figures: Figures, computed: ComputedFigures
) -> pl.LazyFrame:
    """Join the trials of all runs, with the computed figures as the last columns."""
    types = {name: type_ for name, type_ in computed.types.items() if name not in _known(Trial, figures)}
    missing = replace(computed, types=types)
    with_computed = {name: _add_computed(runs[name], frame, missing).lazy() for name, frame in frames.items()}
    return _concatenate(with_computed, Trial, {**figures, **types})


def _add_computed(run: Run, trials: pl.DataFrame, computed: ComputedFigures) -> pl.DataFrame:
    names = [name for name in computed.types if name not in trials.columns]
    if not names or trials.is_empty():
        return trials
    records = run.restored(trials)
    experiment = run.manifest.experiment
    series = [
        pl.Series(name, computed.values(experiment, records, name), computed.types[name], strict=False)
        for name in names
    ]
    return trials.sort("trial").with_columns(series)


def _concatenate(
    frames: Mapping[str, pl.LazyFrame], record: type[Trial] | type[Sample], figures: Figures
) -> pl.LazyFrame:
    columns = _known(record, figures)
    none = pl.LazyFrame(schema={"run": pl.String(), **columns})
    named = [_with_run_name(name, frame, columns) for name, frame in frames.items()]
    return pl.concat([none, *named], how="diagonal_relaxed") if named else none


def _with_run_name(name: str, frame: pl.LazyFrame, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    there = frame.collect_schema().names()
    own = [pl.col(column).cast(type_) for column, type_ in columns.items() if column in there]
    return frame.select(pl.lit(name).alias("run"), *own, *(column for column in there if column not in columns))


def _known(record: type[Trial] | type[Sample], figures: Figures) -> dict[str, pl.DataType]:
    """Return the columns that a table has whatever runs there are."""
    return {**polars_schema(record), **(figures if record is Trial else {})}


def _batches(answer: pl.LazyFrame, runs: Mapping[str, Run], figures: Figures) -> Iterator[pl.DataFrame]:
    try:
        with _refusals(runs, figures):
            yield from answer.collect_batches(lazy=True)
    except InvalidValue:
        # A file that was damaged in its middle is noticed when that is read, and polars does not say which one it is.
        _require_whole(runs)
        raise


def _require_whole(runs: Mapping[str, Run]) -> None:
    for run in runs.values():
        try:
            run.samples().select(pl.all().null_count()).collect(engine="streaming")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UnreadableRun(f"{run.folder}: the run is damaged: {_first_line(error)}; {CURE}") from error


@contextmanager
def _refusals(runs: Mapping[str, Run], figures: Figures) -> Iterator[None]:
    """Turn the errors of polars about a query into one line with the known names."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _refusal(str(error), runs, figures) from error


def _refusal(message: str, runs: Mapping[str, Run], figures: Figures) -> InvalidValue | UnknownName:
    if match := _NO_TABLE.search(message):
        return _unknown("table", match["name"], TABLES)
    if match := _NO_COLUMN.search(message):
        columns = re.findall(r'"(.*?)"', match["known"])
        # Figures that the query does not mention are no columns yet.
        return _unknown("column", match["name"], [*columns, *(figures if _TRIALS_ONLY in columns else ())])
    if match := _NO_COLUMN_IN.search(message):
        known = dict.fromkeys(name for columns in table_columns(runs, figures).values() for name in columns)
        return _unknown("column", match["name"], list(known))
    said = _first_line(message).rstrip(".")
    if said.startswith(_NO_SQL):
        return InvalidValue(f"query: {said.removeprefix(_NO_SQL)}; {_LIKE}")
    return InvalidValue(f"query: {said}")


def _unknown(what: str, name: str, known: Sequence[str]) -> UnknownName:
    if not known:
        return UnknownName(f"query: {name[:60]!r} is a column of no table; add from and one of {', '.join(TABLES)}")
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    hint = suggestion(name.lower(), known, otherwise=f"known are: {', '.join(known[:_NAMED])}{more}")
    return UnknownName(f"query: there is no {what} {name[:60]!r}; {hint}")


def _first_line(message: object) -> str:
    return str(message).strip().partition("\n")[0][:300].rstrip(":")
