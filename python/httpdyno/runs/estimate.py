"""Duration of a run: estimate it from its plan and from earlier runs."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.definition import Planning
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.planned_time import OVERHEAD_S
from httpdyno.model import Outcome, Trial, TrialPlan
from httpdyno.stats import median
from httpdyno.store import Manifest, differences, open_run, read_manifest, run_folders

Key = tuple[str, str, int]
"""Key of trials with similar durations: subject, condition, concurrency."""
_LOOKED_AT: Final = 50
"""Number of runs to read, the newest first: a folder may hold thousands."""


def key_of(plan: TrialPlan) -> Key:
    """Return the key of trials that take about as long as this one."""
    return plan.subject.id, plan.condition.name, plan.concurrency


class Forecast:
    """Forecast of each trial's duration, which learns from the trials that end."""

    def __init__(
        self,
        earlier_s: Mapping[Key, float],
        guess: Callable[[TrialPlan], float | None],
        clock: Callable[[], float],
    ) -> None:
        """Begin now. ``earlier_s`` is of an earlier run; ``clock`` returns seconds, and never jumps.

        ``guess`` estimates trials without a duration in this run or the earlier one.
        """
        self._earlier_s = earlier_s
        self._guess = guess
        self._clock = clock
        self._measured_s: dict[Key, list[float]] = {}
        self._last_s = clock()

    def ended(self, key: Key) -> None:
        """Note that a trial has ended now. It counts from the end of the trial before."""
        now_s = self._clock()
        self._measured_s.setdefault(key, []).append(now_s - self._last_s)
        self._last_s = now_s

    def expected_s(self, plan: TrialPlan) -> float | None:
        """Return how many seconds a trial will take; None when nothing is known."""
        measured = median(self._measured_s.get(key_of(plan), ()))
        if measured is not None:
            return measured
        earlier = self._earlier_s.get(key_of(plan))
        return self._guess(plan) if earlier is None else earlier


def earlier_durations(folder: Path, manifest: Manifest) -> dict[Key, float]:
    """Look up the seconds that trials with the same work took, in the newest run that has them.

    Failed trials do not count; unreadable runs of the folder are skipped.
    """
    planning = definition_of(manifest.experiment).planning
    durations: dict[Key, float] = {}
    for path in islice(_folders(folder), _LOOKED_AT):
        try:
            earlier = read_manifest(path)
            if _same_work(earlier, manifest, planning.amount):
                share = _share(manifest, earlier, planning.amount)
                durations = _durations(open_run(path).records(), share, planning) | durations
        except HttpdynoError:
            continue
    return durations


def _same_work(one: Manifest, other: Manifest, amount: str | None) -> bool:
    """Return whether trials of two runs did the same work, or more of it, on machines of the same kind."""
    matter = (
        difference.name in {"cpu", "cpus"} if difference.part == "machine" else difference.name != amount
        for difference in differences(one, other)
        if difference.part != "instrument"
    )
    return one.experiment == other.experiment and not any(matter)


def _share(manifest: Manifest, earlier: Manifest, amount: str | None) -> float:
    """Return the amount of work relative to the earlier run."""
    now, then = (one.settings.get(amount or "") for one in (manifest, earlier))
    return now / then if isinstance(now, int) and isinstance(then, int) and then > 0 else 1.0


def _durations(trials: Iterable[Trial], share: float, planning: Planning) -> dict[Key, float]:
    found: dict[Key, list[float]] = {}
    for trial in trials:
        if trial.outcome is Outcome.OK and trial.counters.wall_ns is not None:
            key = trial.subject, trial.condition, trial.concurrency
            # A program starts once, however much it then does.
            start_ns = min(planning.start_ns(trial) or 0, trial.counters.wall_ns)
            lasts_ns = start_ns + (trial.counters.wall_ns - start_ns) * share
            found.setdefault(key, []).append(lasts_ns / 1e9 + OVERHEAD_S)
    return {key: value for key, values in found.items() if (value := median(values)) is not None}


def _folders(folder: Path) -> tuple[Path, ...]:
    try:
        return run_folders(folder)
    except HttpdynoError:
        return ()
