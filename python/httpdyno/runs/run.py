"""A run from its subjects to its end: builds, then trial after trial, each judged and kept before the next."""

import os
import time
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final, Protocol

from httpdyno.errors import Interrupted
from httpdyno.experiments.companion import restored_companions
from httpdyno.experiments.plan import ListedPlan, Plan, total_s
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Ceiling, Circumstances, JudgedTrial, ceiling_of
from httpdyno.judge.validity import RULES, Rule
from httpdyno.lab.cool_down import LONGEST_S, CoolDown, Pause
from httpdyno.lab.executor import LocalExecutor, TrialKind, judge_trial
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.machine_use import take_snapshot
from httpdyno.lab.observer import Observer
from httpdyno.lab.other_programs import busiest, read_processes
from httpdyno.lab.planned_time import OVERHEAD_S, guess_s
from httpdyno.lab.proof import prove_all
from httpdyno.lab.room import Pinning
from httpdyno.lab.trial_files import NotRun
from httpdyno.model import Condition, Outcome, Purpose, Subject, SubjectKind, Trial, TrialPlan
from httpdyno.runs.artifacts import ArtifactKeeper
from httpdyno.runs.ceiling import ceiling_plan
from httpdyno.runs.earlier import earlier_durations
from httpdyno.runs.estimate import Forecast, Key
from httpdyno.runs.pending import PendingRun
from httpdyno.runs.spoken_version import not_speaking
from httpdyno.stats import median
from httpdyno.store import Run
from httpdyno.subjects.build import BuildEvent, BuildOutcome, build_subjects

__all__ = ["Measured", "RunObserver", "TrialRunner", "foreseen_s", "measure", "run_trials"]

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

    def planned(
        self,
        trials: int,
        *,
        finished: int,
        left_s: float | None,
        at_most: bool = False,
        blocks: int | None = None,
    ) -> None:
        """Handle the number of trials, how many of them are there, and how long the others will take.

        ``at_most``: a search may need fewer; ``blocks``: the number of blocks where each has several trials.
        Trials that are ``added`` come on top.
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
    run: Run | None
    """None when it was not kept."""

    @property
    def anything(self) -> bool:
        """Whether there is at least one trial that has figures."""
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

    Must be called in the main thread. The run is closed at the end; when an error ends it, by its own context: finished
    trials are on disk, in a run marked ``partial``. ``Interrupted`` is raised only before the first trial begins.

    ``fetcher`` asks before all trials what the web can give at all, once in a run; None, or where no subject has a
    build: nobody does.
    """
    place = run.place
    builds = _proven_builds(run, observer, stop)
    observer.built(builds)
    run.settle(builds)
    measurable = any(outcome.build for outcome in builds.values())
    asking = build_subjects([fetcher], place.cache) if fetcher and measurable and not run.live else {}
    companions = restored_companions(run.experiment.settings())
    beside = build_subjects(companions, place.cache, tell=observer.build, stop=lambda: stop.requested)
    keeper = None if run.folder is None else ArtifactKeeper(run.folder, place.artifacts)
    executor = LocalExecutor(
        *(place.engine, place.pinning, stop, observer, {**asking, **builds}, beside, run.urls),
        keep_stopped=run.kept_if_stopped,
        keep_truth=keeper.truth if keeper else lambda _: None,
    )
    definition = definition_of(run.experiment.name)
    runner = TrialRunner(executor, definition.trials, definition.rules, keeper)
    first = _asks_ceiling(run, asking, runner)
    coming = [*first, *run.plan.left(run.trials)]
    forecast = Forecast(_earlier(run), lambda one: _foresee_s(one, executor, search=run.plan.open), clock)
    first_s = total_s(first, forecast.expected_s)
    left_s = run.plan.left_s(run.trials, forecast.expected_s)
    observer.planned(
        len(run.trials) + len(run.plan.left(run.trials)),
        finished=len(run.trials),
        left_s=None if first_s is None or left_s is None else first_s + left_s,
        at_most=run.plan.open,
        blocks=_blocks_of_several(run.plan),
    )
    cool_down = _cool_down(place.pinning, observer, stop, _patience_s(coming)) if len(coming) > 1 else None

    def keep(judged: JudgedTrial) -> None:
        run.keep(judged)
        trial = judged.trial
        of_plan = () if trial.purpose is Purpose.CEILING else (trial,)
        forecast.ended((trial.subject, trial.condition, trial.concurrency))
        observer.trial_ends(trial, left_s=run.plan.left_s([*run.trials, *of_plan], forecast.expected_s))

    # What the web can give at all is asked first, and is no trial of the plan.
    whole = all(
        run_trials(
            *(plan, there, runner.run, observer.trial_begins, keep),
            stop=lambda: stop.requested,
            cool_down=cool_down,
        )
        for plan, there in ((ListedPlan(first), []), (run.plan, run.trials))
    )
    run.close(whole=whole)
    trials = tuple(sorted(run.trials, key=lambda trial: trial.trial))
    return Measured(run.experiment.name, trials, whole, run.made())


@dataclass(slots=True)
class TrialRunner:
    """Executes and judges the trials of a run, one by one; each is judged once, with all that is known of it."""

    executor: LocalExecutor
    kinds: Mapping[SubjectKind, TrialKind]
    """How the trials of each kind of subject are executed and judged."""
    rules: Sequence[Rule] = RULES
    """Rules of validity of the experiment."""
    keeper: ArtifactKeeper | None = None
    """Keeps what trials leave; None: they are not judged again."""
    ceiling: Ceiling | None = None
    """Highest rate that the fetcher got from the web of this run."""

    def run(self, planned: TrialPlan, pause: Pause | None = None) -> JudgedTrial:
        """Execute a trial and judge it; ``pause`` is how long the machine was given to become quiet before it."""
        kind = self.kinds[planned.subject.kind]
        before = read_processes()
        left = self.executor.execute(planned, kind)
        with nullcontext() if isinstance(left, NotRun) else left:
            circumstances = Circumstances(
                cool_down_ns=pause.waited_ns if pause else None,
                cool_down_reason=pause.reason if pause else None,
                other_programs=busiest(before, read_processes(), own=os.getpid()),
                ceiling=self.ceiling,
            )
            judged = judge_trial(planned, left, kind, circumstances, rules=self.rules)
            if self.keeper and not isinstance(left, NotRun):
                # Before its record: a trial that is there has its artifacts.
                self.keeper.keep(planned, left, circumstances, judged.trial)
        if planned.purpose is Purpose.CEILING:
            self.learn(judged.trial, planned.condition)
            # Its record has the rate: a million samples of the fetcher would only fill the disk.
            return replace(judged, samples=judged.samples.clear())
        return judged

    def learn(self, trial: Trial, condition: Condition) -> None:
        """Learn the ceiling from the trial that measured it."""
        planned = self.executor.planned_time(condition)
        per_s = planned and condition.concurrency and planned.per_s(condition.concurrency)
        self.ceiling = ceiling_of(trial, planned_per_s=per_s or None)


def foreseen_s(run: PendingRun, stop: Interruption) -> float | None:
    """Return how long the trials of a run will take if all of its subjects can be built; None when that is unknown."""
    executor = LocalExecutor(run.place.engine, run.place.pinning, stop, urls=run.urls)
    forecast = Forecast(_earlier(run), lambda one: _foresee_s(one, executor, search=run.plan.open), time.monotonic)
    return run.plan.left_s(run.trials, forecast.expected_s)


def run_trials(
    plan: Plan,
    trials: MutableSequence[Trial],
    run_trial: Callable[[TrialPlan, Pause | None], JudgedTrial],
    begins: Callable[[TrialPlan], None],
    keep: Callable[[JudgedTrial], None],
    *,
    stop: Callable[[], bool],
    cool_down: CoolDown | None = None,
) -> bool:
    """Run the trials of a plan that are not there yet, one after the other; return False when somebody has stopped it.

    Each that ends is given to ``keep`` and added to ``trials``; ``cool_down`` waits between one that ran and the next.
    """
    while (planned := plan.next(trials)) is not None:
        pause = None if cool_down is None or stop() else cool_down.before_trial()
        if stop():
            return False
        begins(planned)
        try:
            judged = run_trial(planned, pause)
        except Interrupted:
            return False
        if cool_down is not None:
            cool_down.after_trial(ran=judged.trial.outcome is not Outcome.UNAVAILABLE)
        keep(judged)
        trials.append(judged.trial)
        if judged.trial.outcome is Outcome.INTERRUPTED:
            return False
    return True


def _blocks_of_several(plan: Plan) -> int | None:
    """Count the blocks of a plan under one condition in which several subjects run; None for any other plan."""
    planned = plan.left(())
    blocks = {one.block for one in planned}
    alike = len({one.condition.name for one in planned}) == 1 and not plan.open
    return len(blocks) if alike and len(planned) > len(blocks) else None


def _proven_builds(run: PendingRun, observer: RunObserver, stop: Interruption) -> dict[str, BuildOutcome]:
    """Build who can do what is asked, and put their claims to the test; of the others say why there is no build."""
    place = run.place
    refused = not_speaking(run.subjects, run.experiment.conditions())
    asked = [subject for subject in run.subjects if subject.id not in refused]
    built = build_subjects(asked, place.cache, tell=observer.build, stop=lambda: stop.requested)
    proven = prove_all(built, place.engine, place.pinning, stop, tell=observer.probing)
    return {subject.id: refused.get(subject.id) or proven[subject.id] for subject in run.subjects}


def _asks_ceiling(run: PendingRun, asking: Mapping[str, BuildOutcome], runner: TrialRunner) -> tuple[TrialPlan, ...]:
    """Plan the trial that asks what the web can give at all; none where it was asked before, or nobody can ask."""
    fetchers = [outcome.subject for outcome in asking.values() if outcome.build]
    if not fetchers:
        return ()
    condition = run.experiment.conditions()[0]
    planned = runner.executor.planned_time(condition)
    plan = ceiling_plan(fetchers[0], condition, run.subjects, urls=planned.urls if planned else 0)
    if run.ceiling is None:
        # Trials that were made without it are not compared with those that are made now.
        return () if run.trials else (plan,)
    runner.learn(run.ceiling, plan.condition)
    return ()


def _earlier(run: PendingRun) -> dict[Key, float]:
    return earlier_durations(run.folder.parent, run.manifest) if run.folder and run.manifest else {}


def _foresee_s(planned: TrialPlan, executor: LocalExecutor, *, search: bool) -> float | None:
    """Return how long a trial takes of which nothing is known yet; None when nobody can say."""
    condition = planned.condition
    outcome = executor.builds.get(planned.subject.id)
    if outcome is not None and outcome.build is None:
        return 0.0
    if condition.foreseen_s is not None:
        return condition.foreseen_s + OVERHEAD_S
    if search:
        # Its list is longer than any of its trials.
        return condition.deadline_s + OVERHEAD_S
    return None if (time_in_web := executor.planned_time(condition)) is None else guess_s(planned, time_in_web)


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
