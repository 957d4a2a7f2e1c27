"""Keeps a run of a published grid in the publication's columns too: a CSV in the run's folder."""

from pathlib import Path
from typing import Final

from httpdyno.cli.terminal import tell
from httpdyno.experiments.capacity.presets import find_capacity_preset
from httpdyno.experiments.capacity.published_form import in_form
from httpdyno.experiments.published import PRESET_SETTING
from httpdyno.report import render
from httpdyno.storage import storage_errors
from httpdyno.store import Run

__all__ = ["write_published_form"]

_CSV: Final = "csv"


def write_published_form(run: Run) -> None:
    """Write a run of a published grid in the publication's form beside its records, a file for each subject.

    A run of another grid has none. What its name says is the preset, and with several subjects whom it is of.

    Raises
    ------
    StorageFailed
        If there is no room.
    """
    name = run.manifest.settings.get(PRESET_SETTING)
    if not isinstance(name, str):
        return
    for path, text in _files(run, name):
        with storage_errors(f"{path}: cannot write"):
            path.write_text(text, encoding="utf-8")
        tell(f"in the published form: {path}")


def _files(run: Run, name: str) -> list[tuple[Path, str]]:
    trials, preset = run.records(), find_capacity_preset(name)
    subjects = dict.fromkeys(trial.subject for trial in trials)
    found = []
    for subject in subjects:
        own = [trial for trial in trials if trial.subject == subject]
        of = f"-{subject}" if len(subjects) > 1 else ""
        found.append((run.folder / f"{name}{of}.csv", render(in_form(own, preset), _CSV)))
    return found
