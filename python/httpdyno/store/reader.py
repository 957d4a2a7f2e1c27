"""Reading of runs, complete or not: their records as columns."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

import polars as pl

from httpdyno.errors import StorageFailed, UnreadableRun
from httpdyno.model import Field, Figure, Purpose, Sample, Trial, flatten, restore, schema
from httpdyno.store.files import storing, write_whole
from httpdyno.store.folder import (
    FIGURES,
    MANIFEST,
    PARTS,
    SAMPLES,
    TRIALS,
    figure_part,
    holder_of,
    sample_part,
    trial_part,
)
from httpdyno.store.manifest import CURE, Manifest, manifest_from_json

_SCALARS: Final[dict[str, pl.DataType]] = {
    "boolean": pl.Boolean(),
    "int16": pl.Int16(),
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "uint64": pl.UInt64(),
    "float64": pl.Float64(),
    "text": pl.String(),
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
"""One row for each figure of a trial; one of the last five has its value, a series as JSON."""
_FIGURES_APART: Final = 2
"""The version of the records from which on figures lie in a file of their own."""


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


def figure_rows(trial: int, figures: Mapping[str, Figure]) -> pl.DataFrame:
    """Write the figures of a trial as rows."""
    rows = [
        {"trial": trial, "figure": name, _KINDS[type(value)]: json.dumps(value) if isinstance(value, list) else value}
        for name, value in figures.items()
    ]
    return pl.DataFrame(rows, schema=FIGURES_SCHEMA)


def with_figures(trials: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Join the figures to the trials, a column for each; null where a trial does not have it.

    The trials have the column ``trial``, the figures ``FIGURES_SCHEMA``.
    """
    order = figures["figure"].unique(maintain_order=True).to_list()
    joined = figures.select(pl.col("trial").unique(maintain_order=True))
    for kind in _KINDS.values():
        some = figures.filter(pl.col(kind).is_not_null())
        if some.is_empty():
            continue
        columns = some.pivot(on="figure", index="trial", values=kind)
        if kind == "series":
            columns = columns.with_columns(
                # A list within may be empty in the first trials: its type is that of the others.
                pl.Series(name, [None if text is None else json.loads(text) for text in columns[name]], strict=False)
                for name in columns.columns[1:]
            )
        # A figure may be whole in one trial and a decimal number in another.
        for name in set(columns.columns[1:]) & set(joined.columns):
            both = joined.join(columns.select("trial", pl.col(name).alias("_other")), on="trial", how="left")
            joined = both.with_columns(pl.coalesce(pl.col(name).cast(pl.Float64), "_other").alias(name)).drop("_other")
            columns = columns.drop(name)
        joined = joined.join(columns, on="trial", how="left", maintain_order="left")
    return trials.join(joined.select("trial", *order), on="trial", how="left", maintain_order="left")


@dataclass(frozen=True, slots=True)
class Run:
    """A run, read from its folder or just made.

    Attributes
    ----------
    folder : Path
        Where it lies.
    manifest : Manifest
        What was run; ``manifest.state`` is ``complete`` or ``partial``.
    trials : pl.DataFrame
        Those of subjects, with the columns of ``model.Trial`` and one for each figure that one of them has.
    ceilings : pl.DataFrame
        The trial that measured the web's ceiling: none, or one.
    """

    folder: Path
    manifest: Manifest
    trials: pl.DataFrame
    ceilings: pl.DataFrame

    @classmethod
    def of(cls, folder: Path, manifest: Manifest, trials: Iterable[Trial]) -> Self:
        """Return a run of given trials, the same as reading its folder would return."""
        records = list(trials)
        frame = pl.DataFrame([flatten(trial) for trial in records], schema=polars_schema(Trial), orient="row")
        figures = [figure_rows(trial.trial, trial.figures) for trial in records]
        return cls(folder, manifest, *_apart(with_figures(frame, pl.concat(figures)) if figures else frame))

    def records(self) -> tuple[Trial, ...]:
        """Return the trials as records, in the order of their numbers."""
        return self.restored(self.trials)

    def ceiling(self) -> Trial | None:
        """Return the trial that measured the ceiling of the web; None where there is none."""
        return next(iter(self.restored(self.ceilings)), None)

    def restored(self, trials: pl.DataFrame) -> tuple[Trial, ...]:
        """Return rows of ``trials`` or ``ceilings`` as records, in the order of their numbers."""
        try:
            return tuple(_record(row) for row in trials.sort("trial").iter_rows(named=True))
        except (TypeError, ValueError) as error:
            raise UnreadableRun(f"{self.folder}: {TRIALS} is damaged: {error}; {CURE}") from error

    def samples(self) -> pl.LazyFrame:
        """Return the samples of all trials, with the columns of ``model.Sample``; read when collected."""
        if maker := _missing_records(self.folder, self.manifest):
            return maker.samples(self.folder).lazy()
        finished = (self.folder / TRIALS).exists()
        files = [self.folder / SAMPLES] if finished else _parts(self.folder, self.trials["trial"].to_list())
        return _scan(self.folder, files, Sample)


class RecordMaker(Protocol):
    """Makes records of what the measuring program left in the folder of a run."""

    def trials(self, folder: Path, manifest: Manifest) -> tuple[Trial, ...]:
        """Return the trials that have ended; raise ``UnreadableRun`` if a report is damaged."""

    def samples(self, folder: Path) -> pl.DataFrame:
        """Return the samples of all trials, with the columns of ``model.Sample``."""


def _missing_records(folder: Path, manifest: Manifest) -> RecordMaker | None:
    """Return the maker of a run's records where they have to be made from its reports."""
    recorded = (folder / TRIALS).exists() or (folder / PARTS).exists()
    return None if recorded else _record_maker(manifest)


def _record_maker(manifest: Manifest) -> RecordMaker | None:
    """Return ``MAKER`` of the experiment's module ``records``, which makes records from the reports of another program.

    None for an experiment without that module. It is imported by name: experiments lie above the store.
    """
    if not manifest.experiment.isidentifier():
        return None
    try:
        module = import_module(f"httpdyno.experiments.{manifest.experiment}.records")
    except ModuleNotFoundError:
        return None
    return cast(RecordMaker, module.MAKER)


def _keep_records(folder: Path, manifest: Manifest, maker: RecordMaker) -> bool:
    """Make the records of a run and write them into its folder; return whether they were written.

    They are not while the run is being made, and where the folder cannot be written.
    """
    if holder_of(folder) is not None:
        return False
    trials = maker.trials(folder, manifest)
    if not trials:
        return False
    records = pl.DataFrame([flatten(trial) for trial in trials], schema=polars_schema(Trial), orient="row")
    rows = [figure_rows(trial.trial, trial.figures) for trial in trials]
    figures = pl.concat([pl.DataFrame(schema=FIGURES_SCHEMA), *rows])
    samples = maker.samples(folder)
    with suppress(StorageFailed), storing(folder):
        # In this order: where trials.parquet is, everything else is there too.
        write_whole(folder / SAMPLES, samples.write_parquet)
        write_whole(folder / FIGURES, figures.write_parquet)
        write_whole(folder / TRIALS, records.write_parquet)
        return True
    return False


def _record(row: dict[str, Any]) -> Trial:
    """Make a trial from columns: those that are not its own are figures."""
    own = {field.name for field in schema(Trial)}
    figures = {name: value for name, value in row.items() if name not in own and value is not None}
    return restore(Trial, {**row, "figures": figures})


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run, and none of its trials."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError as error:
        what = "is no run of httpdyno: it has no manifest.json" if folder.is_dir() else "does not exist"
        raise UnreadableRun(f"{folder} {what}") from error
    except OSError as error:
        raise UnreadableRun(f"{folder}: manifest.json cannot be read: {error.strerror}") from error
    return manifest_from_json(text, where=str(folder))


def open_run(folder: Path) -> Run:
    """Open the folder of a run, complete or partial, of this record version or an earlier one.

    Raises ``UnreadableRun`` if the folder is no run, is damaged, or was written by a newer version.
    """
    manifest = read_manifest(folder)
    maker = _missing_records(folder, manifest)
    if maker and not _keep_records(folder, manifest, maker):
        return Run.of(folder, manifest, maker.trials(folder, manifest))
    merged = folder / TRIALS
    gathered = manifest.state == "complete" or merged.exists()
    files = [merged] if gathered else sorted((folder / PARTS).glob(trial_part("*")))
    try:
        trials = _scan(folder, files, Trial, others=True).collect()
        trials = with_figures(
            trials, _figures(folder, manifest.record_version, gathered=gathered, trials=trials["trial"].to_list())
        )
        return Run(folder, manifest, *_apart(trials))
    except (OSError, pl.exceptions.PolarsError, UnreadableRun) as error:
        if not gathered and merged.exists():
            # It was completed in this moment, and its parts were cleared away.
            return open_run(folder)
        raise error if isinstance(error, UnreadableRun) else _damaged_run(folder, error) from error


def _apart(trials: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the trials of subjects, and those that measured a ceiling."""
    # Runs that are older than the column have trials of subjects only.
    ceiling = (pl.col("purpose") == Purpose.CEILING.value).fill_null(False)
    return trials.filter(~ceiling), trials.filter(ceiling)


def _parts(folder: Path, trials: list[int]) -> list[Path]:
    return [folder / PARTS / sample_part(trial) for trial in sorted(trials)]


def _figures(folder: Path, version: int, *, gathered: bool, trials: list[int]) -> pl.DataFrame:
    """Read the figures of trials; none of a run of version 1, whose trials have them in columns."""
    files = [folder / FIGURES] if gathered else [folder / PARTS / figure_part(trial) for trial in sorted(trials)]
    if version < _FIGURES_APART or not files:
        return pl.DataFrame(schema=FIGURES_SCHEMA)
    return pl.read_parquet(files, schema=FIGURES_SCHEMA)


def _scan(folder: Path, files: list[Path], record: type[Any], *, others: bool = False) -> pl.LazyFrame:
    """Read the columns of a record; with ``others`` those after them that are none of it."""
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
    # A run may be older than a column: what was not recorded is not known.
    own = [(pl.col(name) if name in known else pl.lit(None)).cast(type_).alias(name) for name, type_ in columns.items()]
    return frame.select(*own, *(name for name in known if others and name not in columns))


def _damaged_run(folder: Path, error: Exception) -> UnreadableRun:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
    return UnreadableRun(f"{folder}: the run is damaged: {reason}; {CURE}")
