"""Which trials a run consists of: a list that is fixed before the first of them, or a search that goes by results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from httpdyno.experiments.schedule import shuffled
from httpdyno.model import Condition, Subject, Trial, TrialPlan

__all__ = ["ListedPlan", "NextTrial", "Plan", "RepeatingPlan", "SearchPlan"]


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
        """Return the next trial after those that are there; None when they are all."""

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the trials that are to come; of a search as many like its first condition as there may be."""

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Find a finished trial that the plan does not have; None when it has them all."""


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
        """Return the first one that is not there yet."""
        return next(iter(self.left(seen)), None)

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return those that are not there yet."""
        there = {trial.trial for trial in seen}
        return [plan for plan in self.trials if plan.number not in there]

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Find one that the list does not have, or has in another place."""
        planned = {plan.number: _identity(plan) for plan in self.trials}
        return next((trial for trial in finished if planned.get(trial.trial) != _recorded(trial)), None)


@dataclass(frozen=True, slots=True)
class RepeatingPlan:
    """Trials that were fixed before the first one, and after them those that were spoiled, once more.

    Who lacks a trial that counts runs again, in blocks of those who do, until nobody does or half as many trials as
    were planned have been added.
    """

    listed: ListedPlan
    spoiled: Callable[[Trial], bool]
    seed: int = 1
    """Decides the order within each block."""
    open: bool = field(default=False, init=False)

    @property
    def most(self) -> int:
        """How many there are unless some are spoiled."""
        return self.listed.most

    @property
    def settings(self) -> Mapping[str, int]:
        """What is said of the list."""
        return self.listed.settings

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return the first of the list that is not there yet; when they all are, the next that runs again."""
        planned = self.listed.next(seen)
        if planned is not None or not self.listed.trials:
            return planned
        number = len(seen)
        if number - self.most >= self.most // 2:
            return None
        last = self.listed.trials[-1].block
        block = max(last + 1, *(trial.block for trial in seen))
        return self._again(seen, block, number) or self._again(seen, block + 1, number)

    def _again(self, seen: Sequence[Trial], block: int, number: int) -> TrialPlan | None:
        there = [trial.subject for trial in seen if trial.block == block]
        # Whoever runs in a block was chosen before it began: what becomes of others in it changes nothing.
        before = [trial for trial in seen if trial.block < block]
        first = {plan.subject.id: plan for plan in reversed(self.listed.trials)}
        lacking = [plan.subject for plan in first.values() if self._lacks(plan.subject, before)]
        for subject in shuffled(lacking, block, self.seed):
            if subject.id not in there:
                why = "again: one was disturbed"
                return TrialPlan(number, block, len(there), subject, first[subject.id].condition, why)
        return None

    def _lacks(self, subject: Subject, seen: Sequence[Trial]) -> bool:
        planned = sum(plan.subject.id == subject.id for plan in self.listed.trials)
        own = [trial for trial in seen if trial.subject == subject.id]
        spoiled = sum(map(self.spoiled, own))
        return spoiled > 0 and len(own) - spoiled < planned

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return those of the list that are not there yet; nobody knows how many will be spoiled."""
        return self.listed.left(seen)

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Find one that the list does not have, or that would not be made again after those before it."""
        ordered = sorted(finished, key=lambda trial: trial.trial)
        listed, again = ordered[: self.most], ordered[self.most :]
        found = self.listed.unplanned(listed)
        if found is not None:
            return found
        for place, trial in enumerate(again):
            plan = self.next([*listed, *again[:place]])
            if plan is None or plan.number != trial.trial or _identity(plan) != _recorded(trial):
                return trial
        return None


@dataclass(frozen=True, slots=True)
class NextTrial:
    """What a search tries next, and why."""

    condition: Condition
    why: str


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Trials each of which depends on those of its subject before it; several subjects take turns, in rounds."""

    subjects: tuple[Subject, ...]
    begins_with: Condition
    """A condition like those that will be tried, to guess how long one of them takes."""
    most: int
    choose: Callable[[Subject, Sequence[Trial]], NextTrial | None]
    """Chooses for a subject from its own trials that are there, in the order of their numbers."""
    seed: int = 1
    """Decides the order within each round."""
    open: bool = field(default=True, init=False)

    @property
    def settings(self) -> Mapping[str, int]:
        """Nothing: all of it follows from the experiment."""
        return {}

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Let the search of the next subject choose. A round is a block: whoever has come to its end is left out."""
        number = len(seen)
        if number >= self.most:
            return None
        block = seen[-1].block if seen else 0
        gone = {trial.subject for trial in seen if trial.block == block}
        waiting = [subject for subject in self.subjects if subject.id not in gone]
        return self._first(waiting, seen, block, len(gone)) or self._first(self.subjects, seen, block + 1, 0)

    def _first(self, subjects: Iterable[Subject], seen: Sequence[Trial], block: int, position: int) -> TrialPlan | None:
        for subject in shuffled(subjects, block, self.seed):
            chosen = self.choose(subject, [trial for trial in seen if trial.subject == subject.id])
            if chosen is not None:
                return TrialPlan(len(seen), block, position, subject, chosen.condition, chosen.why)
        return None

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return as many trials as there may still be; nobody knows under which conditions."""
        numbers = range(len(seen), self.most)
        among = len(self.subjects)
        return [
            TrialPlan(number, number // among, number % among, self.subjects[number % among], self.begins_with)
            for number in numbers
        ]

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
