"""How long trials will take: from trials like them that are over, else from what the web has planned."""

from collections.abc import Callable, Mapping

from httpdyno.model import TrialPlan
from httpdyno.stats import median

__all__ = ["Forecast", "Key", "key_of"]

Key = tuple[str, str, int]
"""Trials that take about as long as each other: subject, condition, concurrency."""


def key_of(plan: TrialPlan) -> Key:
    """Return which trials take about as long as this one."""
    return plan.subject.id, plan.condition.name, plan.concurrency


class Forecast:
    """Forecast of how long each trial of a run takes, which learns from the trials that end."""

    def __init__(
        self,
        earlier_s: Mapping[Key, float],
        guess: Callable[[TrialPlan], float | None],
        clock: Callable[[], float],
    ) -> None:
        """Begin now. ``earlier_s`` is of an earlier run; ``clock`` returns seconds, and never jumps.

        ``guess`` is asked about trials of which neither this run nor the earlier one has any.
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
