"""Which trials a run consists of: a list that is fixed before the first of them, or a search that goes by results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from httpdyno.model import Condition, Subject, Trial, TrialPlan

__all__ = ["ListedPlan", "NextTrial", "Plan", "SearchPlan", "following"]


class Plan(Protocol):
    """The trials of a run, one after the other. What comes next follows from what is there and from nothing else."""

    @property
    def most(self) -> int:
        """How many trials there are at most."""

    @property
    def open(self) -> bool:
        """Whether there may be fewer."""

    @property
    def settings(self) -> Mapping[str, int]:
        """What a manifest says of it beside the settings of the experiment."""

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Give the next trial after those that are there; None when they are all."""

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Give the trials that are to come; of a search as many like its first condition as there may be."""

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Find a finished trial that the plan does not have; None when it has them all."""


def following(plan: Plan, seen: Sequence[Trial]) -> Iterator[TrialPlan]:
    """Give one trial after the other; ``seen`` grows meanwhile, by each of them before the next is asked for."""
    while (next_trial := plan.next(seen)) is not None:
        yield next_trial


@dataclass(frozen=True, slots=True)
class ListedPlan:
    """Trials that were all fixed before the first one."""

    trials: tuple[TrialPlan, ...]
    settings: Mapping[str, int] = field(default_factory=dict)
    open: bool = field(default=False, init=False)

    @property
    def most(self) -> int:
        """How many there are."""
        return len(self.trials)

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Give the first one that is not there yet."""
        return next(iter(self.left(seen)), None)

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Give those that are not there yet."""
        there = {trial.trial for trial in seen}
        return [plan for plan in self.trials if plan.number not in there]

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Find one that the list does not have, or has in another place."""
        planned = {plan.number: _identity(plan) for plan in self.trials}
        return next((trial for trial in finished if planned.get(trial.trial) != _recorded(trial)), None)


@dataclass(frozen=True, slots=True)
class NextTrial:
    """What a search tries next, and why."""

    condition: Condition
    why: str


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Trials of one subject, each of which depends on those before it."""

    subject: Subject
    begins_with: Condition
    """A condition like those that will be tried, to guess how long one of them takes."""
    most: int
    choose: Callable[[Sequence[Trial]], NextTrial | None]
    """Chooses from the trials that are there, in the order of their numbers."""
    open: bool = field(default=True, init=False)

    @property
    def settings(self) -> Mapping[str, int]:
        """Nothing: all of it follows from the experiment."""
        return {}

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Let the search choose; each trial is a block of its own, as the next one is made at another time."""
        number = len(seen)
        chosen = self.choose(seen) if number < self.most else None
        return TrialPlan(number, number, 0, self.subject, chosen.condition, chosen.why) if chosen else None

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Give as many trials as there may still be; nobody knows under which conditions."""
        numbers = range(len(seen), self.most)
        return [TrialPlan(number, number, 0, self.subject, self.begins_with) for number in numbers]

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Search again, and find a trial that would not be made after those before it."""
        ordered = sorted(finished, key=lambda trial: trial.trial)
        for number, trial in enumerate(ordered):
            plan = self.next(ordered[:number])
            if plan is None or plan.number != trial.trial or _identity(plan) != _recorded(trial):
                return trial
        return None


def _identity(plan: TrialPlan) -> tuple[int, int, str, str]:
    return plan.block, plan.position, plan.subject.id, plan.condition.name


def _recorded(trial: Trial) -> tuple[int, int, str, str]:
    return trial.block, trial.position, trial.subject, trial.condition
