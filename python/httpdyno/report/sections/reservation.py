"""Reservations of a run below its table: unverified, no memory limit, a first look, missing trials."""

from collections.abc import Sequence

from httpdyno.judge.notes import unlimited_notes
from httpdyno.model import LIVE, Note, Trial
from httpdyno.store import Manifest


def reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return the reservations about the figures of a run; empty without any."""
    live = any(web.name == LIVE for web in manifest.webs)
    unverified = "UNVERIFIED: no truth is known for the real internet, so no answer was checked; no client is ranked"
    return (*([Note(unverified)] if live else []), *table_reservations(manifest, trials))


def table_reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return the reservations that the verdicts of a table do not include."""
    quick = manifest.settings.get("quick")
    looked = [Note(f"a first look (--quick): {_times(manifest)}; differences may be chance")] if quick else []
    return (
        *looked,
        *memory_reservations(trials),
        *_left_out_blocks(manifest, trials),
        *not_whole(len(trials), manifest.trials_planned),
    )


def memory_reservations(trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Name trials that ran without the memory limit of their plan, and why; empty when every limit was set."""
    return tuple(map(Note, unlimited_notes(trials)))


def not_whole(finished: int, planned: int) -> tuple[Note, ...]:
    """Describe missing trials; empty when none is missing."""
    return (Note(f"not whole: {finished} of {planned} trials"),) if finished < planned else ()


def _left_out_blocks(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Describe the blocks that a time budget left out; empty when all ran, or the run was stopped before its end."""
    planned, budget_s = manifest.settings.get("repeat"), manifest.settings.get("time_budget_s")
    if not isinstance(planned, int) or not isinstance(budget_s, int | float):
        return ()
    # A closing block comes after those of the list.
    blocks = len({trial.block for trial in trials if trial.block < planned})
    if blocks == planned or len(trials) < manifest.trials_planned:
        return ()
    return (
        Note(f"{blocks} of {planned} blocks: no more fitted into {budget_s / 60:.0f} min; --repeat {planned} runs all"),
    )


def _times(manifest: Manifest) -> str:
    repeat = manifest.settings.get("repeat")
    return "each subject ran once" if repeat == 1 else f"each subject ran {repeat} times"
