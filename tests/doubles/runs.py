"""Runs on disk without a measurement: trials as ``doubles.trials`` makes them, a manifest to go with them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from httpdyno.model import Trial
from httpdyno.store import Machine, Manifest, RunWriter, SubjectVersion, WebIdentity

MACHINE = Machine("Linux", "6.1", "x86_64", cpu="A CPU", cpus=2, memory_bytes=8 * 2**30)
WEB = WebIdentity("plain", 1, "digest")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def manifest_of(trials: Sequence[Trial], **changes: Any) -> Manifest:
    """Describe a run of these trials, unless ``changes`` says otherwise."""
    versions = {trial.subject: trial for trial in trials}.values()
    fields: dict[str, Any] = {
        "experiment": "bench",
        "command": ("httpdyno", "bench"),
        "version": "0.1.0",
        "started_at": NOON,
        "machine": MACHINE,
        "trials_planned": len(trials),
        "webs": (WEB,),
        "subjects": tuple(SubjectVersion(one.subject, one.language, one.method, one.version) for one in versions),
    }
    return Manifest(**(fields | changes))


def make_run(
    root: Path,
    trials: Sequence[Trial],
    samples: Callable[[Trial], pl.DataFrame] | None = None,
    *,
    name: str = "",
    close: bool = True,
    **changes: Any,
) -> Path:
    """Write a run below ``root``, under its name if one is given; return its folder."""
    manifest = manifest_of(trials, **changes)
    writer = RunWriter.create(root, manifest)
    for number, trial in enumerate(trials):
        numbered = replace(trial, trial=number)
        writer.add(numbered, samples(numbered) if samples else None)
    if close:
        writer.close(complete=len(trials) >= manifest.trials_planned, ended_at=NOON + timedelta(minutes=5))
    else:
        writer.lock.release()  # as a kill does
    return writer.folder.rename(root / name) if name else writer.folder
