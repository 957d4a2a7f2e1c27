"""Run scripted cases: three tries in fresh rooms, shared processes first, then a process for each doubtful case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.judge.conformance import Observation, combine_tries, judge_cases
from httpdyno.judge.scripted.case_file import CaseFile
from httpdyno.judge.scripted.stimuli import (
    CONCURRENCY,
    Process,
    lacks_rows,
    may_be_late,
    missing_capability,
    plan_processes,
    process_of,
)
from httpdyno.judge.scripted.stimuli import unsupported as unsupported_case
from httpdyno.lab.conformance import CaseRunner
from httpdyno.model import CaseOutcome, CaseResult, Cases, Condition, Outcome, Trial, TrialPlan, Workload

TRIES: Final = 3
_MEASUREMENTS: Final = 3
"""Processes until the peak of memory is known, if a case bounds it: a short one may end before its first sample."""


@dataclass(slots=True)
class _Tried:
    """Tries of one case."""

    results: list[CaseResult] = field(default_factory=list)
    last: int = 0
    """Number of the trial that had the last try."""
    is_alone: bool = False
    """Whether further tries get a process of their own: the case hangs or crashes, or other cases make it late."""
    is_made_late: bool = False
    """Whether the outcome in a shared process came from waiting for other cases."""
    late_alone: CaseOutcome | None = None
    """A late outcome that was the same in a process of its own, so that it counts in a shared one."""


def try_scripted(
    runner: CaseRunner,
    files: Sequence[CaseFile],
    *,
    tries: int = TRIES,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Trial]:
    """Try cases with a built client; yield a trial for each process, with the final results of its cases.

    A case that has no row in a shared process is tried again alone at once; if it hangs or crashes there, it is tried
    only alone from then on. So is a case whose outcome may come from waiting for others (``may_be_late``): if the
    outcome is the same alone, that one and later ones count, else it is tried only alone. The final result of a case
    belongs to the process of its last try. ``tell`` gets the name of each process before it starts.
    """
    subject = runner.build.subject
    missing = {file.id: reason for file in files if (reason := missing_capability(subject, file))}
    if missing:
        yield _unsupported(runner, [(file, missing[file.id]) for file in files if file.id in missing])
    for process in plan_processes(subject, [file for file in files if file.id not in missing]):
        series = _Series(runner, process, tries, tell)
        series.try_all()
        yield from series.final()


def _unsupported(runner: CaseRunner, files: Sequence[tuple[CaseFile, str]]) -> Trial:
    plan = TrialPlan(0, 0, 0, runner.build.subject, Condition("contract", "", Workload(())))
    trial = trial_not_run(plan, Outcome.OK, None, Circumstances(version=runner.build.version))
    nothing = Observation(process_of(plan.subject, [files[0][0]]).stimulus.attempts[0], trial)
    cases = [unsupported_case(file, reason) for file, reason in files]
    results = tuple(result for case in cases for result in judge_cases(plan.subject, [case], nothing))
    return replace(trial, condition="").having(Cases(results))


@dataclass(slots=True)
class _Series:
    """All tries of the cases of one process."""

    runner: CaseRunner
    process: Process
    tries: int
    tell: Callable[[str], None]
    trials: list[Trial] = field(default_factory=list)
    tried: dict[str, _Tried] = field(default_factory=dict)
    """By the id of the case."""
    is_broken: bool = False
    """Whether the client has answered no case."""

    def try_all(self) -> None:
        """Try each case as often as planned."""
        files = self.process.files
        self.tried = {file.id: _Tried() for file in files}
        for number in range(1, self.tries + 1):
            doubtful: dict[str, CaseOutcome | None] = {file.id: None for file in files if self.tried[file.id].is_alone}
            if together := [file for file in files if file.id not in doubtful]:
                doubtful |= self._try_together(together, number)
            for file in files:
                if file.id in doubtful:
                    self._try_alone(file, number, doubtful[file.id])

    def _try_together(self, files: Sequence[CaseFile], number: int) -> dict[str, CaseOutcome | None]:
        """Try cases in one process; return those to try alone: without a row (None), or with a late outcome.

        If more cases lack a row than can have been in flight, an early one ended the process, or the client is slow:
        they are tried again in two halves. If no case has a row, neither together nor alone, they count as they are.
        """
        again = self.process if len(files) == len(self.process.files) else process_of(self.runner.build.subject, files)
        observation = self._run(again, number)
        place = len(self.trials) - 1
        missing = [file for file in files if again.is_shared and lacks_rows(file, observation)]
        if len(missing) == len(files) > CONCURRENCY and self._answers_nothing(files, number):
            missing = []
        lacking, doubtful = {file.id for file in missing}, dict[str, CaseOutcome | None]()
        results = judge_cases(self.runner.build.subject, again.cases, observation)
        for file, result in zip(again.files, results, strict=True):
            is_confirmed = not again.is_shared or self.tried[file.id].late_alone is result.outcome
            if file.id not in lacking and not is_confirmed and may_be_late(file, result, observation):
                doubtful[file.id] = result.outcome
            elif file.id not in lacking:
                self._keep(file, result, place)
        if len(missing) <= CONCURRENCY:
            return doubtful | dict.fromkeys(lacking, None)
        half = len(missing) // 2
        return doubtful | self._try_together(missing[:half], number) | self._try_together(missing[half:], number)

    def _answers_nothing(self, files: Sequence[CaseFile], number: int) -> bool:
        """Return whether the first and the last case have no row alone, either: the client is broken."""
        if not self.is_broken:
            ends = [process_of(self.runner.build.subject, [file]) for file in (files[0], files[-1])]
            self.is_broken = all(lacks_rows(own.files[0], self._run(own, number)) for own in ends)
        return self.is_broken

    def _try_alone(self, file: CaseFile, number: int, late: CaseOutcome | None) -> None:
        """Try a case in a process of its own; ``late`` is its late outcome in a shared one."""
        own, of = process_of(self.runner.build.subject, [file]), self.tried[file.id]
        (result,) = judge_cases(self.runner.build.subject, own.cases, self._run(own, number))
        self._keep(file, result, len(self.trials) - 1)
        if late is not None:
            of.is_made_late = late is not result.outcome
            of.late_alone = late if late is result.outcome else None
        # Only a case that ends or blocks the process leaves the others, or one that they make late.
        of.is_alone = of.is_made_late or result.outcome in {CaseOutcome.HANG, CaseOutcome.CRASH}

    def _run(self, process: Process, number: int) -> Observation:
        self.tell(f"{self.runner.build.subject.id}: {process.stimulus.name}, try {number} of {self.tries}")
        bounded = any(rule.peak_mib for file in process.files for rule in file.outcome)
        for _ in range(_MEASUREMENTS if bounded else 1):
            observation = self.runner.observe(process.stimulus.attempts[0])
            self.trials.append(observation.trial)
            if observation.trial.counters.peak_memory_bytes is not None:
                break
        return observation

    def _keep(self, file: CaseFile, result: CaseResult, place: int) -> None:
        self.tried[file.id].results.append(result)
        self.tried[file.id].last = place

    def final(self) -> Iterator[Trial]:
        """Yield each trial with the final results of the cases whose last try it had."""
        finals = {case: combine_tries(tried.results) for case, tried in self.tried.items()}
        for place, trial in enumerate(self.trials):
            own = tuple(finals[case] for case, tried in self.tried.items() if tried.last == place)
            yield replace(trial, condition="").having(Cases(own))
