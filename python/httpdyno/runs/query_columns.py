"""Columns of the tables for SQL queries: their list, and the figures of trials."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from httpdyno.experiments.registry import definition_of, experiment_names, figure_columns
from httpdyno.model import FORMER_NAMES, CaseResult, Column, Field, Sample, Table, Trial, schema
from httpdyno.store import Run
from httpdyno.store.query import RUN_COLUMNS, SETTING, TRIAL_OF_CASE, ComputedFigures, runs_frame
from httpdyno.store.reader import polars_types

_Compute = Callable[[Trial], str | float | None]
_CURRENT: Final = {former: name for name, former in FORMER_NAMES.items()}
_Row = tuple[str, str, str, str]
"""Column, type, unit, meaning."""
_RUN: Final = ("run", "text", "", "name of the run's folder")
_OF_A_RUN: Final = {
    "run": _RUN[-1],
    "experiment": "such as bench",
    "state": "running, complete or partial",
    "started_at": "in UTC",
    "ended_at": "in UTC",
    "command": "how it was started",
    "version": "of httpdyno",
    "engine_version": "of the engine",
    "record_version": "of the records",
    "trials_planned": "number of planned trials",
    "trials_finished": "number of finished trials",
    "git_commit": "commit of the httpdyno checkout",
    "git_modified": "whether that checkout had changes",
    "urls_source": "file of the list; null when a web made it",
    "urls": "number of URLs in the list",
    "sysctls": "settings of the kernel: name, value",
    "webs": "name, seed, digest",
    "subjects": "id, language, method, version, unavailable",
    **dict.fromkeys(("system", "kernel", "architecture", "cpu", "cpus"), "of the machine"),
    **dict.fromkeys(("memory_bytes", "virtualisation", "governor", "clock_source"), "of the machine"),
}


def trial_figures() -> ComputedFigures:
    """Return the figures of one trial in each experiment's table, as columns for queries.

    Former names of columns are columns too, as long as other options accept them.
    """
    types: dict[str, pl.DataType] = {}
    for name in experiment_names():
        presentation = definition_of(name).presentation
        types |= dict.fromkeys((metric.name for metric in presentation.metrics), pl.Float64())
        types |= dict.fromkeys((column.name for column, _ in presentation.words), pl.String())
    types |= {FORMER_NAMES[name]: type_ for name, type_ in types.items() if name in FORMER_NAMES}
    return ComputedFigures(types, _values)


def _values(experiment: str, trials: Sequence[Trial], name: str) -> list[str | float | None]:
    """Compute one figure of each trial; None where the trials of the experiment do not have it."""
    computations: dict[str, _Compute] = {}
    if experiment in experiment_names():
        presentation = definition_of(experiment).presentation
        computations = {metric.name: metric.figure for metric in presentation.metrics}
        computations |= {column.name: word for column, word in presentation.words}
    compute = computations.get(name) or computations.get(_CURRENT.get(name, name))
    return [compute(trial) if compute else None for trial in trials]


def columns_table(runs: Mapping[str, Run]) -> Table:
    """List each column of each table: the table ``runs`` has the settings of all runs."""
    of_trials = list(_of_trials())
    of_case = [field for field in schema(Trial) if field.name in TRIAL_OF_CASE]
    tables: Mapping[str, Iterable[_Row]] = {
        "runs": _of_runs(runs),
        "trials": (_RUN, *of_trials),
        "ceilings": (_RUN, *of_trials),
        "samples": (_RUN, *_of_records(schema(Sample))),
        "cases": (_RUN, *_of_records([*of_case, *schema(CaseResult)])),
    }
    columns = tuple(map(Column, ("table", "column", "type", "unit", "meaning")))
    return Table(columns, tuple((table, *row) for table, rows in tables.items() for row in rows))


def _of_runs(runs: Mapping[str, Run]) -> Iterator[_Row]:
    types = dict(runs_frame(runs).schema) if runs else RUN_COLUMNS
    for name, type_ in types.items():
        meaning = f"option of the run's command: {name.removeprefix(SETTING)}" if name.startswith(SETTING) else ""
        yield name, _type_name(type_), "", _OF_A_RUN.get(name, meaning)


def _of_trials() -> Iterator[_Row]:
    """Describe the columns of trials; the figures that tables print come first."""
    figures: dict[str, tuple[Column, list[str]]] = {}
    for experiment in experiment_names():
        presentation = definition_of(experiment).presentation
        columns = (*(metric.column for metric in presentation.metrics), *(column for column, _ in presentation.words))
        for column in columns:
            figures.setdefault(column.name, (column, []))[1].append(experiment)
    records = {field.name: field for field in (*schema(Trial), *figure_columns().values())}
    for name, (column, experiments) in figures.items():
        if field := records.pop(name, None):
            yield from _of_records([field])
        else:
            of = f"of {', '.join(experiments)}"
            meaning = f"{column.description} ({of})" if column.description else of
            yield name, "text" if column.kind == "text" else "number", column.unit, meaning
    yield from _of_records(list(records.values()))


def _of_records(fields: Sequence[Field]) -> Iterator[_Row]:
    types = polars_types(fields)
    for field in fields:
        yield field.name, _type_name(types[field.name]), field.unit, field.description


def _type_name(type_: pl.DataType) -> str:
    if isinstance(type_, pl.List):
        return "list"
    if isinstance(type_, pl.Enum):
        return "text"
    names = {pl.String: "text", pl.Boolean: "boolean", pl.Datetime: "time", pl.Float64: "number"}
    return next((name for kind, name in names.items() if isinstance(type_, kind)), "integer")
