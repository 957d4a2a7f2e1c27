"""Duration of a run: estimate it from its plan and from earlier runs."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.definition import Planning
from httpdyno.experiments.registry import definition_of
from httpdyno.lab.planned_time import OVERHEAD_S
from httpdyno.model import Outcome, TrialPlan
from httpdyno.stats import median
from httpdyno.store import Manifest, Run, differences, open_run, read_manifest, run_folders

Key = tuple[str, str, int]
"""Key of trials with similar durations: subject, condition, concurrency."""
_LOOKED_AT: Final = 50
"""Number of runs to read, the newest first: a folder may hold thousands."""


def key_of(plan: TrialPlan) -> Key:
    """Return the key of trials that take about as long as this one."""
    return plan.subject.id, plan.condition.name, plan.concurrency


@dataclass(slots=True)
class Forecast:
    """Forecast of each trial's duration, which learns from trials that end. Its clock starts when it is made."""

    earlier_s: Mapping[Key, float]
    """Seconds of trials in an earlier run."""
    guess: Callable[[TrialPlan], float | None]
    """Estimates trials without a duration in this run or the earlier one."""
    clock: Callable[[], float]
    """Returns seconds, and never jumps."""
    _measured_s: dict[Key, list[float]] = field(default_factory=dict, init=False)
    _last_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the first trial."""
        self._last_s = self.clock()

    def ended(self, key: Key) -> None:
        """Note that a trial has ended now. Its duration counts from the end of the trial before."""
        now_s = self.clock()
        self._measured_s.setdefault(key, []).append(now_s - self._last_s)
        self._last_s = now_s

    def expected_s(self, plan: TrialPlan) -> float | None:
        """Return how many seconds a trial will take; None when nothing is known."""
        measured = median(self._measured_s.get(key_of(plan), ()))
        if measured is not None:
            return measured
        earlier = self.earlier_s.get(key_of(plan))
        return self.guess(plan) if earlier is None else earlier


def earlier_durations(folder: Path, manifest: Manifest) -> dict[Key, float]:
    """Look up the seconds that trials with the same work took, in the newest run that has them.

    The earlier run did at least the same work on a machine of the same kind. Failed trials do not count; unreadable
    runs of the folder are skipped.
    """
    planning = definition_of(manifest.experiment).planning
    durations: dict[Key, float] = {}
    with suppress(HttpdynoError):
        for path in run_folders(folder)[:_LOOKED_AT]:
            with suppress(HttpdynoError):
                earlier = read_manifest(path)
                others = (change for change in differences(earlier, manifest) if change.part != "instrument")
                if earlier.experiment == manifest.experiment and not any(
                    change.name in {"cpu", "cpus"} if change.part == "machine" else change.name != planning.amount
                    for change in others
                ):
                    now, then = (one.settings.get(planning.amount or "") for one in (manifest, earlier))
                    share = now / then if isinstance(now, int) and isinstance(then, int) and then > 0 else 1.0
                    durations = _durations(open_run(path), share, planning) | durations
    return durations


def _durations(run: Run, share: float, planning: Planning) -> dict[Key, float]:
    """Return the median seconds of the trials of a run, scaled to a share of their work."""
    found: dict[Key, list[float]] = defaultdict(list)
    for trial in run.records():
        if trial.outcome is Outcome.OK and trial.counters.wall_ns is not None:
            # The start of a program takes the same time for any amount of work.
            start_ns = min(planning.start_ns(trial) or 0, trial.counters.wall_ns)
            lasts_ns = start_ns + (trial.counters.wall_ns - start_ns) * share
            found[trial.subject, trial.condition, trial.concurrency].append(lasts_ns / 1e9 + OVERHEAD_S)
    return {key: value for key, values in found.items() if (value := median(values)) is not None}
