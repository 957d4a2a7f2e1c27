"""Writing of runs: every trial is on disk as soon as it has finished."""

import re
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from httpdyno.errors import InvalidValue, NotResumable
from httpdyno.model import Sample, Trial
from httpdyno.store.files import storing, write_whole
from httpdyno.store.folder import (
    MANIFEST,
    PART_KINDS,
    PARTS,
    RECORD_FILES,
    URLS,
    RunLock,
    create_staging,
    holder_of,
    part_of,
    publish,
)
from httpdyno.store.manifest import Manifest, RunState, manifest_to_json, read_manifest
from httpdyno.store.reader import FIGURES_SCHEMA, cast_to, polars_schema, write_records

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")


class RunWriter:
    """Writer of a run; holds the lock of its folder.

    The folder is there, marked ``partial``, from the start; each finished trial is kept at once under ``parts/``. When
    the run is complete, ``close`` gathers them into ``trials.parquet`` and ``samples.parquet``.
    """

    def __init__(self, folder: Path, manifest: Manifest, lock: RunLock) -> None:
        """Use ``create`` or ``reopen``."""
        self.folder: Final = folder
        self.manifest = manifest
        self.lock: Final = lock

    @classmethod
    def create(cls, root: Path, manifest: Manifest) -> "RunWriter":
        """Make the folder of a run, ``<utc time>-<experiment>``, below ``root``.

        Runs that start within the same second get names of their own. A folder of that name has its manifest from the
        first moment, whatever ends this process.
        """
        if not _NAME.fullmatch(manifest.experiment):
            raise InvalidValue(f"experiment {manifest.experiment!r}: a name is lower-case letters, digits and hyphens")
        name = f"{manifest.started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{manifest.experiment}"
        begun = replace(manifest, state="partial")
        with storing(root):
            staging = create_staging(root, name)
            lock = None
            try:
                lock = RunLock.take(staging)
                assert lock is not None, "no other process uses the folder yet"
                write_whole(staging / MANIFEST, lambda file: file.write(manifest_to_json(begun)))
                (staging / PARTS).mkdir()
                lock.folder = publish(staging, root / name)
            except BaseException:
                shutil.rmtree(staging, ignore_errors=True)
                if lock is not None:
                    lock.release()
                raise
        return cls(lock.folder, begun, lock)

    @classmethod
    def reopen(cls, folder: Path, inherited: int | None = None) -> "RunWriter":
        """Reopen a run that is ``partial``.

        ``inherited`` is a descriptor, of a lock that is held already, with which this process may have been started.
        Raises ``NotResumable`` if the run is complete, or another process is making it.
        """
        _resumable(folder)  # before a file is made in it
        lock = None if inherited is None else RunLock.inherit(folder, inherited)
        lock = lock or RunLock.take(folder)
        if lock is None:
            number = holder_of(folder)
            process = f" (process {number})" if number else ""
            raise NotResumable(f"{folder} is still running{process}: wait for its end, or stop it first")
        try:
            # Check again: the previous holder of the lock may have completed the run.
            return cls(folder, _resumable(folder), lock)
        except BaseException:
            lock.release()
            raise

    def describe(self, manifest: Manifest) -> None:
        """Write the manifest again."""
        content = manifest_to_json(manifest)
        with storing(self.folder):
            write_whole(self.folder / MANIFEST, lambda file: file.write(content))
        self.manifest = manifest

    def add(self, trial: Trial, samples: pl.DataFrame | None = None) -> None:
        """Write a finished trial, whose number must be new to the run; ``samples`` is None if it could not be run.

        If it cannot be written, the trials before it are kept all the same.
        """
        write_records(self.folder, [trial], samples, [part_of(kind, trial.trial) for kind in PART_KINDS])

    def close(self, *, complete: bool, ended_at: datetime) -> Path:
        """Close the run, gather the trials if it is complete, and return its folder.

        One that is not stays ``partial`` and can be reopened; so does one that cannot be written, with all of its
        trials.
        """
        state: RunState = "complete" if complete else "partial"
        try:
            if complete:
                with storing(self.folder):
                    # trials.parquet comes last: where it is, the parts are not needed.
                    schemas = (polars_schema(Sample), FIGURES_SCHEMA, polars_schema(Trial))
                    for name, kind, columns in zip(RECORD_FILES, PART_KINDS, schemas, strict=True):
                        files = sorted(self.folder.glob(part_of(kind)))
                        parts = (
                            pl.scan_parquet(files).select(cast_to(columns)) if files else pl.LazyFrame(schema=columns)
                        )
                        write_whole(self.folder / name, parts.sink_parquet)
            self.describe(replace(self.manifest, state=state, ended_at=ended_at))
            if complete:
                with storing(self.folder):
                    shutil.rmtree(self.folder / PARTS, ignore_errors=True)
                    (self.folder / URLS).unlink(missing_ok=True)
        finally:
            self.lock.release(remove=self.manifest.state == "complete")
        return self.folder

    def discard(self) -> None:
        """Remove the run; if its folder cannot be renamed, leave it as it is."""
        staging = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}")
        with suppress(OSError):
            self.folder.rename(staging)
            shutil.rmtree(staging, ignore_errors=True)
        self.lock.release()


def replace_records(folder: Path, trials: Sequence[Trial], samples: pl.DataFrame) -> None:
    """Write the records of a complete run anew; ``samples`` are those of all trials.

    Raises ``NotResumable`` if the run is not complete, or another process uses it.
    """
    if read_manifest(folder).state != "complete":
        raise NotResumable(f"{folder} is not complete: finish it first with --resume")
    lock = RunLock.take(folder)
    if lock is None:
        raise NotResumable(f"{folder} is in use by another process; try again when that has ended")
    try:
        write_records(folder, trials, samples)
    finally:
        lock.release(remove=True)


def _resumable(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    if manifest.state == "complete":
        raise NotResumable(f"{folder} is complete: no trial is left; begin a new run")
    return manifest
