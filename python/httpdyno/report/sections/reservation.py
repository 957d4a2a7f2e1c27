"""What a run says of itself under its table: not verified, not limited, a first look, trials that are missing."""

from collections.abc import Sequence

from httpdyno.judge.notes import unlimited_notes
from httpdyno.model import LIVE, Note, Trial
from httpdyno.store import Manifest

__all__ = ["not_whole", "of_memory", "reservations", "table_reservations"]


def reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return the reservations with which the figures of a run have to be read; empty when there is none."""
    live = any(web.name == LIVE for web in manifest.webs)
    unverified = (
        "UNVERIFIED: made on the real internet, where no truth is known to check answers against; no client is ranked"
    )
    return (*([Note(unverified)] if live else []), *table_reservations(manifest, trials))


def table_reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return those of the reservations that no verdict of a table tells of already."""
    quick = manifest.settings.get("quick")
    looked = [Note(f"a first look (--quick): {_times(manifest)}; differences may be chance")] if quick else []
    return (*looked, *of_memory(trials), *not_whole(len(trials), manifest.trials_planned))


def of_memory(trials: Sequence[Trial]) -> tuple[Note, ...]:
    """State that memory was not limited though that was asked for; empty when it was, or was not asked for."""
    return tuple(map(Note, unlimited_notes(trials)))


def not_whole(finished: int, planned: int) -> tuple[Note, ...]:
    """State that trials are missing; empty when none is."""
    return (Note(f"not whole: {finished} of {planned} trials"),) if finished < planned else ()


def _times(manifest: Manifest) -> str:
    repeat = manifest.settings.get("repeat")
    return "each subject ran once" if repeat == 1 else f"each subject ran {repeat} times"
