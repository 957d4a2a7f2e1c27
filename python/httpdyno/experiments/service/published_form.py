"""A run of the published servers in the form of the publication, beside what was published."""

from collections.abc import Sequence

from httpdyno.experiments.service.presets import find_service_preset, published_figures
from httpdyno.experiments.service.seed_form import seed_form
from httpdyno.model import Table, Trial
from httpdyno.store import Manifest

__all__ = ["run_in_seed_form"]


def run_in_seed_form(manifest: Manifest, trials: Sequence[Trial]) -> Table:
    """Put a run that was made with a preset into the form of its publication.

    Parameters
    ----------
    manifest : Manifest
        Of the run.
    trials : sequence of Trial
        Of the same run.

    Raises
    ------
    UnknownName
        If this version does not know the preset.
    """
    preset = find_service_preset(str(manifest.settings["preset"]))
    names = {
        row.subject: (str(cells["framework"]), str(cells["language"]))
        for row in preset.table.rows
        for cells in [preset.table.cells(row)]
    }
    measured = {subject.id: (subject.method, subject.language.lower()) for subject in manifest.subjects}
    return seed_form(
        trials, published_figures(preset), {**names, **{k: v for k, v in measured.items() if k not in names}}
    )
