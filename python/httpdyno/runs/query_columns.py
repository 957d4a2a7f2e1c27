"""The tables and columns that ``httpdyno query`` knows, as a table."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from httpdyno.experiments.registry import figure_columns
from httpdyno.model import Column, Field, Sample, Table, Trial, schema
from httpdyno.runs.trial_figures import figure_descriptions
from httpdyno.store import Run
from httpdyno.store.query import RUN_COLUMNS, SETTING, runs_frame
from httpdyno.store.reader import polars_types

__all__ = ["columns_table"]

_COLUMNS: Final = (
    Column("table"),
    Column("column"),
    Column("type"),
    Column("unit"),
    Column("meaning"),
)
_Row = tuple[str, str, str, str, str]


def columns_table(runs: Mapping[str, Run]) -> Table:
    """List each column of each table: of ``runs`` with the settings that any of these runs has."""
    return Table(
        _COLUMNS,
        (
            *_of_runs(runs),
            *_of_trials("trials"),
            *_of_trials("ceilings"),
            ("samples", "run", "text", "", _RUN),
            *_of_records("samples", schema(Sample)),
        ),
    )


_RUN: Final = "name of the run's folder"
_OF_A_RUN: Final = {
    "run": _RUN,
    "experiment": "such as bench",
    "state": "running, complete or partial",
    "started_at": "in UTC",
    "ended_at": "in UTC",
    "command": "how it was started",
    "version": "of httpdyno",
    "engine_version": "of the engine",
    "record_version": "of the records",
    "trials_planned": "how many trials were planned",
    "trials_finished": "how many trials are there",
    "git_commit": "the checkout of httpdyno that it was started from",
    "git_modified": "whether that checkout had changes",
    "urls_source": "the file that the list came from; null when a web made it",
    "urls": "how many URLs the list has",
    "sysctls": "settings of the kernel: name, value",
    "webs": "name, seed, digest",
    "subjects": "id, language, method, version, unavailable",
    **dict.fromkeys(
        (
            "system",
            "kernel",
            "architecture",
            "cpu",
            "cpus",
            "memory_bytes",
            "virtualisation",
            "governor",
            "clock_source",
        ),
        "of the machine",
    ),
}


def _of_runs(runs: Mapping[str, Run]) -> Iterator[_Row]:
    types = dict(runs_frame(runs).schema) if runs else RUN_COLUMNS
    for name, type_ in types.items():
        meaning = f"option of the run's command: {name.removeprefix(SETTING)}" if name.startswith(SETTING) else ""
        yield "runs", name, _type_name(type_), "", _OF_A_RUN.get(name, meaning)


def _of_trials(table: str) -> Iterator[_Row]:
    records = {field.name: field for field in (*schema(Trial), *figure_columns().values())}
    yield table, "run", "text", "", _RUN
    # What people look for stands first: the figures that tables print.
    for name, (column, experiments) in figure_descriptions().items():
        kind = "text" if column.kind == "text" else "number"
        field = records.pop(name, None)
        if field is not None:
            yield table, name, _type_name(polars_types([field])[name]), field.unit, field.description
        else:
            of = f"of {', '.join(experiments)}"
            yield table, name, kind, column.unit, f"{column.description} ({of})" if column.description else of
    yield from _of_records(table, records.values())


def _of_records(table: str, fields: Iterable[Field]) -> Iterator[_Row]:
    types = polars_types(fields := tuple(fields))
    for field in fields:
        yield table, field.name, _type_name(types[field.name]), field.unit, field.description


def _type_name(type_: pl.DataType) -> str:
    if isinstance(type_, pl.List):
        return "list"
    if isinstance(type_, pl.Enum):
        return "text"
    names = {pl.String: "text", pl.Boolean: "boolean", pl.Datetime: "time", pl.Float64: "number"}
    return next((name for kind, name in names.items() if isinstance(type_, kind)), "integer")
