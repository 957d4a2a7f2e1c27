"""Running a plan, with an executor that makes results up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.experiments.plan import ListedPlan, schedule
from httpdyno.judge import Circumstances, JudgedTrial, trial_not_run
from httpdyno.lab.cool_down import Pause
from httpdyno.model import Condition, Outcome, Subject, SubjectKind, Trial, TrialPlan, Workload
from httpdyno.runs.run import run_trials

SUBJECTS = [
    Subject(id=name, kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",))
    for name in ("one", "two")
]
PLANS = schedule(SUBJECTS, [Condition("crawl", "plain", Workload(()))], repeat=3, seed=1)
PLAN = ListedPlan(PLANS)


class Pretender:
    def __init__(
        self, error_at: int | None = None, error: type[Exception] = Interrupted, unavailable: str | None = None
    ) -> None:
        self.error_at = error_at
        self.error = error
        self.unavailable = unavailable

    def run(self, plan: TrialPlan, pause: Pause | None = None) -> JudgedTrial:
        if plan.number == self.error_at:
            raise self.error("that was it")
        outcome = Outcome.UNAVAILABLE if plan.subject.id == self.unavailable else Outcome.OK
        circumstances = (
            Circumstances(cool_down_ns=pause.waited_ns, cool_down_reason=pause.reason) if pause else Circumstances()
        )
        return JudgedTrial(trial_not_run(plan, outcome, None, circumstances), pl.DataFrame())


def test_trials_run_in_the_order_of_the_plan_and_are_kept_at_once() -> None:
    story: list[str] = []
    trials: list[Trial] = []
    whole = run_trials(
        PLAN,
        trials,
        Pretender().run,
        begins=lambda plan: story.append(f"begin {plan.number}"),
        keep=lambda judged: story.append(f"keep {judged.trial.trial}"),
        stop=lambda: False,
    )
    assert whole
    assert [trial.subject for trial in trials] == [plan.subject.id for plan in PLANS]
    assert story == [word for plan in PLANS for word in (f"begin {plan.number}", f"keep {plan.number}")]


def test_an_interruption_keeps_what_is_finished() -> None:
    kept: list[int] = []
    trials: list[Trial] = []
    whole = run_trials(
        PLAN,
        trials,
        Pretender(error_at=4).run,
        begins=lambda _: None,
        keep=lambda judged: kept.append(judged.trial.trial),
        stop=lambda: False,
    )
    assert not whole
    assert kept == [0, 1, 2, 3] == [trial.trial for trial in trials]


def test_a_wish_to_stop_between_trials_begins_no_further_one() -> None:
    begun: list[int] = []
    trials: list[Trial] = []
    whole = run_trials(
        PLAN,
        trials,
        Pretender().run,
        begins=lambda plan: begun.append(plan.number),
        keep=lambda _: None,
        stop=lambda: len(begun) == 2,
    )
    assert (len(trials), whole, begun) == (2, False, [0, 1])


@given(st.lists(st.integers(0, 6), max_size=8))
def test_however_often_a_run_is_interrupted_each_trial_is_measured_once_and_in_the_same_order(cuts: list[int]) -> None:
    measured: list[Trial] = []
    for begun_before_the_cut in [*cuts, None]:
        pending = PLAN.left(measured)
        error_at = None
        if begun_before_the_cut is not None and begun_before_the_cut < len(pending):
            error_at = pending[begun_before_the_cut].number
        run_trials(
            PLAN,
            measured,
            Pretender(error_at=error_at).run,
            begins=lambda _: None,
            keep=lambda _: None,
            stop=lambda: False,
        )
    uninterrupted: list[Trial] = []
    run_trials(PLAN, uninterrupted, Pretender().run, begins=lambda _: None, keep=lambda _: None, stop=lambda: False)
    assert measured == uninterrupted


def test_an_engine_that_fails_is_not_swallowed() -> None:
    kept: list[int] = []
    with pytest.raises(EngineFailed):
        run_trials(
            PLAN,
            [],
            Pretender(error_at=1, error=EngineFailed).run,
            begins=lambda _: None,
            keep=lambda judged: kept.append(judged.trial.trial),
            stop=lambda: False,
        )
    assert kept == [0]


class Watchman:
    """Records its calls, and always waits."""

    def __init__(self) -> None:
        self.story: list[str] = []
        self.left = False

    def before_trial(self) -> Pause | None:
        self.story.append("wait" if self.left else "look")
        return Pause(len(self.story), "CPU 0 was 50% busy") if self.left else None

    def after_trial(self, *, ran: bool) -> None:
        self.left = ran


def carried_out(watchman: Any, pretender: Pretender, stop: Callable[[], bool] = lambda: False) -> list[JudgedTrial]:
    kept: list[JudgedTrial] = []
    run_trials(
        PLAN,
        [],
        pretender.run,
        begins=lambda plan: watchman.story.append(f"begin {plan.number}"),
        keep=kept.append,
        stop=stop,
        cool_down=watchman,
    )
    return kept


def test_the_machine_is_looked_at_first_and_left_to_cool_down_after_each_trial() -> None:
    watchman = Watchman()
    first, second, *_ = carried_out(watchman, Pretender())
    assert watchman.story == ["look", "begin 0", *[word for n in range(1, 6) for word in ("wait", f"begin {n}")]]
    assert (first.trial.cool_down_ns, first.trial.cool_down_reason) == (None, None)
    assert (second.trial.cool_down_ns, second.trial.cool_down_reason) == (3, "CPU 0 was 50% busy")


def test_a_trial_that_could_not_run_leaves_nothing_behind() -> None:
    watchman = Watchman()
    trials = [judged.trial for judged in carried_out(watchman, Pretender(unavailable="one"))]
    after_ran = [former.outcome is Outcome.OK for former in trials[:-1]]
    assert [trial.cool_down_ns is not None for trial in trials] == [False, *after_ran]


def test_a_wish_to_stop_during_the_cool_down_begins_no_further_trial() -> None:
    watchman = Watchman()
    kept = carried_out(watchman, Pretender(), stop=lambda: "wait" in watchman.story)
    assert len(kept) == 1
    assert watchman.story == ["look", "begin 0", "wait"]
