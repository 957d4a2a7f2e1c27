"""The trials of a run in their order: random blocks, repeats of disturbed trials, and searches that choose them."""

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
"""More pairs to distinguish need more trials: Holm's correction grows with their number."""


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
    """Interleave the trials of all subjects. Subjects skip the conditions that they are not ``able_to`` run under.

    Drift of the machine (heat, neighbours) affects all subjects alike, and the trials of a block run within minutes.
    Trials are numbered from 0 in the order in which they run. ``seed`` decides the order within each block, the same on
    every machine.
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
    """Return the order in which subjects run within a block: the same on every machine, whatever order they come in."""
    # Sorted by a hash instead of drawn from `random`, whose sequence is not promised from one Python to the next.
    return sorted(subjects, key=lambda subject: hashlib.sha256(f"{seed}/{block}/{subject.id}".encode()).digest())


ExpectedTime = Callable[[TrialPlan], float | None]
"""Estimate the seconds of a trial; None: unknown."""

_REPEATS: Final = 2
"""How often a disturbed trial is repeated at once: a disturbance that outlasts three trials may outlast a fourth."""
_LASTING: Final = 6
"""Disturbed trials in a row that show a lasting disturbance: two subjects, each repeated twice in vain."""


class Plan(Protocol):
    """The trials of a run in sequence. The next trial depends only on the existing trials."""

    @property
    def most(self) -> int:
        """Most trials of the plan."""

    @property
    def open(self) -> bool:
        """Whether there may be fewer."""
        return False

    @property
    def settings(self) -> Mapping[str, int]:
        """Settings of the plan for the manifest, in addition to those of the experiment."""
        return {}

    def next(self, seen: Sequence[Trial]) -> TrialPlan | None:
        """Return the trial after the existing ones; None if all exist."""

    def left(self, seen: Sequence[Trial]) -> Sequence[TrialPlan]:
        """Return the remaining trials; for a search, the most there can be, with its first condition."""

    def left_s(self, seen: Sequence[Trial], expected_s: ExpectedTime) -> float | None:
        """Return the seconds of the remaining trials; None if one is unknown."""
        return total_s(self.left(seen), expected_s)

    def unplanned(self, finished: Sequence[Trial]) -> Trial | None:
        """Return the first finished trial that the plan would not make after those before it; None if all fit."""
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
        """Return the first trial that the list does not have, or has in another place; None if all fit."""
        planned = {plan.number: plan for plan in self.trials}
        return next((one for one in finished if not _is_planned(one, planned.get(one.trial))), None)


def listed_blocks(
    subjects: Sequence[Subject],
    conditions: Sequence[Condition],
    *,
    repeat: int | None,
    quick: bool,
    seed: int,
    able_to: Callable[[Subject, Condition], bool] = lambda *_: True,
) -> ListedPlan:
    """Return the blocks of an experiment with fixed conditions: ``repeat`` of each, by default the usual number."""
    blocks = usual_repeat(len(subjects), quick=quick) if repeat is None else repeat
    plans = schedule(subjects, conditions, repeat=blocks, seed=seed, able_to=able_to)
    if subjects and not plans:
        raise InvalidValue("no subject supports these settings; choose other subjects, or other settings")
    return ListedPlan(plans, {"repeat": blocks})


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """How long the listed blocks of a plan may take together."""

    limit_s: float
    took_s: Callable[[Trial], float]
    """Seconds from the beginning of a trial to the beginning of the next."""

    def took(self, trials: Sequence[Trial]) -> dict[str, list[float]]:
        """Return how long the trials of each subject took, in seconds."""
        by_subject: dict[str, list[float]] = {}
        for trial in trials:
            by_subject.setdefault(trial.subject, []).append(self.took_s(trial))
        return by_subject


@dataclass(frozen=True, slots=True)
class RepeatingPlan(Plan):
    """Trials fixed before the first one, and repeats of those that other programs disturbed.

    A disturbed trial is repeated at once in its own block, up to twice, so that it stays within minutes of the trials
    that it is compared with. It takes the next position of the block, and the trials after it move up. After six
    disturbed trials in a row none is repeated at once until one is undisturbed: the disturbance lasts, and repeats
    would take the time of later blocks.

    After the list, one closing block runs when a subject still lacks an undisturbed trial in some block. Two subjects
    are compared by the blocks that both have, so the closing block holds the lacking subjects and every other subject
    that has a figure. Its trials are not repeated.

    All added trials together are at most half as many as the list has. When the closing block needs more, it takes the
    lacking subjects first, those that lack the most blocks before the others, then the subjects whose median figure so
    far stands nearest to that of a lacking subject in the order of all medians: these are the pairs that are hardest to
    distinguish. A subject that would run alone is not repeated: there is nothing to compare it with.

    A plan with a time budget leaves out the last blocks of the list when the trials so far were so slow, or so many
    were repeated, that these blocks would end after the budget. It never leaves out one of the first three. A closing
    block that would end after the budget runs only for subjects that have fewer than three undisturbed blocks. There is
    none while a disturbance lasts.
    """

    listed: ListedPlan
    """Its trials have one condition and run in blocks, each subject once in each."""
    disturbed: Callable[[Trial], bool]
    figure: Callable[[Trial], float | None]
    """The figure that subjects are ranked by; None when a trial has none."""
    seed: int = 1
    """Decides the order within the closing block."""
    budget: TimeBudget | None = None
    """None: every block of the list runs."""

    @property
    def most(self) -> int:
        """Number of trials if none is disturbed and the time is enough."""
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

    def left_s(self, seen: Sequence[Trial], expected_s: ExpectedTime) -> float | None:
        """Return how many seconds those take; blocks after the third fit into the budget."""
        coming = self.left(seen)
        whole_s = total_s(coming, expected_s)
        if self.budget is None or whole_s is None:
            return whole_s
        first = list(dict.fromkeys(plan.block for plan in self.listed.trials))[:FEWEST_BLOCKS]
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
        listed = self.listed.trials
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
        own = [plan for plan in self.listed.trials if (plan.block, plan.subject.id) == place]
        if not own or places[place] > _REPEATS or self._lasting(seen) or not self.disturbed(last):
            return None
        return self._added(seen, last.block, own[0].subject, "again, since other programs disturbed it")

    def _lasting(self, seen: Sequence[Trial]) -> bool:
        return len(seen) >= _LASTING and all(map(self.disturbed, seen[-_LASTING:]))

    def _closing(self, seen: Sequence[Trial]) -> TrialPlan | None:
        if not self.listed.trials:
            return None
        block = self.listed.trials[-1].block + 1
        before = [trial for trial in seen if trial.block < block]
        # Chosen before the block began: its own trials change nothing.
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
        subjects = {plan.subject.id: plan.subject for plan in self.listed.trials}
        return [subject for name, subject in subjects.items() if name in chosen]

    def _by_median(self, seen: Sequence[Trial]) -> list[str]:
        """Return the subjects in the order of their median figures."""
        figures: dict[str, list[float]] = {}
        for trial in seen:
            if trial.outcome is Outcome.OK and (figure := self.figure(trial)) is not None:
                figures.setdefault(trial.subject, []).append(figure)
        return sorted(figures, key=lambda subject: (median(figures[subject]), subject))

    def _added(self, seen: Sequence[Trial], block: int, subject: Subject, why: str) -> TrialPlan:
        position = sum(trial.block == block for trial in seen)
        condition = self.listed.trials[0].condition
        return TrialPlan(len(seen), block, position, subject, condition, why, added=True)


@dataclass(frozen=True, slots=True)
class NextTrial:
    """The next step of a search, with its reason."""

    condition: Condition
    why: str


@dataclass(frozen=True, slots=True)
class SearchPlan(Plan):
    """Trials each of which depends on those of its subject before it; several subjects take turns, in rounds."""

    subjects: tuple[Subject, ...]
    begins_with: Condition
    """A condition like those that will be tried, to guess how long one of them takes."""
    most: int = field()
    choose: Callable[[Subject, Sequence[Trial]], NextTrial | None]
    """Chooses the next trial of an available subject from its existing trials, in the order of their numbers."""
    seed: int = 1
    """Decides the order within each round."""

    @property
    def open(self) -> bool:
        """A search may end before its most trials."""
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
        """Return the most trials that can remain; their conditions are unknown."""
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
