"""Reservations of a run below its table: unverified, no memory limit, a first look, missing trials."""

from collections.abc import Sequence

from httpdyno.judge.notes import unlimited_notes
from httpdyno.model import LIVE, Note, Trial
from httpdyno.store import Manifest


def reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return the reservations about the figures of a run; empty without any."""
    live = any(web.name == LIVE for web in manifest.webs)
    unverified = Note(
        "UNVERIFIED: the right answers of the internet are unknown: none was checked; no client is ranked"
    )
    return (*((unverified,) if live else ()), *table_reservations(manifest, trials))


def table_reservations(manifest: Manifest, trials: Sequence[Trial]) -> tuple[Note, ...]:
    """Return the reservations that the verdicts of a table do not include."""
    settings, finished, planned = manifest.settings, len(trials), manifest.trials_planned
    repeat, budget_s = settings.get("repeat"), settings.get("time_budget_s")
    lines = []
    if settings.get("quick"):
        times = "once" if repeat == 1 else f"{repeat} times"
        lines.append(f"a first look (--quick): each subject ran {times}; differences may be chance")
    lines += unlimited_notes(trials)
    if finished < planned:
        lines.append(f"not whole: {finished} of {planned} trials")
    elif isinstance(repeat, int) and isinstance(budget_s, int | float):
        # A closing block comes after the planned ones.
        blocks = len({trial.block for trial in trials if trial.block < repeat})
        if blocks != repeat:
            fitted = f"further blocks did not fit into {budget_s / 60:.0f} min"
            lines.append(f"{blocks} of {repeat} blocks: {fitted}; --repeat {repeat} runs all")
    return tuple(map(Note, lines))
