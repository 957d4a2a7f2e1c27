"""How long trials will take: from trials like them that are over, else from what the web has planned."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from httpdyno.lab.planned_time import PlannedTime
from httpdyno.model import SubjectKind, TrialPlan
from httpdyno.stats import median

__all__ = ["OVERHEAD_S", "START_S", "Forecast", "Key", "guess_s", "key_of", "time_left_s"]

OVERHEAD_S: Final = 1.0
"""What a trial takes beside its subject's own time: a room is made, answers are judged, the machine cools down."""

START_S: Final = 1.0
"""What a program takes until its first request: an interpreter a quarter of it, a JVM or a browser more."""
_REQUEST_S: Final = 0.001
"""Libraries take 0.05 ms to 1.5 ms of CPU time for a request: who is unknown is taken for a slow one."""
_CHECKED_S: Final = 0.0025
"""With a document of 16 KB that is parsed: 0.4 ms to 3.5 ms."""
_TOOL_S: Final = 0.0005
"""A load tool parses nothing."""

Key = tuple[str, str, int]
"""Trials that take about as long as each other: subject, condition, concurrency."""


def key_of(plan: TrialPlan) -> Key:
    """Return which trials take about as long as this one."""
    return plan.subject.id, plan.condition.name, plan.concurrency


def guess_s(plan: TrialPlan, planned: PlannedTime) -> float:
    """Guess how long a trial takes from what its web has planned and from what a program needs for itself.

    The last exchange can begin when the others are done, so the longest one is added to the share of each slot: that
    is the most that a list takes which is worked through in its order by who costs no time. What requests take the
    subject itself is added one after the other, since it has a processor to itself, but is done while others wait.

    References
    ----------
    Graham, Bounds for certain multiprocessing anomalies (1966), Bell System Technical Journal 45(9): list scheduling.
    """
    waited_s = planned.total_s + planned.urls * plan.condition.link.round_trip_ns / 1e9
    own_s = planned.urls * _request_s(plan)
    list_s = max((waited_s + own_s) / plan.concurrency, own_s) + planned.longest_s
    return min(START_S + list_s, plan.condition.deadline_s) + OVERHEAD_S


def _request_s(plan: TrialPlan) -> float:
    """Guess what a request takes the subject itself: what it says of itself, else what such ones take."""
    if plan.subject.request_ms is not None:
        return plan.subject.request_ms / 1000
    if plan.subject.kind is SubjectKind.TOOL:
        return _TOOL_S
    return _CHECKED_S if plan.condition.workload.check else _REQUEST_S


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
    """How long the rest of a run will take; learns from each trial that ends."""

    def __init__(
        self,
        plans: Sequence[TrialPlan],
        earlier_s: Mapping[Key, float],
        guess: Callable[[TrialPlan], float | None],
        clock: Callable[[], float],
    ) -> None:
        """Begin now.

        ``plans`` are in the order in which they are run; ``clock`` returns seconds, and never jumps.
        """
        self._plans = deque(plans)
        self._earlier_s = earlier_s
        self._guess = guess
        self._clock = clock
        self._measured_s: dict[Key, list[float]] = {}
        self._last_s = clock()

    def ended(self) -> None:
        """Note that the next trial of the plan has ended now; one that runs again is in nobody's plan."""
        if not self._plans:
            return
        now_s = self._clock()
        key = key_of(self._plans.popleft())
        self._measured_s.setdefault(key, []).append(now_s - self._last_s)
        self._last_s = now_s

    def left_s(self) -> float | None:
        """Return how long the trials take that have not ended yet; None when nobody can."""
        return time_left_s(self._plans, measured_s=self._measured_s, earlier_s=self._earlier_s, guess=self._guess)
