"""The reference of the records, from their types."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from httpdyno.model.record import RECORD_VERSION, Field, FigureRecord, figure_fields, schema
from httpdyno.model.trial import Sample, Trial

__all__ = ["records_page"]

_INTRODUCTION: Final = """# Records

What a run leaves in its folder under `runs/`: version {version} of the records. This page is generated
from the types in `httpdyno.model`.

- `manifest.json`: what was run, where, with what, and whether the run is `complete` or `partial`.
- `trials.parquet`: one row for each trial.
- `figures.parquet`: one row for each figure of a trial: what its experiment asked for and found.
- `samples.parquet`: one row for each line of a client, and one for each URL that the deadline left without a line.
- `load-000000.json`: of a load only, the generator's [own report](load-report.md) of each trial.
- `parts/`: until a run is complete it keeps its finished trials here, three files for each.
- `trials/`: what the trials wrote, an archive for each, and the truth that they were judged by (`httpdyno judge`).
- `urls.gz`: until then also its list of URLs, unless a web made it. `lock`: held by the process that makes the run.
- `output.txt`: what a run in the background has printed.

What is not known is null. Units stand in the names: `_ns`, `_bytes`, `_per_s`. Times since the Unix epoch are UTC.
Lines that cannot be read, or that belong to no URL that was given, are counted in the trial and are no samples.

The version rises when a column goes or comes to mean something else; both versions can then be read. It does not rise
for a column or a figure that is new, which is null in a run that was made before. Runs of version 1 have their figures
in `trials.parquet`. A run of each experiment is kept in
`tests/golden/`, and every change must still open, report and query it.
"""


_FIGURES: Final = (
    "## figures.parquet",
    "",
    "The columns `trial`, `figure` (its name) and, for its value, one of `integer`, `number`, `boolean`, `text` and "
    "`series`",
    "(JSON). `query` and `load_run` show each as a column of `trials`, under these names.",
    "",
)


def records_page(figures: Mapping[type[FigureRecord], Sequence[str]]) -> str:
    """Write ``docs/reference/records.md``.

    Parameters
    ----------
    figures : mapping
        The records of figures, each with the experiments whose trials have it.
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
        return "list of (" + ", ".join(f"`{member.name}` {member.type}" for member in field.members) + ")"
    if field.categories:
        return "one of " + ", ".join(f"`{category}`" for category in field.categories)
    return str(field.type)
