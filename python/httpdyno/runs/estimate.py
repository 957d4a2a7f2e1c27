"""How long trials will take: from trials like them that are over, else from what the web has planned."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from httpdyno.model import TrialPlan
from httpdyno.stats import median

__all__ = ["Forecast", "Key", "key_of", "time_left_s"]

Key = tuple[str, str, int]
"""Trials that take about as long as each other: subject, condition, concurrency."""


def key_of(plan: TrialPlan) -> Key:
    """Return which trials take about as long as this one."""
    return plan.subject.id, plan.condition.name, plan.concurrency


def time_left_s(
    plans: Iterable[TrialPlan],
    *,
    measured_s: Mapping[Key, Sequence[float]],
    earlier_s: Mapping[Key, float],
    guess: Callable[[TrialPlan], float | None],
) -> float | None:
    """Add up how many seconds trials will take; None when there is one that nobody can say anything of.

    ``measured_s`` is of this run, from the end of the trial before; ``earlier_s`` is of an earlier run. ``guess`` is
    asked about trials of which neither knows.
    """
    total = 0.0
    for plan in plans:
        known = median(measured_s.get(key_of(plan), ()))
        if known is None:
            known = earlier_s.get(key_of(plan))
        if known is None:
            known = guess(plan)
        if known is None:
            return None
        total += known
    return total


class Forecast:
    """Forecast of how long the rest of a run takes, which learns from each trial that ends."""

    def __init__(
        self,
        plans: Sequence[TrialPlan],
        earlier_s: Mapping[Key, float],
        guess: Callable[[TrialPlan], float | None],
        clock: Callable[[], float],
    ) -> None:
        """Begin now, with the trials that are to come; ``clock`` returns seconds, and never jumps."""
        self._plans = plans
        self._earlier_s = earlier_s
        self._guess = guess
        self._clock = clock
        self._measured_s: dict[Key, list[float]] = {}
        self._last_s = clock()

    def ended(self, key: Key, coming: Sequence[TrialPlan]) -> None:
        """Note that a trial has ended now, and which trials are still to come."""
        now_s = self._clock()
        self._measured_s.setdefault(key, []).append(now_s - self._last_s)
        self._last_s = now_s
        self._plans = coming

    def left_s(self) -> float | None:
        """Return how long the trials take that have not ended yet; None when nobody can."""
        return time_left_s(self._plans, measured_s=self._measured_s, earlier_s=self._earlier_s, guess=self._guess)
