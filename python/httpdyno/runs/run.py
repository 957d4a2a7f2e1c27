"""Carries out a plan: trial after trial, each kept as soon as it is there, until the end or an interruption."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from httpdyno.errors import Interrupted
from httpdyno.judge import JudgedTrial
from httpdyno.lab.cool_down import Pause
from httpdyno.lab.executor import Executor
from httpdyno.model import Outcome, Trial, TrialPlan

__all__ = ["CoolDownPolicy", "carry_out"]


class CoolDownPolicy(Protocol):
    """Whoever waits between trials for the machine to be quiet: a ``CoolDown``, or a test double."""

    def learn(self) -> None:
        """Look at the machine before the first trial."""

    def wait(self) -> Pause:
        """Wait for what a trial has left behind to be gone."""


def carry_out(
    plans: Iterable[TrialPlan],
    executor: Executor,
    *,
    begins: Callable[[TrialPlan], None],
    ends: Callable[[JudgedTrial], None],
    stop: Callable[[], bool],
    cool_down: CoolDownPolicy | None = None,
) -> tuple[list[Trial], bool]:
    """Run the trials of a plan in its order.

    Parameters
    ----------
    plans : iterable of TrialPlan
        What is run; the next one is asked for when the one before it has ended.
    executor : Executor
        Who runs it.
    begins, ends : callable
        Told about each trial; ``ends`` keeps it.
    stop : callable
        Asked before each trial.
    cool_down : CoolDownPolicy, optional
        Waits between a trial that ran and the next one.

    Returns
    -------
    tuple of (trials, whole)
        The finished trials, and whether they are all.
    """
    trials: list[Trial] = []
    pauses = _Pauses(cool_down)
    for plan in plans:
        pause = None if stop() else pauses.before_next()
        if stop():
            return trials, False
        begins(plan)
        try:
            judged = executor.run(plan)
        except Interrupted:
            return trials, False
        judged = _with_pause(judged, pause)
        pauses.note(judged.trial)
        ends(judged)
        trials.append(judged.trial)
    return trials, True


class _Pauses:
    """When there is something to wait for: after a trial that ran, not after one that could not."""

    def __init__(self, cool_down: CoolDownPolicy | None) -> None:
        self._cool_down = cool_down
        self._knows = False
        self._left = False

    def before_next(self) -> Pause | None:
        if self._cool_down is None:
            return None
        if not self._knows:
            self._knows = True
            self._cool_down.learn()
        return self._cool_down.wait() if self._left else None

    def note(self, trial: Trial) -> None:
        self._left = trial.outcome is not Outcome.UNAVAILABLE


def _with_pause(judged: JudgedTrial, pause: Pause | None) -> JudgedTrial:
    if pause is None:
        return judged
    return replace(judged, trial=replace(judged.trial, cool_down_ns=pause.waited_ns, cool_down_reason=pause.reason))
