"""The reference page of the records, generated from their types."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from httpdyno.model.record import RECORD_VERSION, Field, FigureRecord, figure_fields, schema
from httpdyno.model.trial import Sample, Trial

__all__ = ["records_page"]

_INTRODUCTION: Final = """# Records

The files of a run in its folder under `runs/`: version {version} of the records. This page is generated from
`httpdyno.model`.

- `manifest.json`: settings, machine, versions, and whether the run is `complete` or `partial`.
- `trials.parquet`: one row for each trial.
- `figures.parquet`: one row for each figure of a trial, requested or found by its experiment.
- `samples.parquet`: one row for each line of a client, and one for each URL without a line at the deadline.
- `load-000000.json`: only of a load, the generator's [report](load-report.md) of each trial.
- `parts/`: the finished trials of an incomplete run, three files for each.
- `trials/`: the artifacts of the trials, an archive for each, and the truth that judged them (`httpdyno judge`).
- `urls.gz`: the list of an incomplete run, unless a web generates it. `lock`: held by the process that makes the run.
- `output.txt`: the output of a run in the background.

Unknown values are null. Names contain units: `_ns`, `_bytes`, `_per_s`. Times since the Unix epoch are UTC. Lines that
cannot be read, or that belong to no given URL, are counted in the trial and are no samples.

The version rises when a column is removed or changes its meaning; both versions can then be read. A new column or
figure does not raise it, and is null in older runs. Runs of version 1 have their figures in `trials.parquet`.
`tests/golden/` has a run of each experiment, and every change must still open, report and query them.
"""


_FIGURES: Final = (
    "## figures.parquet",
    "",
    "The columns `trial`, `figure` (its name) and, for its value, one of `integer`, `number`, `boolean`, `text` and "
    "`series`",
    "(JSON). `query` and `load_run` show each figure as a column of `trials`.",
    "",
)


def records_page(figures: Mapping[type[FigureRecord], Sequence[str]]) -> str:
    """Write ``docs/reference/records.md``.

    Parameters
    ----------
    figures : mapping
        Types of figure records, each with the experiments whose trials have it.
    """
    parts = [
        _INTRODUCTION.format(version=RECORD_VERSION),
        *_section("trials.parquet", Trial),
        *_section("samples.parquet", Sample),
        *_FIGURES,
        *(line for kind, experiments in figures.items() for line in _figures(kind, experiments)),
    ]
    return "\n".join(parts) + "\n"


def _section(title: str, record: type[Any]) -> list[str]:
    return [f"## {title}", "", *_table(schema(record))]


def _figures(kind: type[FigureRecord], experiments: Sequence[str]) -> list[str]:
    about = (kind.__doc__ or "").partition("\n")[0]
    return [f"### {', '.join(experiments)}", "", about, "", *_table(figure_fields(kind))]


def _table(fields: Iterable[Field]) -> list[str]:
    head = ["| column | type | null | meaning |", "| --- | --- | --- | --- |"]
    return [*head, *map(_line, fields), ""]


def _line(field: Field) -> str:
    meaning = f"{field.description}, {field.unit}" if field.unit and field.unit != "1/s" else field.description
    return f"| `{field.name}` | {_type(field)} | {'yes' if field.nullable else 'no'} | {meaning} |"


def _type(field: Field) -> str:
    if field.members:
        return (
            "list of (" + ", ".join(f"`{member.name}` {member.type or _type(member)}" for member in field.members) + ")"
        )
    if field.categories:
        return "one of " + ", ".join(f"`{category}`" for category in field.categories)
    return str(field.type)
