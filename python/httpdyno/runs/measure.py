"""An experiment from its subjects to its run: builds, trials, records on disk."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from httpdyno.experiments.plan import following
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import JudgedTrial
from httpdyno.lab.cool_down import LONGEST_S, CoolDown
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_executor import LiveExecutor
from httpdyno.lab.machine_use import take_snapshot
from httpdyno.lab.observer import Observer
from httpdyno.lab.proof import prove_all
from httpdyno.lab.room import Pinning
from httpdyno.model import Condition, Purpose, Subject, Trial, TrialPlan
from httpdyno.runs.ceiling import CeilingExecutor, after_ceiling, ceiling_plan
from httpdyno.runs.companion import restored_companions
from httpdyno.runs.earlier import earlier_durations
from httpdyno.runs.estimate import OVERHEAD_S, Forecast, Key, guess_s, request_s
from httpdyno.runs.pending import PendingRun
from httpdyno.runs.run import carry_out
from httpdyno.runs.spoken_version import not_speaking
from httpdyno.stats import median
from httpdyno.subjects.builder import BuildEvent, BuildOutcome, build_subjects

__all__ = ["Measured", "RunObserver", "measure"]

_COOLED_BY: Final = 4
"""A trial that is known to be short leaves less behind than takes a quarter of it to end."""


class RunObserver(Observer, Protocol):
    """Whoever is shown what a run is doing."""

    def build(self, event: BuildEvent) -> None:
        """Handle news of a build."""

    def built(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Handle what became of all builds."""

    def probing(self, subject: Subject) -> None:
        """Handle a subject whose claims are put to the test, before it is measured for the first time."""

    def planned(self, trials: int, *, finished: int, left_s: float | None, at_most: bool = False) -> None:
        """Handle of how many trials the run consists, how many are there, and how long the others will take.

        ``at_most`` means that a search may need fewer.
        """

    def cooling_down(self, reason: str) -> None:
        """Handle what is waited for between two trials."""

    def trial_begins(self, plan: TrialPlan) -> None:
        """Handle the trial that begins."""

    def trial_ends(self, trial: Trial, *, left_s: float | None) -> None:
        """Handle what became of a trial, and how long the others will take; None when nobody can tell."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of a run."""

    experiment: str
    """Its name, which is its verb."""
    trials: tuple[Trial, ...]
    whole: bool
    """Whether every planned trial was run."""
    folder: Path | None
    """Where the run lies; None when it was not kept."""

    @property
    def anything(self) -> bool:
        """Whether there is at least one trial with a line that can be read."""
        return any(map(definition_of(self.experiment).found, self.trials))


def measure(
    run: PendingRun,
    observer: RunObserver,
    stop: Interruption,
    *,
    fetcher: Subject | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Build the subjects, prove their claims, run the trials that are not there yet, keep each as soon as it has ended.

    Must be called in the main thread. The run is closed at the end; when an error ends it, by its own context.

    Parameters
    ----------
    run : PendingRun
        What is measured.
    observer : RunObserver
        Is told what happens.
    stop : Interruption
        Looked at between all steps.
    fetcher : Subject, optional
        Asks before all trials what the web can give at all, once in a run; None: nobody does.
    clock : callable
        Gives seconds, for the estimate of the time that is left.

    Raises
    ------
    Interrupted
        If it was stopped before the first trial began.
    NotResumable
        If it goes on with a run of other subjects than there are now.
    EngineFailed
        If the engine refuses or fails; finished trials are on disk, in a run marked ``partial``.
    StorageFailed
        If the cache or the folder of runs cannot be written.
    """
    place = run.place
    builds = _proven_builds(run, observer, stop)
    observer.built(builds)
    plan = run.settle(builds)
    seen = list(run.finished)
    pending = plan.left(seen)
    fetcher_builds = {} if run.live or fetcher is None else build_subjects([fetcher], place.cache)
    companions = restored_companions(run.experiment.settings())
    beside = build_subjects(companions, place.cache, tell=observer.build, stop=lambda: stop.requested)
    rooms = _executor(run, {**fetcher_builds, **builds}, beside, observer, stop)
    executor = CeilingExecutor(rooms, lambda condition: _planned_per_s(rooms, condition))
    first = _first(run, fetcher_builds, executor, rooms)
    coming = [*([first] if first else []), *pending]
    forecast = Forecast(coming, _earlier(run), lambda one: _guess(one, rooms, search=plan.open), clock)
    observer.planned(plan.most, finished=len(seen), left_s=forecast.left_s(), at_most=plan.open)

    def keep(judged: JudgedTrial) -> None:
        run.keep(judged)
        if judged.trial.purpose is not Purpose.CEILING:
            seen.append(judged.trial)
        forecast.ended()
        observer.trial_ends(judged.trial, left_s=forecast.left_s())

    new, whole = carry_out(
        after_ceiling(first, following(plan, seen)),
        executor,
        begins=observer.trial_begins,
        ends=keep,
        stop=lambda: stop.requested,
        cool_down=_cool_down(place.pinning, observer, stop, _patience_s(coming)) if len(coming) > 1 else None,
    )
    run.close(whole=whole)
    return _measured(run, new, whole=whole)


def _proven_builds(run: PendingRun, observer: RunObserver, stop: Interruption) -> dict[str, BuildOutcome]:
    """Build who can do what is asked, and put their claims to the test; of the others say why there is no build."""
    place = run.place
    refused = not_speaking(run.subjects, run.experiment.conditions())
    asked = [subject for subject in run.subjects if subject.id not in refused]
    built = build_subjects(asked, place.cache, tell=observer.build, stop=lambda: stop.requested)
    proven = prove_all(built, place.engine, place.pinning, stop, tell=observer.probing)
    return {subject.id: refused.get(subject.id) or proven[subject.id] for subject in run.subjects}


def _measured(run: PendingRun, new: Sequence[Trial], *, whole: bool) -> Measured:
    of_subjects = [trial for trial in new if trial.purpose is not Purpose.CEILING]
    trials = tuple(sorted((*run.finished, *of_subjects), key=lambda trial: trial.trial))
    return Measured(run.experiment.name, trials, whole, run.folder)


def _earlier(run: PendingRun) -> dict[Key, float]:
    return earlier_durations(run.folder.parent, run.manifest) if run.folder and run.manifest else {}


def _executor(
    run: PendingRun,
    builds: Mapping[str, BuildOutcome],
    companions: Mapping[str, BuildOutcome],
    observer: RunObserver,
    stop: Interruption,
) -> RoomExecutor | LiveExecutor:
    """Choose who runs the trials: the conditions of an experiment are all of the real internet, or none is."""
    if run.live:
        assert run.urls is not None, "the real internet has no list of its own"
        return LiveExecutor(builds, run.urls, run.place.pinning, stop, observer)
    definition = definition_of(run.experiment.name)
    return RoomExecutor(
        *(run.place.engine, builds, run.urls, run.place.pinning, stop, observer, companions),
        judge=definition.judge,
        run_other=definition.run,
    )


def _first(
    run: PendingRun,
    fetcher_builds: Mapping[str, BuildOutcome],
    executor: CeilingExecutor,
    rooms: RoomExecutor | LiveExecutor,
) -> TrialPlan | None:
    """Plan the trial that asks what the web can give at all; None where it was asked before, or nobody can ask."""
    fetchers = [outcome.subject for outcome in fetcher_builds.values() if outcome.build]
    if not fetchers or isinstance(rooms, LiveExecutor):
        return None
    condition = run.experiment.conditions()[0]
    plan = ceiling_plan(fetchers[0], condition, run.subjects, urls=rooms.planned_time(condition).urls)
    if run.ceiling is None:
        # Trials that were made without it are not compared with those that are made now.
        return None if run.finished else plan
    executor.learn(run.ceiling, plan.condition)
    return None


def _planned_per_s(rooms: RoomExecutor | LiveExecutor, condition: Condition) -> float | None:
    if isinstance(rooms, LiveExecutor) or condition.concurrency is None:
        return None
    return rooms.planned_time(condition).per_s(condition.concurrency)


def _guess(plan: TrialPlan, executor: RoomExecutor | LiveExecutor, *, search: bool) -> float | None:
    if executor.builds[plan.subject.id].build is None:
        return 0.0
    if plan.condition.foreseen_s is not None:
        return plan.condition.foreseen_s + OVERHEAD_S
    if search:
        # Its list is longer than any of its trials.
        return plan.condition.deadline_s + OVERHEAD_S
    if isinstance(executor, LiveExecutor):
        return None
    planned = executor.planned_time(plan.condition)
    return guess_s(
        planned,
        plan.concurrency,
        deadline_s=plan.condition.deadline_s,
        request_s=request_s(plan),
        round_trip_s=plan.condition.link.round_trip_ns / 1e9,
    )


def _cool_down(pinning: Pinning, observer: RunObserver, stop: Interruption, longest_s: float) -> CoolDown:
    cpus = pinning.cpus(os.sched_getaffinity(0))
    return CoolDown(
        lambda: take_snapshot(cpus), longest_s=longest_s, stop=lambda: stop.requested, tell=observer.cooling_down
    )


def _patience_s(coming: Sequence[TrialPlan]) -> float:
    """Return how long to wait at most for a machine to cool down: a quarter of what trials take, if known."""
    foreseen = [plan.condition.foreseen_s for plan in coming]
    usual = median([seconds for seconds in foreseen if seconds is not None])
    return LONGEST_S if usual is None or None in foreseen else min(LONGEST_S, usual / _COOLED_BY)
