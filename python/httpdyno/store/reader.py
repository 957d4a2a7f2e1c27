"""Reading of runs, complete or not: their records as columns."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self

import polars as pl

from httpdyno.errors import StorageFailed, UnreadableRun
from httpdyno.model import Field, Figure, Purpose, Sample, Trial, flatten, restore, schema
from httpdyno.store.files import storing, write_whole
from httpdyno.store.folder import (
    FIGURES,
    PARTS,
    RECORD_FILES,
    SAMPLES,
    TRIALS,
    holder_of,
    part_of,
)
from httpdyno.store.manifest import CURE, Manifest, read_manifest

_SCALARS: Final[dict[str, pl.DataType]] = {
    "boolean": pl.Boolean(),
    "int16": pl.Int16(),
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "uint64": pl.UInt64(),
    "float64": pl.Float64(),
    "text": pl.String(),
    "list of text": pl.List(pl.String()),
}
_KINDS: Final[dict[type, str]] = {bool: "boolean", int: "integer", float: "number", str: "text", list: "series"}
FIGURES_SCHEMA: Final[dict[str, pl.DataType]] = {
    "trial": pl.Int32(),
    "figure": pl.String(),
    "integer": pl.Int64(),
    "number": pl.Float64(),
    "boolean": pl.Boolean(),
    "text": pl.String(),
    "series": pl.String(),
}
"""One row for each figure of a trial. One of the last five columns has its value; a series is JSON."""
_FIGURES_APART: Final = 2
"""First version of the records with a file of figures."""


def polars_schema(record: type[Any]) -> dict[str, pl.DataType]:
    """Return the columns of ``model.Trial`` or ``model.Sample`` with their types, in order."""
    return polars_types(schema(record))


def polars_types(fields: Iterable[Field]) -> dict[str, pl.DataType]:
    """Return columns with their types, in order."""
    return {field.name: _type(field) for field in fields}


def _type(field: Field) -> pl.DataType:
    if field.members:
        return pl.List(pl.Struct({member.name: _type(member) for member in field.members}))
    if field.type == "category":
        return pl.Enum(field.categories)
    return _SCALARS[str(field.type)]


def with_figures(trials: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Join the figures to the trials, a column for each; null if a trial does not have the figure.

    The trials have the column ``trial``, the figures ``FIGURES_SCHEMA``. A figure that is a whole number in one trial
    may be a decimal number in another.
    """
    values: dict[str, dict[int, Figure]] = {}
    for trial, name, *kinds, series in figures.iter_rows():
        value = next((value for value in kinds if value is not None), None)
        values.setdefault(name, {})[trial] = json.loads(series) if value is None else value
    numbers = trials["trial"].to_list()
    return trials.with_columns(
        pl.Series(name, [by_trial.get(number) for number in numbers], strict=False) for name, by_trial in values.items()
    )


def record_frames(trials: Iterable[Trial]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return trials as rows, and their figures as rows with ``FIGURES_SCHEMA``."""
    records = list(trials)
    figures = [
        {"trial": one.trial, "figure": name, _KINDS[type(value)]: json.dumps(value) if type(value) is list else value}
        for one in records
        for name, value in one.figures.items()
    ]
    rows = pl.DataFrame([flatten(one) for one in records], schema=polars_schema(Trial), orient="row")
    return rows, pl.DataFrame(figures, schema=FIGURES_SCHEMA)


def write_records(
    folder: Path,
    trials: Iterable[Trial],
    samples: pl.DataFrame | None,
    names: Sequence[str] = RECORD_FILES,
) -> None:
    """Write trials, all of their samples, and their figures into files of these names.

    The trials are written last: once they exist, all other files exist, too.
    """
    columns = polars_schema(Sample)
    rows = pl.DataFrame(schema=columns) if samples is None else samples.select(cast_to(columns))
    records, figures = record_frames(trials)
    with storing(folder):
        for name, frame in zip(names, (rows, figures, records), strict=True):
            write_whole(folder / name, frame.write_parquet)


def cast_to(columns: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Select these columns with their types."""
    return [pl.col(name).cast(type_) for name, type_ in columns.items()]


@dataclass(frozen=True, slots=True)
class Run:
    """A run, read from its folder or just made."""

    folder: Path
    manifest: Manifest
    """Its ``state`` is ``complete`` or ``partial``."""
    trials: pl.DataFrame
    """Trials of subjects, with the columns of ``model.Trial`` and one for each figure that one of them has."""
    ceilings: pl.DataFrame
    """The trial that measured the web's ceiling: none, or one."""

    @classmethod
    def of(cls, folder: Path, manifest: Manifest, trials: Iterable[Trial]) -> Self:
        """Return a run of the given trials, equal to the run that reading the folder returns."""
        return cls(folder, manifest, *_apart(with_figures(*record_frames(trials))))

    @property
    def process(self) -> int | None:
        """Number of the process that makes the run, 0 if not known yet; None if no process does."""
        # A run that has just ended may still hold its lock.
        return None if self.manifest.state == "complete" else holder_of(self.folder)

    def records(self) -> tuple[Trial, ...]:
        """Return the trials as records, in the order of their numbers."""
        return self.restored(self.trials)

    def ceiling(self) -> Trial | None:
        """Return the trial that measured the ceiling of the web; None where there is none."""
        return next(iter(self.restored(self.ceilings)), None)

    def restored(self, trials: pl.DataFrame) -> tuple[Trial, ...]:
        """Return rows of ``trials`` or ``ceilings`` as records, in the order of their numbers."""
        try:
            # Columns that ``Trial`` does not declare are figures.
            own = {field.name for field in schema(Trial)}
            return tuple(
                restore(
                    Trial,
                    {**row, "figures": {n: value for n, value in row.items() if n not in own and value is not None}},
                )
                for row in trials.sort("trial").iter_rows(named=True)
            )
        except (TypeError, ValueError) as error:
            raise UnreadableRun(f"{self.folder}: {TRIALS} is damaged: {error}; {CURE}") from error

    def samples(self) -> pl.LazyFrame:
        """Return the samples of all trials, with the columns of ``model.Sample``; read when collected."""
        if maker := _record_maker(self.folder, self.manifest):
            samples: pl.DataFrame = maker.samples(self.folder)
            return samples.lazy()
        files = [self.folder / SAMPLES]
        if not (self.folder / TRIALS).exists():
            files = [self.folder / part_of("samples", trial) for trial in self.trials["trial"].sort()]
        return _scan(self.folder, files, Sample)


def _record_maker(folder: Path, manifest: Manifest) -> ModuleType | None:
    """Return the module that makes a run's records, where they have to be made from the reports of another program.

    It is ``records`` of the experiment, imported by name, since experiments lie above the store. Its function
    ``trials(folder, manifest)`` returns the trials that have ended; it raises ``UnreadableRun`` for a damaged report.
    ``samples(folder)`` returns the samples of all trials, with the columns of ``model.Sample``.
    """
    recorded = (folder / TRIALS).exists() or (folder / PARTS).exists()
    if recorded or not manifest.experiment.isidentifier():
        return None
    try:
        return import_module(f"httpdyno.experiments.{manifest.experiment}.records")
    except ModuleNotFoundError:
        return None


def open_run(folder: Path) -> Run:
    """Open the folder of a run, complete or partial, of this record version or an earlier one.

    Raises ``UnreadableRun`` if the folder is not a run, is damaged, or was written by a newer version.
    """
    manifest = read_manifest(folder)
    if maker := _record_maker(folder, manifest):
        trials: tuple[Trial, ...] = maker.trials(folder, manifest)
        written = False
        if trials and holder_of(folder) is None:
            with suppress(StorageFailed):  # in a folder without write access they are made each time
                write_records(folder, trials, maker.samples(folder))
                written = True
        if not written:
            return Run.of(folder, manifest, trials)
    merged = folder / TRIALS
    gathered = manifest.state == "complete" or merged.exists()
    files = [merged] if gathered else sorted(folder.glob(part_of("trial")))
    try:
        rows = _scan(folder, files, Trial, others=True).collect()
        if manifest.record_version >= _FIGURES_APART:
            parts = [folder / part_of("figures", trial) for trial in rows["trial"].sort()]
            files = [folder / FIGURES] if gathered else parts
            if files:
                rows = with_figures(rows, pl.read_parquet(files, schema=FIGURES_SCHEMA))
        return Run(folder, manifest, *_apart(rows))
    except (OSError, pl.exceptions.PolarsError, UnreadableRun) as error:
        if not gathered and merged.exists():
            # The run was completed in the meantime, and its parts were removed.
            return open_run(folder)
        raise error if isinstance(error, UnreadableRun) else _damaged_run(folder, error) from error


def _apart(trials: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    # Runs that are older than the column have trials of subjects only.
    ceiling = (pl.col("purpose") == Purpose.CEILING.value).fill_null(False)
    return trials.filter(~ceiling), trials.filter(ceiling)


def _scan(folder: Path, files: list[Path], record: type[Any], *, others: bool = False) -> pl.LazyFrame:
    """Read the columns of a record; with ``others`` also further columns, after them."""
    columns = polars_schema(record)
    if not files:
        return pl.LazyFrame(schema=columns)
    try:
        frame = pl.scan_parquet(files)
        known = frame.collect_schema().names()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged_run(folder, error) from error
    needed = [field.name for field in schema(record) if not field.nullable and field.name not in known]
    if needed:
        raise UnreadableRun(f"{folder}: {files[0].name} is damaged: it has no column {needed[0]}; {CURE}")
    # A run may be older than a column, which is then null.
    own = [(pl.col(name) if name in known else pl.lit(None)).cast(type_).alias(name) for name, type_ in columns.items()]
    return frame.select(*own, *(name for name in known if others and name not in columns))


def _damaged_run(folder: Path, error: Exception) -> UnreadableRun:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
    return UnreadableRun(f"{folder}: the run is damaged: {reason}; {CURE}")
