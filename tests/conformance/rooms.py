"""Trials of the reference client: each case in a real room, with no mutation or with one."""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from httpdyno.judge.scripted.case_file import CaseFile
from httpdyno.judge.scripted.stimuli import Process, judge_case, plan_processes
from httpdyno.lab.conformance import CaseRunner
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.subjects.build import build_subjects
from httpdyno.subjects.catalogue import read_subject

HERE: Final = Path(__file__).parent
REFERENCE: Final = HERE / "reference"
TRIES: Final = 3
"""A process on a busy machine may miss its timeout, but not each time."""
SIDE_BY_SIDE: Final = 3
"""Processes at a time: most of them wait for a timeout."""
HANGING: Final = 10
"""Processes at a time that hang until their deadline, in addition: they need no CPU."""


@dataclass(frozen=True)
class Trial:
    """A case, the mutation of the client (empty: none), and the outcome that it must have."""

    case: str
    mutation: str
    outcome: str


def read_mutants(path: Path = HERE / "mutants.toml") -> list[Trial]:
    """Read the table of mutations, a trial for each entry."""
    groups = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Trial(f"{group}/{name}", mutation, outcome)
        for group, cases in groups.items()
        for name, mutations in cases.items()
        for mutation, outcome in mutations.items()
    ]


def is_as_expected(trial: Trial, outcome: str) -> bool:
    """Return whether an outcome, with its reason, is that of the trial."""
    return outcome.partition(":")[0] == trial.outcome


def runner_of(engine: Engine, cache: Path) -> CaseRunner:
    """Build the client; it runs with the Python of the tests, which has the package of HTTP/2."""
    subject = replace(read_subject(REFERENCE), run_argv=(sys.executable, "-B", "main.py"))
    build = build_subjects([subject], cache)[subject.id].build
    assert build is not None
    return CaseRunner(engine, build, Pinning(), Interruption())


def outcomes_of(runner: CaseRunner, trials: Sequence[Trial], files: Mapping[str, CaseFile]) -> dict[Trial, str]:
    """Run trials, and return the outcome of each with its reason; those that differ are run again, alone."""
    found: dict[Trial, str] = {}
    batches = list(_batches(runner, trials, files))
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool, ThreadPoolExecutor(HANGING) as waiting:
        runs = [
            (waiting if own[0].outcome == "hang" else pool).submit(_run, runner, process, own)
            for process, own in batches
        ]
        for run in runs:
            found |= run.result()
        for _ in range(TRIES - 1):
            again = [
                pool.submit(_run, runner, process, [trial])
                for trial in [trial for trial, outcome in found.items() if not is_as_expected(trial, outcome)]
                for process in plan_processes(runner.build.subject, [files[trial.case]])
            ]
            for run in again:
                found |= run.result()
    return found


def _batches(
    runner: CaseRunner, trials: Sequence[Trial], files: Mapping[str, CaseFile]
) -> Iterator[tuple[Process, list[Trial]]]:
    """Yield processes with their trials; those that hang are together, and begin first."""
    rounds: dict[tuple[bool, int], list[Trial]] = {}
    for trial in trials:
        key = (trial.outcome != "hang", 0)
        while any(other.case == trial.case for other in rounds.get(key, [])):
            key = key[0], key[1] + 1
        rounds.setdefault(key, []).append(trial)
    for key in sorted(rounds):
        by_case = {trial.case: trial for trial in rounds[key]}
        for process in plan_processes(runner.build.subject, [files[case] for case in by_case]):
            yield process, [by_case[file.id] for file in process.files]


def _run(runner: CaseRunner, process: Process, trials: Sequence[Trial]) -> dict[Trial, str]:
    """Run one process; the client gets the mutation of each URL by the environment."""
    wrong = {
        url: trial.mutation
        for trial, file in zip(trials, process.files, strict=True)
        for url in file.full_urls
        if trial.mutation
    }
    attempt = replace(process.stimulus.attempts[0], environment={"WRONG": json.dumps(wrong)})
    observation = runner.observe(attempt)
    found = {}
    for trial, file in zip(trials, process.files, strict=True):
        judged = judge_case(file, observation, alone=not process.is_shared)
        found[trial] = ": ".join([str(judged.outcome), *(breach.seen for breach in judged.breaches)])
    return found
