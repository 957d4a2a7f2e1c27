"""Ends a run of a published grid: keeps it in the publication's columns too, a CSV in the run's folder."""

from httpdyno.experiments.beginning import Ended
from httpdyno.experiments.capacity.presets import CapacityPreset
from httpdyno.experiments.capacity.published_form import in_form
from httpdyno.experiments.published import preset_of
from httpdyno.report.formats import render
from httpdyno.storage import storage_errors

__all__ = ["end_capacity"]


def end_capacity(ended: Ended) -> bool:
    """Write a run of a published grid in the publication's form beside its records, a file for each subject.

    A run of another grid has none. What its name says is the preset, and with several subjects whom it is of.
    """
    run = ended.run
    published = preset_of(run.manifest)
    if published is None:
        return True
    trials = run.records()
    subjects = dict.fromkeys(trial.subject for trial in trials)
    for subject in subjects:
        path = run.folder / f"{published.preset}{f'-{subject}' if len(subjects) > 1 else ''}.csv"
        text = render(
            in_form([trial for trial in trials if trial.subject == subject], CapacityPreset(published)), "csv"
        )
        with storage_errors(f"{path}: cannot write"):
            path.write_text(text, encoding="utf-8")
        ended.tell(f"in the published form: {path}")
    return True
