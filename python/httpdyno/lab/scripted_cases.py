"""Run scripted cases: three tries in fresh rooms, shared processes first, then a process for each doubtful case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.judge.conformance import Observation, combine_tries, judge_cases
from httpdyno.judge.scripted.case_file import CaseFile
from httpdyno.judge.scripted.stimuli import Process, lacks_rows, missing_capability, plan_processes, process_of
from httpdyno.judge.scripted.stimuli import unsupported as unsupported_case
from httpdyno.lab.conformance import CaseRunner
from httpdyno.model import CaseOutcome, CaseResult, Cases, Condition, Outcome, Trial, TrialPlan, Workload

TRIES: Final = 3


@dataclass(slots=True)
class _Tried:
    """Tries of one case."""

    results: list[CaseResult] = field(default_factory=list)
    last: int = 0
    """Number of the trial that had the last try."""
    is_alone: bool = False
    """Whether further tries get a process of their own, because the case hangs or crashes."""


def try_scripted(
    runner: CaseRunner,
    files: Sequence[CaseFile],
    *,
    tries: int = TRIES,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Trial]:
    """Try cases with a built client; yield a trial for each process, with the final results of its cases.

    A case that has no row in a shared process is tried again alone at once; if it hangs or crashes there, it is tried
    only alone from then on. The final result of a case belongs to the process of its last try. ``tell`` gets the name
    of each process before it starts.
    """
    subject = runner.build.subject
    missing = {file.id: reason for file in files if (reason := missing_capability(subject, file))}
    if missing:
        yield _unsupported(runner, [(file, missing[file.id]) for file in files if file.id in missing])
    for process in plan_processes(subject, [file for file in files if file.id not in missing]):
        yield from _try_process(runner, process, tries=tries, tell=tell)


def _unsupported(runner: CaseRunner, files: Sequence[tuple[CaseFile, str]]) -> Trial:
    plan = TrialPlan(0, 0, 0, runner.build.subject, Condition("contract", "", Workload(())))
    trial = trial_not_run(plan, Outcome.OK, None, Circumstances(version=runner.build.version))
    nothing = Observation(process_of(plan.subject, [files[0][0]]).stimulus.attempts[0], trial)
    cases = [unsupported_case(file, reason) for file, reason in files]
    results = tuple(result for case in cases for result in judge_cases(plan.subject, [case], nothing))
    return replace(trial, condition="").having(Cases(results))


def _try_process(runner: CaseRunner, process: Process, *, tries: int, tell: Callable[[str], None]) -> Iterator[Trial]:
    """Try the cases of one process several times; yield the trials of all processes that this took."""
    trials: list[Trial] = []
    tried = {file.id: _Tried() for file in process.files}
    subject = runner.build.subject

    def run(again: Process, number: int) -> Observation:
        tell(f"{subject.id}: {again.stimulus.name}, try {number} of {tries}")
        observation = runner.observe(again.stimulus.attempts[0])
        trials.append(observation.trial)
        return observation

    def keep(again: Process, observation: Observation, files: Sequence[CaseFile]) -> None:
        results = judge_cases(subject, again.cases, observation)
        for file, result in zip(again.files, results, strict=True):
            if file in files:
                tried[file.id].results.append(result)
                tried[file.id].last = len(trials) - 1

    for number in range(1, tries + 1):
        together = [file for file in process.files if not tried[file.id].is_alone]
        alone = [file for file in process.files if tried[file.id].is_alone]
        if together:
            again = process if len(together) == len(process.files) else process_of(subject, together)
            observation = run(again, number)
            doubtful = [file for file in together if again.is_shared and lacks_rows(file, observation)]
            keep(again, observation, [file for file in together if file not in doubtful])
            alone += doubtful
        for file in alone:
            own = process_of(subject, [file])
            keep(own, run(own, number), [file])
            # Only a case that ends or blocks the process leaves the others.
            tried[file.id].is_alone = tried[file.id].results[-1].outcome in {CaseOutcome.HANG, CaseOutcome.CRASH}
    finals = {file.id: combine_tries(tried[file.id].results) for file in process.files}
    for place, trial in enumerate(trials):
        own_results = tuple(finals[file.id] for file in process.files if tried[file.id].last == place)
        yield replace(trial, condition="").having(Cases(own_results))
