"""How long trials took in earlier runs of the same folder, under the same conditions."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.planned_time import OVERHEAD_S
from httpdyno.model import Outcome, Trial
from httpdyno.runs.estimate import Key
from httpdyno.stats import median
from httpdyno.store import Manifest, differences, open_run, read_manifest, run_folders

__all__ = ["earlier_durations"]

_LOOKED_AT: Final = 50
"""How many runs are looked at, the newest first: a folder may hold thousands."""


def earlier_durations(folder: Path, manifest: Manifest) -> dict[Key, float]:
    """Look up how many seconds trials took that did the same work, in the newest run that knows.

    Trials that went wrong do not count; what cannot be read in the folder is passed over.
    """
    definition = definition_of(manifest.experiment)
    durations: dict[Key, float] = {}
    for path in islice(_folders(folder), _LOOKED_AT):
        try:
            earlier = read_manifest(path)
            if _same_work(earlier, manifest, definition.amount):
                share = _share(manifest, earlier, definition.amount)
                durations = _durations(open_run(path).records(), share, definition) | durations
        except HttpdynoError:
            continue
    return durations


def _same_work(one: Manifest, other: Manifest, amount: str | None) -> bool:
    """Return whether trials of two runs were given the same, or more of it, on machines of the same kind."""
    matter = (
        difference.name in {"cpu", "cpus"} if difference.part == "machine" else difference.name != amount
        for difference in differences(one, other)
        if difference.part != "instrument"
    )
    return one.experiment == other.experiment and not any(matter)


def _share(manifest: Manifest, earlier: Manifest, amount: str | None) -> float:
    """Return how much of an earlier run's work there is now."""
    now, then = (one.settings.get(amount or "") for one in (manifest, earlier))
    return now / then if isinstance(now, int) and isinstance(then, int) and then > 0 else 1.0


def _durations(trials: Iterable[Trial], share: float, definition: Definition) -> dict[Key, float]:
    found: dict[Key, list[float]] = {}
    for trial in trials:
        if trial.outcome is Outcome.OK and trial.counters.wall_ns is not None:
            key = trial.subject, trial.condition, trial.concurrency
            # A program starts once, however much it then does.
            start_ns = min(definition.start_ns(trial) or 0, trial.counters.wall_ns)
            lasts_ns = start_ns + (trial.counters.wall_ns - start_ns) * share
            found.setdefault(key, []).append(lasts_ns / 1e9 + OVERHEAD_S)
    return {key: value for key, values in found.items() if (value := median(values)) is not None}


def _folders(folder: Path) -> tuple[Path, ...]:
    try:
        return run_folders(folder)
    except HttpdynoError:
        return ()
