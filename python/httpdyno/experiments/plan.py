"""Which trials a run consists of: a list that is fixed before the first of them, or a search that goes by results."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, Protocol

from httpdyno.experiments.schedule import shuffled
from httpdyno.model import Condition, Outcome, Subject, Trial, TrialPlan

__all__ = ["ListedPlan", "NextTrial", "Plan", "RepeatingPlan", "SearchPlan"]

_REPEATS: Final = 2
"""How often a disturbed trial is repeated at once: a disturbance that outlasts three trials may outlast a fourth."""
_WHY_REPEATED: Final = "again, since other programs disturbed it"
_WHY_CLOSING: Final = "again, in a closing block"


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
    """Trials fixed before the first one, and repeats of those that other programs disturbed.

    A disturbed trial is repeated at once in its own block, up to twice, so that it stays within minutes of the trials
    that it is compared with. It takes the next position of the block, and the trials after it move up.

    After the list, one closing block runs when a subject still lacks an undisturbed trial in some block. Two subjects
    are compared by the blocks that both have, so the closing block holds the lacking subjects and every other subject
    that has a figure. Its trials are not repeated.

    All added trials together are at most half as many as the list has. When the closing block needs more, it takes the
    lacking subjects first, those that lack the most blocks before the others, then the subjects whose median figure so
    far stands nearest to that of a lacking subject in the order of all medians: these are the pairs that are hardest to
    tell apart. A subject that would run alone is not repeated: there is nothing to compare it with.
    """

    listed: ListedPlan
    """Its trials have one condition and run in blocks, each subject once in each."""
    disturbed: Callable[[Trial], bool]
    figure: Callable[[Trial], float | None]
    """The figure that subjects are ranked by; None when a trial has none."""
    seed: int = 1
    """Decides the order within the closing block."""
    open: bool = field(default=False, init=False)

    @property
    def most(self) -> int:
        """Number of trials if none is disturbed."""
        return self.listed.most

    @property
    def settings(self) -> Mapping[str, int]:
        """The settings of the list."""
        return self.listed.settings

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return a repeat of the last trial if it was disturbed, else the next of the list or of the closing block."""
        ordered = sorted(seen, key=lambda trial: trial.trial)
        return self._repeat(ordered) or next(self._coming(ordered), None) or self._closing(ordered)

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the trials of the list that are still to come, without any repeats."""
        return list(self._coming(seen))

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Return the first finished trial that the plan would not make after those before it; None if all fit."""
        return _first_unplanned(self, finished)

    def _coming(self, seen: Sequence[Trial]) -> Iterator[TrialPlan]:
        done = {(trial.block, trial.subject) for trial in seen}
        positions = Counter(trial.block for trial in seen)
        number = len(seen)
        for plan in self.listed.trials:
            if (plan.block, plan.subject.id) not in done:
                yield replace(plan, number=number, position=positions[plan.block])
                number += 1
                positions[plan.block] += 1

    def _repeat(self, seen: Sequence[Trial]) -> TrialPlan | None:
        if not seen or not self._may_add(seen):
            return None
        last = seen[-1]
        own = [plan for plan in self.listed.trials if (plan.block, plan.subject.id) == (last.block, last.subject)]
        tried = sum((trial.block, trial.subject) == (last.block, last.subject) for trial in seen)
        if not own or tried > _REPEATS or not self.disturbed(last):
            return None
        return self._added(seen, last.block, own[0].subject, _WHY_REPEATED)

    def _closing(self, seen: Sequence[Trial]) -> TrialPlan | None:
        if not self.listed.trials:
            return None
        block = self.listed.trials[-1].block + 1
        before = [trial for trial in seen if trial.block < block]
        # Chosen before the block began: its own trials change nothing.
        subjects = shuffled(self._closing_subjects(before), block, self.seed)
        coming = subjects[len(seen) - len(before) :]
        return self._added(seen, block, coming[0], _WHY_CLOSING) if coming else None

    def _closing_subjects(self, seen: Sequence[Trial]) -> list[Subject]:
        last = {(trial.block, trial.subject): trial for trial in seen}
        lacked = Counter(trial.subject for trial in last.values() if self.disturbed(trial))
        medians = self._medians(seen)
        order = sorted(medians, key=lambda subject: (medians[subject], subject))
        place = {subject: number for number, subject in enumerate(order)}

        def distance(subject: str) -> int:
            return min(abs(place[subject] - place[other]) for other in lacked if other in place)

        lacking = sorted(lacked, key=lambda subject: (-lacked[subject], subject))
        others = [subject for subject in order if subject not in lacked]
        if any(subject in place for subject in lacking):
            others.sort(key=distance)
        room = self.most // 2 - (len(seen) - self.most)
        chosen = {*[*lacking, *others][: max(room, 0)]} if lacking else set()
        if len(chosen) == 1 and len(place) > 1:
            return []
        subjects = {plan.subject.id: plan.subject for plan in self.listed.trials}
        return [subject for name, subject in subjects.items() if name in chosen]

    def _medians(self, seen: Sequence[Trial]) -> dict[str, float]:
        figures: dict[str, list[float]] = {}
        for trial in seen:
            if trial.outcome is Outcome.OK and (figure := self.figure(trial)) is not None:
                figures.setdefault(trial.subject, []).append(figure)
        return {subject: median(values) for subject, values in figures.items()}

    def _may_add(self, seen: Sequence[Trial]) -> bool:
        from_list = {(trial.block, trial.subject) for trial in seen}
        return len(seen) - len(from_list) < self.most // 2

    def _added(self, seen: Sequence[Trial], block: int, subject: Subject, why: str) -> TrialPlan:
        position = sum(trial.block == block for trial in seen)
        condition = self.listed.trials[0].condition
        return TrialPlan(len(seen), block, position, subject, condition, why, added=True)


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
        """Return the first finished trial that the search would not make after those before it; None if all fit."""
        return _first_unplanned(self, finished)


def _first_unplanned(plan: Plan, finished: Sequence[Trial]) -> Trial | None:
    ordered = sorted(finished, key=lambda trial: trial.trial)
    for number, trial in enumerate(ordered):
        planned = plan.next(ordered[:number])
        if planned is None or planned.number != trial.trial or _identity(planned) != _recorded(trial):
            return trial
    return None


def _identity(plan: TrialPlan) -> tuple[int, int, str, str]:
    return plan.block, plan.position, plan.subject.id, plan.condition.name


def _recorded(trial: Trial) -> tuple[int, int, str, str]:
    return trial.block, trial.position, trial.subject, trial.condition
