"""Writes a run: every finished trial at once, so that whatever happens next cannot take it away."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from httpdyno.errors import InvalidValue, StorageFailed
from httpdyno.model import Sample, Trial, flatten
from httpdyno.store.columns import polars_schema
from httpdyno.store.files import storing, write_whole
from httpdyno.store.layout import MANIFEST, PARTS, SAMPLES, TRIALS, sample_part, trial_part
from httpdyno.store.manifest import Manifest, RunState, manifest_to_json

__all__ = ["RunWriter"]

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_NAMES_TRIED: Final = 1000


class RunWriter:
    """A run that is being made.

    The folder is there, marked ``partial``, from the start; each finished trial is kept at once under ``parts/``.
    ``close`` gathers them into ``trials.parquet`` and ``samples.parquet``.

    Attributes
    ----------
    folder : Path
        Where the run lies.
    manifest : Manifest
        What the run consists of.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Use ``create``."""
        self.folder: Final = folder
        self.manifest: Final = manifest

    @classmethod
    def create(cls, root: Path, manifest: Manifest) -> "RunWriter":
        """Make the folder of a run, ``<utc time>-<experiment>``, below ``root``.

        Runs that start within the same second get names of their own.

        Raises
        ------
        StorageFailed
            If the folder cannot be made.
        InvalidValue
            If the experiment's name is not lower-case words joined by hyphens.
        """
        if not _NAME.fullmatch(manifest.experiment):
            raise InvalidValue(f"experiment {manifest.experiment!r}: a name is lower-case letters, digits and hyphens")
        content = manifest_to_json(replace(manifest, state="partial"))
        name = f"{manifest.started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{manifest.experiment}"
        with storing(root):
            root.mkdir(parents=True, exist_ok=True)
            for attempt in range(1, _NAMES_TRIED):
                folder = root / (name if attempt == 1 else f"{name}-{attempt}")
                try:
                    folder.mkdir()
                except FileExistsError:
                    continue
                try:
                    write_whole(folder / MANIFEST, lambda file: file.write(content))
                    (folder / PARTS).mkdir()
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
                return cls(folder, manifest)
        raise StorageFailed(f"{root / name}: too many runs within one second; move some of them away")

    def add(self, trial: Trial, samples: pl.DataFrame | None = None) -> None:
        """Keep a finished trial.

        Parameters
        ----------
        trial : Trial
            Its record; its number must be new to the run.
        samples : pl.DataFrame | None
            The columns of ``model.Sample``; None for a trial that could not be run.

        Raises
        ------
        StorageFailed
            If it cannot be written; the trials before it are kept.
        """
        columns = polars_schema(Sample)
        rows = pl.DataFrame(schema=columns) if samples is None else samples.select(_cast(columns))
        record = pl.DataFrame([flatten(trial)], schema=polars_schema(Trial), orient="row")
        with storing(self.folder):
            # In this order: a trial that is there has its samples.
            write_whole(self.folder / PARTS / sample_part(trial.trial), rows.write_parquet)
            write_whole(self.folder / PARTS / trial_part(trial.trial), record.write_parquet)

    def close(self, *, complete: bool, ended_at: datetime) -> Path:
        """Gather the trials, and say whether the run is complete.

        Returns
        -------
        Path
            The folder of the run.

        Raises
        ------
        StorageFailed
            If it cannot be written; the run stays ``partial``, with all of its trials.
        """
        parts = self.folder / PARTS
        with storing(self.folder):
            # In this order: where trials.parquet is, everything else is there too, and the parts are not needed.
            for name, pattern, record in ((SAMPLES, sample_part("*"), Sample), (TRIALS, trial_part("*"), Trial)):
                columns = polars_schema(record)
                files = sorted(parts.glob(pattern))
                frame = pl.scan_parquet(files).select(_cast(columns)) if files else pl.LazyFrame(schema=columns)
                write_whole(self.folder / name, lambda file, frame=frame: frame.sink_parquet(file))  # type: ignore[misc]
            state: RunState = "complete" if complete else "partial"
            content = manifest_to_json(replace(self.manifest, state=state, ended_at=ended_at))
            write_whole(self.folder / MANIFEST, lambda file: file.write(content))
            shutil.rmtree(parts)
        return self.folder


def _cast(columns: dict[str, pl.DataType]) -> list[pl.Expr]:
    return [pl.col(name).cast(type_) for name, type_ in columns.items()]
