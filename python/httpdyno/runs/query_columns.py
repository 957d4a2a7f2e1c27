"""Columns of the tables for SQL queries: their list, and the figures of trials."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from httpdyno.experiments.registry import definition_of, experiment_names, figure_columns
from httpdyno.model import (
    FORMER_NAMES,
    AddressCount,
    CaseResult,
    Column,
    ColumnKind,
    Field,
    LabelCount,
    Sample,
    Table,
    Trial,
    schema,
)
from httpdyno.store import Run
from httpdyno.store.query import RUN_COLUMNS, SETTING, TRIAL_OF_CASE, ComputedFigures, runs_frame
from httpdyno.store.reader import polars_types

_Compute = Callable[[Trial], str | float | None]
_CURRENT: Final = {former: name for name, former in FORMER_NAMES.items()}
_Row = tuple[str, str, str, str]
"""Column, type, unit, meaning."""
_RUN: Final = ("run", "text", "", RUN_COLUMNS["run"].meaning)


def _figures(experiments: Iterable[str]) -> Iterator[tuple[str, Column, _Compute]]:
    """Yield the figures of one trial in the tables of experiments: experiment, column, and computation."""
    for name in experiments:
        presentation = definition_of(name).presentation
        for metric in presentation.metrics:
            yield name, metric.column, metric.figure
        for column, word in presentation.words:
            yield name, column, word


def _type_of_figure(column: Column) -> pl.DataType:
    return pl.String() if column.kind is ColumnKind.TEXT else pl.Float64()


def trial_figures() -> ComputedFigures:
    """Return the figures of one trial in each experiment's table, as columns for queries.

    Former names of columns are columns too, as long as other options accept them.
    """
    types = {column.name: _type_of_figure(column) for _, column, _ in _figures(experiment_names())}
    types |= {FORMER_NAMES[name]: type_ for name, type_ in types.items() if name in FORMER_NAMES}
    return ComputedFigures(types, _values)


def _values(experiment: str, trials: Sequence[Trial], name: str) -> list[str | float | None]:
    """Compute one figure of each trial; None where the trials of the experiment do not have it."""
    known = [experiment] if experiment in experiment_names() else []
    computations = {column.name: compute for _, column, compute in _figures(known)}
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
        "labels": (_RUN, *_of_records([*of_case, *schema(LabelCount)])),
        "addresses": (_RUN, *_of_records([*of_case, *schema(AddressCount)])),
    }
    columns = tuple(map(Column, ("table", "column", "type", "unit", "meaning")))
    return Table(columns, tuple((table, *row) for table, rows in tables.items() for row in rows))


def _of_runs(runs: Mapping[str, Run]) -> Iterator[_Row]:
    for name, type_ in runs_frame(runs).schema.items():
        setting = f"option of the run's command: {name.removeprefix(SETTING)}"
        yield name, _type_name(type_), "", RUN_COLUMNS[name].meaning if name in RUN_COLUMNS else setting


def _of_trials() -> Iterator[_Row]:
    """Describe the columns of trials; the figures that tables print come first."""
    figures: dict[str, tuple[Column, list[str]]] = {}
    for experiment, column, _ in _figures(experiment_names()):
        figures.setdefault(column.name, (column, []))[1].append(experiment)
    records = {field.name: field for field in (*schema(Trial), *figure_columns().values())}
    for name, (column, experiments) in figures.items():
        if field := records.pop(name, None):
            yield from _of_records([field])
        else:
            of = f"of {', '.join(experiments)}"
            meaning = f"{column.description} ({of})" if column.description else of
            yield name, _type_name(_type_of_figure(column)), column.unit, meaning
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
