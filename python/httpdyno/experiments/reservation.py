"""What a run says of itself under its table: that it is only a first look, or not whole."""

from httpdyno.model import Note
from httpdyno.store import Manifest

__all__ = ["reservations"]


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
    texts = []
    if manifest.settings.get("quick"):
        texts.append(f"a first look (--quick): {_times(manifest)}; differences may be chance")
    if finished < manifest.trials_planned:
        texts.append(f"not whole: {finished} of {manifest.trials_planned} trials")
    return tuple(Note(text) for text in texts)


def _times(manifest: Manifest) -> str:
    repeat = manifest.settings.get("repeat")
    return "each subject ran once" if repeat == 1 else f"each subject ran {repeat} times"
