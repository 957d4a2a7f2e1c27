"""Carries out a plan: trial after trial, each kept as soon as it is there, until the end or an interruption."""

from collections.abc import Callable, Sequence

from httpdyno.errors import Interrupted
from httpdyno.judge import JudgedTrial
from httpdyno.lab.executor import Executor
from httpdyno.model import Trial, TrialPlan

__all__ = ["carry_out"]


def carry_out(
    plans: Sequence[TrialPlan],
    executor: Executor,
    *,
    begins: Callable[[TrialPlan], None],
    ends: Callable[[JudgedTrial], None],
    stop: Callable[[], bool],
) -> tuple[list[Trial], bool]:
    """Run the trials of a plan in its order.

    Parameters
    ----------
    plans : sequence of TrialPlan
        What is run.
    executor : Executor
        Who runs it.
    begins, ends : callable
        Told about each trial; ``ends`` keeps it.
    stop : callable
        Asked before each trial.

    Returns
    -------
    tuple of (trials, whole)
        The finished trials, and whether they are all.
    """
    trials: list[Trial] = []
    for plan in plans:
        if stop():
            return trials, False
        begins(plan)
        try:
            judged = executor.run(plan)
        except Interrupted:
            return trials, False
        ends(judged)
        trials.append(judged.trial)
    return trials, True
