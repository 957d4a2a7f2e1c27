"""The subjects of a preset that do not exist here."""

from typing import Final

from httpdyno.experiments.published import preset_of
from httpdyno.store import Run
from httpdyno.subjects.catalogue import read_catalogue

__all__ = ["absent_subjects"]

_NO_SUBJECT: Final = "httpdyno has no such subject"


def absent_subjects(run: Run) -> dict[str, str]:
    """Describe of a preset's subjects which of them do not exist here, and why; of none when others were named."""
    published = preset_of(run.manifest)
    measured = {subject.id for subject in run.manifest.subjects}
    missing = [name for name in published.subjects if name not in measured] if published else []
    catalogue = read_catalogue(()) if missing else None
    if catalogue is None or any(name in catalogue.subjects for name in missing):
        return {}
    reasons = {name: catalogue.invalid[name].line for name in missing if name in catalogue.invalid}
    return {name: f"unavailable: {reasons.get(name, _NO_SUBJECT)}" for name in missing}
