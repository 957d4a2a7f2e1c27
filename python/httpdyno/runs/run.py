"""Make a run: build the subjects, then execute, judge and keep trial after trial."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final, Protocol

from httpdyno.errors import Interrupted, SubjectUnavailable
from httpdyno.experiments.definition import Judging
from httpdyno.experiments.participants import restored_companions
from httpdyno.experiments.plan import ListedPlan, Plan, total_s
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Ceiling, Circumstances, JudgedTrial, ceiling_of
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.conformance import prove_all
from httpdyno.lab.cool_down import LONGEST_S, CoolDown, Pause
from httpdyno.lab.executor import LocalExecutor, judge_trial
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.machine_use import busiest, read_processes, take_snapshot
from httpdyno.lab.observer import Observer
from httpdyno.lab.planned_time import OVERHEAD_S, guess_s
from httpdyno.lab.room import Pinning
from httpdyno.lab.trial_files import NotRun
from httpdyno.model import CEILING_TRIAL, Condition, Outcome, Purpose, Subject, Trial, TrialPlan
from httpdyno.runs.artifacts import ArtifactKeeper
from httpdyno.runs.estimate import Forecast, earlier_durations
from httpdyno.runs.pending import PendingRun
from httpdyno.stats import median
from httpdyno.store import Run
from httpdyno.subjects.build import BuildOutcome, BuildState, build_subjects

FETCHER: Final = "native"
"""The engine's own fetcher as a subject; it is the fastest known client."""
_MOST_IN_FLIGHT: Final = 1024
"""The highest concurrency that ``tune`` tries."""
_FETCHER_LONGEST_S: Final = 10.0
"""Time of the fetcher, plus one timeout, since slots that stall at first need that long."""
_COOLED_BY: Final = 4
"""The effects of a short trial end within this share of its duration."""


def ceiling_plan(fetcher: Subject, condition: Condition, subjects: Iterable[Subject], *, urls: int) -> TrialPlan:
    """Plan the trial that measures the ceiling of a web.

    The trial has as many requests in flight as the list allows, because with few of them the web's delays limit the
    rate; never fewer than any subject has.
    """
    asked_of_subjects = (condition.concurrency or subject.concurrency for subject in subjects)
    in_flight = max(min(urls // LEAST_TURNS, _MOST_IN_FLIGHT), *asked_of_subjects, 1)
    deadline_s = min(condition.deadline_s, _FETCHER_LONGEST_S + condition.workload.timeout_s)
    asked = replace(condition, concurrency=in_flight, deadline_s=deadline_s, name="")
    return TrialPlan(CEILING_TRIAL, CEILING_TRIAL, 0, fetcher, asked, purpose=Purpose.CEILING)


def clients_without_version(subjects: Iterable[Subject], conditions: Iterable[Condition]) -> dict[str, BuildOutcome]:
    """Return the clients without the HTTP version of a condition, each with the reason; they need not be built.

    With that setting the clients would end at once, or use another version. The keys are ids, in the order of
    ``subjects``, and no outcome has a build.
    """
    asked = sorted({condition.workload.http_version for condition in conditions} - {""})
    refused = {}
    for subject in subjects:
        lacking = [version for version in asked if version not in subject.capabilities.http]
        if lacking and not subject.unavailable:
            has = " and ".join(subject.capabilities.http)
            claims = f"it claims only HTTP/{has}" if has else "its subject.toml claims no version"
            reason = f"not measured: it cannot be set to HTTP/{lacking[0]}: {claims}"
            refused[subject.id] = BuildOutcome(subject, error=SubjectUnavailable(reason, option=subject.id))
    return refused


class RunObserver(Observer, Protocol):
    """Observer of a run."""

    def build(self, subject: Subject, state: BuildState) -> None:
        """Handle news of a build."""

    def built(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Handle the outcomes of all builds."""

    def probing(self, subject: Subject) -> None:
        """Handle a subject whose claims are probed, before it is measured for the first time."""

    def planned(
        self,
        trials: int,
        *,
        finished: int,
        left_s: float | None,
        at_most: bool = False,
        blocks: int | None = None,
    ) -> None:
        """Handle the number of trials, of finished trials, and the time that the others will take.

        ``at_most``: a search may need fewer; ``blocks``: the number of blocks, if each has several trials.
        ``added`` trials are in addition to these.
        """

    def cooling_down(self, reason: str) -> None:
        """Handle the reason for a wait between two trials."""

    def trial_begins(self, plan: TrialPlan) -> None:
        """Handle the trial that begins."""

    def trial_ends(self, trial: Trial, *, left_s: float | None) -> None:
        """Handle the end of a trial, and the time that the others will take; None if unknown."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of a run."""

    experiment: str
    """Name of the experiment, which is that of its verb."""
    trials: tuple[Trial, ...]
    whole: bool
    """Whether every planned trial was run."""
    run: Run | None
    """None when the run was not kept."""

    @property
    def anything(self) -> bool:
        """Whether there is at least one trial that has figures."""
        return any(map(definition_of(self.experiment).judging.found, self.trials))


def measure(
    run: PendingRun,
    observer: RunObserver,
    stop: Interruption,
    *,
    fetcher: Subject | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Build the subjects, test their claims, run the missing trials, and keep each trial as soon as it ends.

    Must be called in the main thread. This function closes the run; after an error the run's context does: finished
    trials are on disk, in a run marked ``partial``. ``Interrupted`` is raised only before the first trial begins.

    ``fetcher`` measures the web's ceiling once in a run, before all other trials; if it is None, or no subject has
    a build, the ceiling is not measured.
    """
    place = run.place
    builds = _proven_builds(run, observer, stop)
    observer.built(builds)
    run.settle(builds)
    measurable = any(outcome.build for outcome in builds.values())
    asking = build_subjects([fetcher], place.cache) if fetcher and measurable and not run.live else {}
    companions = restored_companions(run.experiment.settings())
    built_companions = build_subjects(companions, place.cache, tell=observer.build, stop=lambda: stop.requested)
    keeper = None if run.folder is None else ArtifactKeeper(run.folder, place.artifacts)
    executor = LocalExecutor(
        *(
            place.engine,
            place.pinning,
            stop,
            observer,
            {**asking, **builds},
            built_companions,
            run.urls.file if run.urls else None,
        ),
        keep_stopped=run.write_if_stopped is not None,
        keep_truth=keeper.truth if keeper else lambda _: None,
    )
    runner = TrialRunner(executor, definition_of(run.experiment.name).judging, keeper)
    first = _asks_ceiling(run, asking, runner)
    coming = [*first, *run.plan.left(run.trials)]
    forecast = _forecast(run, executor, clock)
    first_s = total_s(first, forecast.expected_s)
    left_s = run.plan.left_s(run.trials, forecast.expected_s)
    observer.planned(
        len(run.trials) + len(run.plan.left(run.trials)),
        finished=len(run.trials),
        left_s=None if first_s is None or left_s is None else first_s + left_s,
        at_most=run.plan.open,
        blocks=_blocks_of_several(run.plan),
    )
    cool_down = _cool_down(place.pinning, observer, stop, coming) if len(coming) > 1 else None

    def keep(judged: JudgedTrial) -> None:
        run.keep(judged)
        trial = judged.trial
        of_plan = () if trial.purpose is Purpose.CEILING else (trial,)
        forecast.ended((trial.subject, trial.condition, trial.concurrency))
        observer.trial_ends(trial, left_s=run.plan.left_s([*run.trials, *of_plan], forecast.expected_s))

    # The trial that measures the web's ceiling comes first, and is not in the plan.
    whole = all(
        run_trials(
            *(plan, there, runner.run, observer.trial_begins, keep),
            stop=lambda: stop.requested,
            cool_down=cool_down,
        )
        for plan, there in ((ListedPlan(first), []), (run.plan, run.trials))
    )
    kept = run.close(whole=whole)
    trials = tuple(sorted(run.trials, key=lambda trial: trial.trial))
    return Measured(run.experiment.name, trials, whole, kept)


@dataclass(slots=True)
class TrialRunner:
    """Runner of the trials of a run: executes them one by one, and judges each once."""

    executor: LocalExecutor
    judging: Judging
    """Trials of each kind of subject, and the rules of validity of the experiment."""
    keeper: ArtifactKeeper | None = None
    """Keeper of the trials' artifacts; None: they are not kept."""
    ceiling: Ceiling | None = None
    """Highest rate that the fetcher got from the web of this run."""

    def run(self, planned: TrialPlan, pause: Pause | None = None) -> JudgedTrial:
        """Execute a trial and judge it; ``pause`` is the cool-down before it."""
        kind = self.judging.trials[planned.subject.kind]
        before = read_processes()
        left = self.executor.execute(planned, kind)
        with nullcontext() if isinstance(left, NotRun) else left:
            circumstances = Circumstances(
                cool_down_ns=pause.waited_ns if pause else None,
                cool_down_reason=pause.reason if pause else None,
                other_programs=busiest(before, read_processes(), own=os.getpid()),
                ceiling=self.ceiling,
            )
            judged = judge_trial(planned, left, kind, circumstances, rules=self.judging.rules)
            if self.keeper and not isinstance(left, NotRun):
                # Artifacts are written before the record, so that every recorded trial has them.
                self.keeper.keep(planned, left, circumstances, judged.trial)
        if planned.purpose is Purpose.CEILING:
            self.learn(judged.trial, planned.condition)
        return judged

    def learn(self, trial: Trial, condition: Condition) -> None:
        """Learn the ceiling from the trial that measured it."""
        planned = self.executor.planned_time(condition)
        per_s = planned and condition.concurrency and planned.per_s(condition.concurrency)
        self.ceiling = ceiling_of(trial, self.judging.rules, planned_per_s=per_s or None)


def foreseen_s(run: PendingRun, stop: Interruption) -> float | None:
    """Return the seconds that the trials of a run will take if all subjects can be built; None if unknown."""
    executor = LocalExecutor(run.place.engine, run.place.pinning, stop, urls=run.urls.file if run.urls else None)
    return run.plan.left_s(run.trials, _forecast(run, executor, time.monotonic).expected_s)


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
    """Run the missing trials of a plan, one after the other; return False when stopped.

    Each finished trial is given to ``keep`` and added to ``trials``; ``cool_down`` waits between two trials.
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
    """Build the subjects that support the conditions, and probe their claims; give the others a reason instead."""
    place = run.place
    refused = clients_without_version(run.subjects, run.experiment.conditions())
    asked = [subject for subject in run.subjects if subject.id not in refused]
    built = build_subjects(asked, place.cache, tell=observer.build, stop=lambda: stop.requested)
    proven = prove_all(built, place.engine, place.pinning, stop, tell=observer.probing)
    return {subject.id: refused.get(subject.id) or proven[subject.id] for subject in run.subjects}


def _asks_ceiling(run: PendingRun, asking: Mapping[str, BuildOutcome], runner: TrialRunner) -> tuple[TrialPlan, ...]:
    """Plan the trial that measures the web's ceiling; empty if it was measured or there is no fetcher."""
    fetchers = [outcome.subject for outcome in asking.values() if outcome.build]
    if not fetchers:
        return ()
    condition = run.experiment.conditions()[0]
    planned = runner.executor.planned_time(condition)
    plan = ceiling_plan(fetchers[0], condition, run.subjects, urls=planned.urls if planned else 0)
    if run.ceiling is None:
        # Trials made without the ceiling are not comparable with trials made with it.
        return () if run.trials else (plan,)
    runner.learn(run.ceiling, plan.condition)
    return ()


def _forecast(run: PendingRun, executor: LocalExecutor, clock: Callable[[], float]) -> Forecast:
    earlier_s = earlier_durations(run.folder.parent, run.manifest) if run.folder and run.manifest else {}

    def guess_without_earlier_s(planned: TrialPlan) -> float | None:
        condition = planned.condition
        outcome = executor.builds.get(planned.subject.id)
        if outcome is not None and outcome.build is None:
            return 0.0
        if condition.foreseen_s is not None:
            return condition.foreseen_s + OVERHEAD_S
        if run.plan.open:
            # The list of a search is longer than that of any of its trials.
            return condition.deadline_s + OVERHEAD_S
        time_in_web = executor.planned_time(condition)
        return None if time_in_web is None else guess_s(planned, time_in_web)

    return Forecast(earlier_s, guess_without_earlier_s, clock)


def _cool_down(pinning: Pinning, observer: RunObserver, stop: Interruption, coming: Sequence[TrialPlan]) -> CoolDown:
    """Return the cool-down between trials: at most a quarter of a trial's duration, if that is known."""
    foreseen = [plan.condition.foreseen_s for plan in coming]
    usual_s = median([seconds for seconds in foreseen if seconds is not None])
    longest_s = LONGEST_S if usual_s is None or None in foreseen else min(LONGEST_S, usual_s / _COOLED_BY)
    cpus = pinning.cpus(os.sched_getaffinity(0))
    return CoolDown(
        lambda: take_snapshot(cpus), longest_s=longest_s, stop=lambda: stop.requested, tell=observer.cooling_down
    )
