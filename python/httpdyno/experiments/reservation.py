"""What a run says of itself under its table: that nobody can verify it, that it is a first look, or not whole."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.experiments.registry import definition_of
from httpdyno.model import LIVE, Note, Table, Trial
from httpdyno.store import Manifest

__all__ = ["reservations", "reserved_table", "table_reservations"]


def reservations(manifest: Manifest, *, finished: int) -> tuple[Note, ...]:
    """Give the reservations with which the figures of a run have to be read.

    Parameters
    ----------
    manifest : Manifest
        Of the run.
    finished : int
        How many of its trials are there.

    Returns
    -------
    tuple of Note
        Of the whole table; empty when there is none.
    """
    live = any(web.name == LIVE for web in manifest.webs)
    unverified = "UNVERIFIED: made on the real internet, where nobody knows which answers are right; nobody is ranked"
    return (*([Note(unverified)] if live else []), *table_reservations(manifest, finished=finished))


def table_reservations(manifest: Manifest, *, finished: int) -> tuple[Note, ...]:
    """Give those of the reservations that no verdict of a table tells of already."""
    texts = []
    if manifest.settings.get("quick"):
        texts.append(f"a first look (--quick): {_times(manifest)}; differences may be chance")
    if finished < manifest.trials_planned:
        texts.append(f"not whole: {finished} of {manifest.trials_planned} trials")
    return tuple(Note(text) for text in texts)


def reserved_table(manifest: Manifest, trials: Sequence[Trial]) -> Table:
    """Make the table of a run's experiment, with the reservations under it that the table does not have already.

    Raises
    ------
    UnreadableRun
        If this version does not know the experiment.
    """
    table = definition_of(manifest.experiment).table(trials)
    return replace(table, notes=(*table.notes, *table_reservations(manifest, finished=len(trials))))


def _times(manifest: Manifest) -> str:
    repeat = manifest.settings.get("repeat")
    return "each subject ran once" if repeat == 1 else f"each subject ran {repeat} times"
