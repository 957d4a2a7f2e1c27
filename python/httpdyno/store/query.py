"""SQL over runs on disk: trials, ceilings, samples, cases, labels and addresses, read as far as a query needs them."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from httpdyno.errors import InvalidValue, UnknownName, UnreadableRun, suggestion
from httpdyno.model import AddressCount, Addresses, CaseResult, Cases, LabelCount, Labels, Sample, Trial, flatten
from httpdyno.store.manifest import CURE, Machine
from httpdyno.store.reader import Run, open_run, polars_schema

SETTING: Final = "setting_"
"""Prefix of the columns of options: ``setting_timeout_s``."""

_TEXT, _INTEGER, _TIME = pl.String(), pl.Int64(), pl.Datetime("us")


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC).replace(tzinfo=None) if time and time.tzinfo else time


def _structs(*names: str, **types: pl.DataType) -> pl.DataType:
    return pl.List(pl.Struct({name: types.get(name, _TEXT) for name in names}))


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A column of the table ``runs``."""

    type: pl.DataType
    meaning: str
    read: Callable[[Run], Any]


def _of_manifest(path: str, meaning: str, type_: pl.DataType = _TEXT) -> RunColumn:
    """Return the column of one value of the manifest, ``engine.version``; null where a part of the path is None."""

    def read(run: Run) -> object:
        value: Any = run.manifest
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        return value

    return RunColumn(type_, meaning, read)


_SUBJECT: Final = ("id", "language", "method", "version", "unavailable")
RUN_COLUMNS: Final[dict[str, RunColumn]] = {
    "run": RunColumn(_TEXT, "name of the run's folder", lambda run: run.folder.name),
    "experiment": _of_manifest("experiment", "such as bench"),
    "state": RunColumn(
        _TEXT,
        "running, complete or partial",
        lambda run: run.manifest.state if run.process is None else "running",
    ),
    "started_at": RunColumn(_TIME, "in UTC", lambda run: _utc(run.manifest.started_at)),
    "ended_at": RunColumn(_TIME, "in UTC", lambda run: _utc(run.manifest.ended_at)),
    "command": RunColumn(_TEXT, "how it was started", lambda run: shlex.join(run.manifest.command)),
    "version": _of_manifest("version", "of httpdyno"),
    "engine_version": _of_manifest("engine.version", "of the engine"),
    "record_version": _of_manifest("record_version", "of the records", _INTEGER),
    "trials_planned": _of_manifest("trials_planned", "number of planned trials", _INTEGER),
    "trials_finished": RunColumn(_INTEGER, "number of finished trials", lambda run: len(run.trials)),
    "git_commit": _of_manifest("git.commit", "commit of the httpdyno checkout"),
    "git_modified": _of_manifest("git.modified", "whether that checkout had changes", pl.Boolean()),
    **{
        name: _of_manifest(f"machine.{name}", "of the machine", _INTEGER if name in {"cpus", "memory_bytes"} else _TEXT)
        for name in (one.name for one in fields(Machine))
        if name != "sysctls"
    },
    "urls_source": _of_manifest("urls.source", "file of the list; null when a web made it"),
    "urls": _of_manifest("urls.count", "number of URLs in the list", _INTEGER),
    "sysctls": RunColumn(
        _structs("name", "value"),
        "settings of the kernel: name, value",
        lambda run: [{"name": name, "value": value} for name, value in run.manifest.machine.sysctls.items()],
    ),
    "webs": RunColumn(
        _structs("name", "seed", "digest", seed=pl.UInt64()),
        "name, seed, digest",
        lambda run: list(map(asdict, run.manifest.webs)),
    ),
    "subjects": RunColumn(
        _structs(*_SUBJECT), ", ".join(_SUBJECT), lambda run: list(map(asdict, run.manifest.subjects))
    ),
}
"""The columns that every run has. Times are UTC without a zone, so that they compare with a literal as it is typed."""


def runs_frame(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Put the manifests of runs into one row each, in their order.

    After ``RUN_COLUMNS`` comes one column for each setting that any of the runs has; a run without the setting has
    null. A setting is a number, or true or false, if it is that in all runs, else text. The column ``run`` has the keys
    of ``runs``.
    """
    settings = [run.manifest.settings for run in runs.values()]
    rows = [
        {**{name: column.read(run) for name, column in RUN_COLUMNS.items()}, "run": key} for key, run in runs.items()
    ]
    frame = pl.DataFrame(rows, schema={name: column.type for name, column in RUN_COLUMNS.items()}, orient="row")
    names = dict.fromkeys(name for values in settings for name in values)
    return frame.with_columns(_series(SETTING + name, [values.get(name) for values in settings]) for name in names)


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    if known and kinds == {bool}:
        return pl.Series(name, values, pl.Boolean())
    if known and kinds == {int} and all(-(2**63) <= value < 2**63 for value in known):
        return pl.Series(name, values, pl.Int64())
    if known and kinds <= {int, float}:
        return pl.Series(name, values, pl.Float64())
    texts = (str(value).lower() if isinstance(value, bool) else value for value in values)
    return pl.Series(name, [None if text is None else str(text) for text in texts], pl.String())


Figures = Mapping[str, pl.DataType]
"""Figures that trials can have, by name, with their types."""


@dataclass(frozen=True, slots=True)
class ComputedFigures:
    """Columns of ``trials`` and ``ceilings`` that are computed from the records, only if a query mentions them."""

    types: Mapping[str, pl.DataType]
    """By name. If the records have a column of the same name, that column is used."""
    values: Callable[[str, Sequence[Trial], str], Sequence[str | float | None]]
    """Computes a named figure for trials of an experiment: ``values(experiment, trials, name)``."""


TABLES: Final = ("runs", "trials", "ceilings", "samples", "cases", "labels", "addresses")
TRIAL_OF_CASE: Final = ("trial", "experiment", "subject", "version")
"""Columns of a trial that each of its cases, labels and addresses has."""
CASE_COLUMNS: Final = {
    "run": _TEXT,
    **{name: polars_schema(Trial)[name] for name in TRIAL_OF_CASE},
    **polars_schema(CaseResult),
}
"""The columns of ``cases``: a row for each case of conformance that a trial has shown."""
LABEL_COLUMNS: Final = {
    "run": _TEXT,
    **{name: polars_schema(Trial)[name] for name in TRIAL_OF_CASE},
    **polars_schema(LabelCount),
}
"""The columns of ``labels``: a row for each label of the requests of a load."""
ADDRESS_COLUMNS: Final = {
    "run": _TEXT,
    **{name: polars_schema(Trial)[name] for name in TRIAL_OF_CASE},
    **polars_schema(AddressCount),
}
"""The columns of ``addresses``: a row for each address of the servers of a load."""
_READING: Final = frozenset({"select", "with", "from", "values", "show", "explain"})
_FIRST_WORD: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(?P<word>\w*)", re.DOTALL)
_NO_COLUMN: Final = re.compile(r'unable to find column "(?P<name>.*?)"; valid columns: \[(?P<known>.*?)\]')
_NO_COLUMN_IN: Final = re.compile(r"no column named '(?P<name>.*?)' found in table")
_LIKE: Final = "write it like: select subject, right_per_s from trials"
_NAMED: Final = 20
"""Most columns that a message names: trials have hundreds."""
_TRIALS_ONLY: Final = "block"
"""A column that only trials have."""
_NO_SQL: Final = "sql parser error: "
_NO_TABLE: Final = re.compile(r"relation '(?P<name>.*?)' was not found")


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a query."""

    columns: dict[str, pl.DataType]
    """The types of its columns by their names, in their order."""
    batches: Iterator[pl.DataFrame]
    """Its rows, piece by piece, so that they need not all fit into memory; can be read once."""


def open_runs(folders: Sequence[Path], refused: Callable[[UnreadableRun], None]) -> dict[str, Run]:
    """Open runs; skip those that cannot be opened.

    ``refused`` gets the error of each folder that is not a run, is damaged, or was written by a newer version; it may
    raise it. The keys are names of folders, or paths if two folders have the same name.
    """
    opened = []
    for folder in folders:
        try:
            run = open_run(folder)
            run.samples()  # checks the columns of the files, without reading their rows
        except UnreadableRun as error:
            refused(error)
        else:
            opened.append(run)
    times = Counter(run.folder.name for run in opened)
    return {run.folder.name if times[run.folder.name] == 1 else str(run.folder): run for run in opened}


def ask(
    runs: Mapping[str, Run],
    text: str,
    figures: Figures = MappingProxyType({}),
    computed: ComputedFigures | None = None,
) -> Answer:
    """Run one query on runs, in the SQL of polars; other statements are refused.

    The column ``run`` of each table has the keys of ``runs``; ``figures`` are columns that exist even if no run
    has them, ``computed`` those that are computed when the query mentions them. ``UnreadableRun`` is raised while the
    batches are read, if a run turns out to be damaged.
    """
    match = _FIRST_WORD.match(text)
    word = match["word"] if match else ""
    if word.lower() not in _READING:
        what = f"a query cannot begin with {word[:30]!r}" if word else "the query is empty"
        raise InvalidValue(f"query: {what}; {_LIKE}")
    known = {**figures, **(computed.types if computed else {})}
    tables: dict[str, Callable[[], pl.LazyFrame]] = {
        "runs": lambda: runs_frame(runs).lazy(),
        "trials": lambda: _trials(runs, {name: run.trials for name, run in runs.items()}, text, figures, computed),
        "ceilings": lambda: _trials(runs, {name: run.ceilings for name, run in runs.items()}, text, figures, computed),
        "samples": lambda: _concatenate({name: run.samples() for name, run in runs.items()}, polars_schema(Sample)),
        "cases": lambda: _cases(runs),
        "labels": lambda: _labels(runs),
        "addresses": lambda: _addresses(runs),
    }
    with _refusals(runs, known):
        # Each table has a frame, so that SHOW TABLES and the message about an unknown table list them all.
        frames = {
            name: make() if re.search(rf"\b{name}\b", text, re.IGNORECASE) else pl.LazyFrame()
            for name, make in tables.items()
        }
        answer = pl.SQLContext(frames=frames, eager=False).execute(text)
        columns = dict(answer.collect_schema())
    return Answer(columns, _batches(answer, runs, known))


def _cases(runs: Mapping[str, Run]) -> pl.LazyFrame:
    rows = [
        {"run": name, **{column: getattr(trial, column) for column in TRIAL_OF_CASE}, **flatten(result)}
        for name, run in runs.items()
        if "cases" in run.trials.columns
        for trial in run.records()
        if (shown := trial.get(Cases))
        for result in shown.cases
    ]
    return pl.LazyFrame(rows, schema=CASE_COLUMNS)


def _labels(runs: Mapping[str, Run]) -> pl.LazyFrame:
    rows = [
        {"run": name, **{column: getattr(trial, column) for column in TRIAL_OF_CASE}, **flatten(label)}
        for name, run in runs.items()
        if "labels" in run.trials.columns
        for trial in run.records()
        if (of := trial.get(Labels))
        for label in of.labels
    ]
    return pl.LazyFrame(rows, schema=LABEL_COLUMNS)


def _addresses(runs: Mapping[str, Run]) -> pl.LazyFrame:
    rows = [
        {"run": name, **{column: getattr(trial, column) for column in TRIAL_OF_CASE}, **flatten(address)}
        for name, run in runs.items()
        if "addresses" in run.trials.columns
        for trial in run.records()
        if (of := trial.get(Addresses))
        for address in of.addresses
    ]
    return pl.LazyFrame(rows, schema=ADDRESS_COLUMNS)


def _trials(
    runs: Mapping[str, Run],
    frames: Mapping[str, pl.DataFrame],
    text: str,
    figures: Figures,
    computed: ComputedFigures | None,
) -> pl.LazyFrame:
    """Join the trials of all runs, with the computed figures that a query mentions as the last columns."""
    columns = {**polars_schema(Trial), **figures}
    words = set(re.findall(r"\w+", text)) - columns.keys()
    types = {name: type_ for name, type_ in computed.types.items() if name in words} if computed else {}
    with_computed = {}
    for name, frame in frames.items():
        lacking = [column for column in types if column not in frame.columns]
        if computed and lacking and not frame.is_empty():
            records, experiment = runs[name].restored(frame), runs[name].manifest.experiment
            frame = frame.sort("trial").with_columns(
                pl.Series(column, computed.values(experiment, records, column), types[column], strict=False)
                for column in lacking
            )
        with_computed[name] = frame.lazy()
    return _concatenate(with_computed, {**columns, **types})


def _concatenate(frames: Mapping[str, pl.LazyFrame], columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Concatenate the rows of all runs: first these columns, even without runs, then further ones."""
    named = [pl.LazyFrame(schema={"run": pl.String(), **columns})]
    for name, frame in frames.items():
        there = frame.collect_schema().names()
        own = [pl.col(column).cast(type_) for column, type_ in columns.items() if column in there]
        named.append(frame.select(pl.lit(name).alias("run"), *own, *(one for one in there if one not in columns)))
    return pl.concat(named, how="diagonal_relaxed")


def _batches(answer: pl.LazyFrame, runs: Mapping[str, Run], figures: Figures) -> Iterator[pl.DataFrame]:
    try:
        with _refusals(runs, figures):
            yield from answer.collect_batches(lazy=True)
    except InvalidValue:
        # Polars does not name the damaged file.
        for run in runs.values():
            try:
                run.samples().select(pl.all().null_count()).collect(engine="streaming")
            except (OSError, pl.exceptions.PolarsError) as error:
                raise UnreadableRun(f"{run.folder}: the run is damaged: {_first_line(error)}; {CURE}") from error
        raise


@contextmanager
def _refusals(runs: Mapping[str, Run], figures: Figures) -> Iterator[None]:
    """Turn the errors of polars about a query into one line with the known names."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        message = str(error)
        if match := _NO_TABLE.search(message):
            raise _unknown("table", match["name"], TABLES) from error
        if match := _NO_COLUMN.search(message):
            columns = re.findall(r'"(.*?)"', match["known"])
            # Figures are computed only if the query mentions them.
            known = [*columns, *(figures if _TRIALS_ONLY in columns else ())]
            raise _unknown("column", match["name"], known) from error
        if match := _NO_COLUMN_IN.search(message):
            tables = [
                runs_frame(runs).columns,
                polars_schema(Trial),
                figures,
                polars_schema(Sample),
                CASE_COLUMNS,
                LABEL_COLUMNS,
            ]
            tables += [frame.columns for run in runs.values() for frame in (run.trials, run.ceilings)]
            raise _unknown("column", match["name"], list(dict.fromkeys(chain(*tables)))) from error
        line = _first_line(message).rstrip(".")
        hint = f"; {_LIKE}" if line.startswith(_NO_SQL) else ""
        raise InvalidValue(f"query: {line.removeprefix(_NO_SQL)}{hint}") from error


def _unknown(what: str, name: str, known: Sequence[str]) -> UnknownName:
    if not known:
        return UnknownName(f"query: {name[:60]!r} needs a table; add from and one of {', '.join(TABLES)}")
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    hint = suggestion(name.lower(), known, otherwise=f"choose from: {', '.join(known[:_NAMED])}{more}")
    return UnknownName(f"query: there is no {what} {name[:60]!r}; {hint}")


def _first_line(message: object) -> str:
    return str(message).strip().partition("\n")[0][:300].rstrip(":")
