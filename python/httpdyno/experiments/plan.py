"""The order of the trials of a run: random blocks, repeats of disturbed trials, and searches."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import mean, median
from typing import Final, Protocol

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, Outcome, Subject, Trial, TrialPlan
from httpdyno.stats import FEWEST_BLOCKS

_MANY: Final = 5
"""Subjects from which more blocks are the default: more pairs need more trials, because of Holm's correction."""


def usual_repeat(subjects: int, *, quick: bool = False) -> int:
    """Return the default number of blocks: more for many subjects, one if quick."""
    return 1 if quick else 7 if subjects > _MANY else 5


def schedule(
    subjects: Sequence[Subject],
    conditions: Iterable[Condition],
    *,
    repeat: int,
    seed: int,
    able_to: Callable[[Subject, Condition], bool] = lambda *_: True,
) -> tuple[TrialPlan, ...]:
    """Interleave the trials of all subjects. Subjects skip the conditions that they are not ``able_to`` run.

    Drift of the machine (heat, neighbours) then affects all subjects alike, because the trials of a block run within
    minutes. Trials are numbered from 0 in the order in which they run. ``seed`` decides the order within each block,
    which is the same on every machine.
    """
    if repeat < 1:
        raise InvalidValue(f"repeat must be 1 or more, not {repeat}")
    grid = list(conditions)
    plans: list[TrialPlan] = []
    for block, condition in enumerate(grid * repeat):
        able = [subject for subject in shuffled(subjects, block, seed) if able_to(subject, condition)]
        for position, subject in enumerate(able):
            plans.append(TrialPlan(len(plans), block, position, subject, condition))
    return tuple(plans)


def shuffled(subjects: Iterable[Subject], block: int, seed: int) -> list[Subject]:
    """Return the order of subjects within a block: the same on every machine, for any order of ``subjects``."""
    # Sorted by a hash, because the sequence of `random` may differ between versions of Python.
    return sorted(subjects, key=lambda subject: hashlib.sha256(f"{seed}/{block}/{subject.id}".encode()).digest())


ExpectedTime = Callable[[TrialPlan], float | None]
"""Estimate the seconds of a trial; None: unknown."""

_REPEATS: Final = 2
"""Number of immediate repeats of a disturbed trial: a disturbance that outlasts three trials may outlast a fourth."""
_LASTING: Final = 6
"""Consecutive disturbed trials that show a lasting disturbance: two subjects, each repeated twice in vain."""


class Plan(Protocol):
    """The trials of a run in sequence. The next trial depends only on the existing trials."""

    @property
    def most(self) -> int:
        """Largest number of trials."""

    @property
    def open(self) -> bool:
        """Whether the plan may end with fewer trials."""
        return False

    @property
    def settings(self) -> Mapping[str, int]:
        """Settings of the plan for the manifest, in addition to those of the experiment."""
        return {}

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return the trial after the existing ones; None if all exist."""

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the remaining trials; for a search, the largest possible number, with its first condition."""

    def left_s(self, seen: Sequence[Trial], expected_s: ExpectedTime) -> float | None:
        """Return the seconds of the remaining trials; None if one is unknown."""
        return total_s(self.left(seen), expected_s)

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Return the first finished trial that the plan would not make after those before it; None if there is none."""
        ordered = sorted(finished, key=lambda trial: trial.trial)
        for number, trial in enumerate(ordered):
            planned = self.next(ordered[:number])
            if planned is None or planned.number != trial.trial or not _is_planned(trial, planned):
                return trial
        return None


@dataclass(frozen=True, slots=True)
class ListedPlan(Plan):
    """Trials that are all fixed before the first one."""

    trials: tuple[TrialPlan, ...]
    settings: Mapping[str, int] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """Number of trials."""
        return len(self.trials)

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return the first missing trial."""
        return next(iter(self.left(seen)), None)

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the missing trials."""
        there = {trial.trial for trial in seen}
        return [plan for plan in self.trials if plan.number not in there]

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Return the first trial that the list does not have, or has in another place; None if there is none."""
        planned = {plan.number: plan for plan in self.trials}
        return next((one for one in finished if not _is_planned(one, planned.get(one.trial))), None)


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Time budget of the listed blocks of a plan."""

    limit_s: float
    took_s: Callable[[Trial], float]
    """Seconds from the start of a trial to the start of the next."""

    def took(self, trials: Sequence[Trial]) -> dict[str, list[float]]:
        """Return the durations of the trials of each subject, in seconds."""
        by_subject: dict[str, list[float]] = {}
        for trial in trials:
            by_subject.setdefault(trial.subject, []).append(self.took_s(trial))
        return by_subject


@dataclass(frozen=True, slots=True)
class RepeatingPlan(ListedPlan):
    """Listed blocks of trials of one condition, each subject once in each, and repeats of the disturbed trials.

    A disturbed trial is repeated at once in its own block, up to twice, so that it stays within minutes of the trials
    with which it is compared. The repeat takes the next position of the block, and later trials move back. After six
    consecutive disturbed trials, none is repeated at once until one is undisturbed: the disturbance lasts, and repeats
    would use the time of later blocks.

    After the list, one closing block runs if a subject lacks an undisturbed trial in some block. Two subjects are
    compared over the blocks that both have, so the closing block contains these subjects and every other subject with a
    figure. Its trials are not repeated.

    All added trials together are at most half as many as the list has. If the closing block would need more, it
    contains the subjects with missing trials, those that lack the most blocks first. Then it adds the subjects whose
    median so far is nearest to one of theirs in the order of all medians, because these pairs are hardest to
    distinguish. A subject that would run alone is not repeated, because there is nothing to compare it with.

    A plan with a time budget leaves out the last blocks of the list if slow or repeated trials would make them end
    after the budget. It never leaves out one of the first three. A closing block that would end after the budget runs
    only for subjects with fewer than three undisturbed blocks. While a disturbance lasts, there is no closing block.
    """

    disturbed: Callable[[Trial], bool] = field(kw_only=True)
    figure: Callable[[Trial], float | None] = field(kw_only=True)
    """Return the figure by which subjects are ranked; None if a trial has none."""
    seed: int = 1
    """Seed of the order within the closing block."""
    budget: TimeBudget | None = None
    """None: all blocks of the list run."""

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return a repeat of the last trial if it was disturbed, else the next of the list or of the closing block."""
        ordered = sorted(seen, key=lambda trial: trial.trial)
        return self._repeat(ordered) or next(self._coming(ordered), None) or self._closing(ordered)

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Return the first trial that this plan would not make after those before it; None if all fit."""
        return Plan.unplanned(self, finished)

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the trials of the list that are still to come, without any repeats."""
        return list(self._coming(seen))

    def left_s(self, seen: Sequence[Trial], expected_s: ExpectedTime) -> float | None:
        """Return the seconds of those trials; blocks after the third fit into the budget."""
        coming = self.left(seen)
        whole_s = total_s(coming, expected_s)
        if self.budget is None or whole_s is None:
            return whole_s
        first = list(dict.fromkeys(plan.block for plan in self.trials))[:FEWEST_BLOCKS]
        kept = {*first, *(trial.block for trial in seen)}
        kept_s = total_s([plan for plan in coming if plan.block in kept], expected_s) or 0.0
        spent_s = sum(map(sum, self.budget.took(seen).values()))
        return max(kept_s, min(whole_s, self.budget.limit_s - spent_s))

    def _coming(self, seen: Sequence[Trial]) -> Iterator[TrialPlan]:
        done = {(trial.block, trial.subject) for trial in seen}
        positions = Counter(trial.block for trial in seen)
        number = len(seen)
        for plan in self._in_time(seen):
            if (plan.block, plan.subject.id) not in done:
                yield replace(plan, number=number, position=positions[plan.block])
                number += 1
                positions[plan.block] += 1

    def _in_time(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the list without the blocks that have not begun and would end after the budget."""
        listed = self.trials
        took = self.budget.took(seen) if self.budget else {}
        if self.budget is None or any(plan.subject.id not in took for plan in listed):
            return listed
        begun = {trial.block for trial in seen}
        done = {(trial.block, trial.subject) for trial in seen}
        closing = listed[-1].block + 1 in begun
        end_s = sum(map(sum, took.values()))
        kept: list[TrialPlan] = []
        for number, (block, of) in enumerate(groupby(listed, key=lambda plan: plan.block)):
            plans = list(of)
            end_s += sum(mean(took[one.subject.id]) for one in plans if (block, one.subject.id) not in done)
            if block not in begun and (closing or (number >= FEWEST_BLOCKS and end_s > self.budget.limit_s)):
                break
            kept += plans
        return kept

    def _repeat(self, seen: Sequence[Trial]) -> TrialPlan | None:
        places = Counter((trial.block, trial.subject) for trial in seen)
        if not seen or len(seen) - len(places) >= self.most // 2:
            return None
        last = seen[-1]
        place = last.block, last.subject
        own = [plan for plan in self.trials if (plan.block, plan.subject.id) == place]
        if not own or places[place] > _REPEATS or self._lasting(seen) or not self.disturbed(last):
            return None
        return self._added(seen, last.block, own[0].subject, "again, because other programs disturbed it")

    def _lasting(self, seen: Sequence[Trial]) -> bool:
        return len(seen) >= _LASTING and all(map(self.disturbed, seen[-_LASTING:]))

    def _closing(self, seen: Sequence[Trial]) -> TrialPlan | None:
        if not self.trials:
            return None
        block = self.trials[-1].block + 1
        before = [trial for trial in seen if trial.block < block]
        # Decided by the trials before the block, so that its own trials do not change the choice.
        subjects = shuffled(self._closing_subjects(before), block, self.seed)
        coming = subjects[len(seen) - len(before) :]
        return self._added(seen, block, coming[0], "again, in a closing block") if coming else None

    def _closing_subjects(self, seen: Sequence[Trial]) -> list[Subject]:
        last = {(trial.block, trial.subject): trial for trial in seen}
        lacked = Counter(trial.subject for trial in last.values() if self.disturbed(trial))
        if self._lasting(seen):
            return []
        took = self.budget.took(seen).values() if self.budget else ()
        if self.budget and sum(map(sum, took)) + sum(map(mean, took)) > self.budget.limit_s:
            has = Counter(trial.subject for trial in last.values() if not self.disturbed(trial))
            lacked = Counter({subject: count for subject, count in lacked.items() if has[subject] < FEWEST_BLOCKS})
        place = {subject: number for number, subject in enumerate(self._by_median(seen))}

        def distance(subject: str) -> int:
            return min((abs(place[subject] - place[other]) for other in lacked if other in place), default=0)

        lacking = sorted(lacked, key=lambda subject: (-lacked[subject], subject))
        others = sorted((subject for subject in place if subject not in lacked), key=distance)
        room = self.most // 2 - (len(seen) - len(last))
        chosen = {*[*lacking, *others][: max(room, 0)]} if lacking else set()
        if len(chosen) == 1 and len(place) > 1:
            return []
        subjects = {plan.subject.id: plan.subject for plan in self.trials}
        return [subject for name, subject in subjects.items() if name in chosen]

    def _by_median(self, seen: Sequence[Trial]) -> list[str]:
        figures: dict[str, list[float]] = {}
        for trial in seen:
            if trial.outcome is Outcome.OK and (figure := self.figure(trial)) is not None:
                figures.setdefault(trial.subject, []).append(figure)
        return sorted(figures, key=lambda subject: (median(figures[subject]), subject))

    def _added(self, seen: Sequence[Trial], block: int, subject: Subject, why: str) -> TrialPlan:
        position = sum(trial.block == block for trial in seen)
        condition = self.trials[0].condition
        return TrialPlan(len(seen), block, position, subject, condition, why, added=True)


@dataclass(frozen=True, slots=True)
class NextTrial:
    """The next step of a search, with its reason."""

    condition: Condition
    why: str


@dataclass(frozen=True, slots=True)
class SearchPlan(Plan):
    """Trials that each depend on earlier trials of the same subject; several subjects take turns, in rounds."""

    subjects: tuple[Subject, ...]
    begins_with: Condition
    """A typical condition of the search, to estimate the time of a trial."""
    most: int = field()
    choose: Callable[[Subject, Sequence[Trial]], NextTrial | None]
    """Chooses the next trial of an available subject from its existing trials, in the order of their numbers."""
    seed: int = 1
    """Seed of the order within each round."""

    @property
    def open(self) -> bool:
        """A search may end before its largest number of trials."""
        return True

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Let the search of the next subject choose. A round is a block; finished searches are skipped."""
        number = len(seen)
        if number >= self.most:
            return None
        block = seen[-1].block if seen else 0
        gone = {trial.subject for trial in seen if trial.block == block}
        waiting = [subject for subject in self.subjects if subject.id not in gone]
        return self._first(waiting, seen, block, len(gone)) or self._first(self.subjects, seen, block + 1, 0)

    def _first(self, subjects: Iterable[Subject], seen: Sequence[Trial], block: int, position: int) -> TrialPlan | None:
        for subject in shuffled(subjects, block, self.seed):
            own = [trial for trial in seen if trial.subject == subject.id]
            # An unavailable subject has one trial, with the reason.
            if all(trial.outcome is not Outcome.UNAVAILABLE for trial in own) and (chosen := self.choose(subject, own)):
                return TrialPlan(len(seen), block, position, subject, chosen.condition, chosen.why)
        return None

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the largest number of remaining trials; their conditions are unknown."""
        places = ((number, *divmod(number, len(self.subjects))) for number in range(len(seen), self.most))
        return [
            TrialPlan(number, block, position, self.subjects[position], self.begins_with)
            for number, block, position in places
        ]


def total_s(plans: Iterable[TrialPlan], expected_s: ExpectedTime) -> float | None:
    """Return the total seconds of trials; None if one of them is unknown."""
    total = 0.0
    for plan in plans:
        if (seconds := expected_s(plan)) is None:
            return None
        total += seconds
    return total


def _is_planned(trial: Trial, plan: TrialPlan | None) -> bool:
    return plan is not None and (trial.block, trial.position, trial.subject, trial.condition) == (
        *(plan.block, plan.position, plan.subject.id),
        plan.condition.name,
    )
