"""Run scripted cases: three tries in fresh rooms, shared processes first, then a process for each doubtful case."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.judge.conformance import Attempt, Observation, combine_tries, judge_cases
from httpdyno.judge.scripted.case_file import CaseFile
from httpdyno.judge.scripted.stimuli import (
    CONCURRENCY,
    Process,
    lacks_rows,
    may_be_late,
    may_be_slowed,
    missing_capability,
    plan_processes,
    process_of,
)
from httpdyno.judge.scripted.stimuli import unsupported as unsupported_case
from httpdyno.lab.conformance import CaseRunner
from httpdyno.lab.machine_use import Snapshot, take_snapshot, use_between
from httpdyno.model import CaseOutcome, CaseResult, Cases, Condition, Outcome, Trial, TrialPlan, Workload

TRIES: Final = 3
SIDE_BY_SIDE: Final = 8
"""Processes at a time at most: nearly all wait for a timeout, and each has a room of its own."""
_BUSY: Final = 0.7
"""Share of the CPUs' time above which a process may be late because of others, and below which one more starts."""
_FULL: Final = 0.95
"""Share above which fewer run side by side."""
_WINDOW_S: Final = 1.0
"""Time in which the share is measured."""


@dataclass(slots=True)
class _Tried:
    """Tries of one case."""

    results: dict[int, CaseResult] = field(default_factory=dict)
    """By the number of the try."""
    last: int = 0
    """Number of the trial that had the last try."""
    is_alone: bool = False
    """Whether further tries get a process of their own: the case hangs or crashes, or other cases make it late."""
    is_made_late: bool = False
    """Whether the outcome in a shared process came from waiting for other cases."""
    late_alone: CaseOutcome | None = None
    """A late outcome that was the same in a process of its own, so that it counts in a shared one."""
    slowed: set[int] = field(default_factory=set)
    """The tries whose outcome may be due to other processes, which kept the CPUs busy."""

    @property
    def final(self) -> CaseResult:
        """The result of all tries."""
        return combine_tries([self.results[number] for number in sorted(self.results)])

    @property
    def is_slowed(self) -> bool:
        """Whether no try says what the case does while other processes leave the CPUs time."""
        return len(self.slowed) == len(self.results)


def try_scripted(
    runner: CaseRunner,
    files: Sequence[CaseFile],
    *,
    tries: int = TRIES,
    side_by_side: int = SIDE_BY_SIDE,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Trial]:
    """Try cases with a built client; yield a trial for each process, with the final results of its cases.

    Processes run side by side while the CPUs have time left. A case that has no row in a shared process is tried again
    alone at once; if it hangs or crashes there, it is tried only alone from then on. So is a case whose outcome may be
    due to a wait for others (``may_be_late``): if the outcome is the same alone, that one and later ones count, else it
    is tried only alone. If the tries of a case differ, or other processes, which keep the CPUs busy, may be the reason
    of each outcome (``may_be_slowed``), it is tried again as often, at the end, while no other process runs; only these
    tries count then. The final result of a case belongs to the process of its last try. ``tell`` gets the progress.
    """
    subject = runner.build.subject
    missing = {file.id: reason for file in files if (reason := missing_capability(subject, file))}
    if missing:
        yield _unsupported(runner, [(file, missing[file.id]) for file in files if file.id in missing])
    processes = plan_processes(subject, [file for file in files if file.id not in missing])
    with ThreadPoolExecutor(side_by_side) as threads, asyncio.Runner() as loop:
        rooms = _Rooms(runner, threads, tell, side_by_side)
        series = [_Series(runner, rooms, process, tries) for process in processes]
        servers = [loop.get_loop().create_task(rooms.serve()) for _ in range(side_by_side)]
        places = loop.get_loop().create_task(rooms.count_places())
        try:
            yield from _try_all(loop, series, servers)
        except BaseException:
            # Processes that still run end at once.
            runner.interruption.request()
            raise
        finally:
            places.cancel()


def _try_all(
    loop: asyncio.Runner, series: "Sequence[_Series]", servers: "Sequence[asyncio.Task[None]]"
) -> Iterator[Trial]:
    """Run all series; yield the trials of each as soon as its results are final."""
    left, doubtful = {loop.get_loop().create_task(one.try_all()): one for one in series}, []
    while left:
        done, _ = loop.run(asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED))
        for task in done:
            one = left.pop(task)
            task.result()
            if one.doubtful:
                doubtful.append(one)
            else:
                yield from one.final()
    for server in servers[1:]:
        server.cancel()
    for one in doubtful:
        loop.run(one.try_again())
        yield from one.final()


def _unsupported(runner: CaseRunner, files: Sequence[tuple[CaseFile, str]]) -> Trial:
    plan = TrialPlan(0, 0, 0, runner.build.subject, Condition("contract", "", Workload(())))
    trial = trial_not_run(plan, Outcome.OK, None, Circumstances(version=runner.build.version))
    nothing = Observation(process_of(plan.subject, [files[0][0]]).stimulus.attempts[0], trial)
    cases = [unsupported_case(file, reason) for file, reason in files]
    results = tuple(result for case in cases for result in judge_cases(plan.subject, [case], nothing))
    return replace(trial, condition="").having(Cases(results))


@dataclass(slots=True)
class _Rooms:
    """Rooms that run side by side, each with a process of the client."""

    runner: CaseRunner
    threads: ThreadPoolExecutor
    """A room ends with the thread that started it, and these live until all have ended."""
    tell: Callable[[str], None]
    most: int
    """Processes at a time at most."""
    places: int = 1
    """Processes at a time now."""
    running: int = 0
    started: int = 0
    _waiting: "asyncio.PriorityQueue[tuple[int, int, Attempt, asyncio.Future[tuple[Observation, bool]]]]" = field(
        default_factory=asyncio.PriorityQueue
    )
    _door: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held until the next process starts."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a process ends or may start."""
    _numbers: Iterator[int] = field(default_factory=count)

    async def run(self, attempt: Attempt, rank: int) -> tuple[Observation, bool]:
        """Run one process as soon as there is a place for it; those of a lower rank start before.

        Return also whether other processes ran at the same time and the CPUs were busy.
        """
        result: asyncio.Future[tuple[Observation, bool]] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((rank, next(self._numbers), attempt, result))
        return await result

    async def serve(self) -> None:
        """Run one process after another."""
        loop = asyncio.get_running_loop()
        while True:
            async with self._door:
                while self.running >= self.places:
                    self._changed.clear()
                    await self._changed.wait()
                _, _, attempt, result = await self._waiting.get()
                self.running += 1
                self.started += 1
            number, is_alone, before = self.started, self.running == 1, take_snapshot(self._cpus)
            self.tell(f"{self.runner.build.subject.id}: process {number} of {number + self._waiting.qsize()} and more")
            try:
                observation = await loop.run_in_executor(self.threads, self.runner.observe, attempt)
                is_alone = is_alone and self.started == number
                result.set_result((observation, not is_alone and self._share_since(before) > _BUSY))
            except Exception as error:
                result.set_exception(error)
            self.running -= 1
            self._changed.set()

    async def count_places(self) -> None:
        """Change the number of places as the CPUs have time left or not."""
        while True:
            before = take_snapshot(self._cpus)
            await asyncio.sleep(_WINDOW_S)
            share = self._share_since(before)
            if share < _BUSY and self.places < self.most:
                self.places += 1
                self._changed.set()
            elif share > _FULL and self.places > 1:
                self.places -= 1

    @property
    def _cpus(self) -> Collection[int]:
        return self.runner.pinning.cpus(os.sched_getaffinity(0))

    def _share_since(self, before: Snapshot) -> float:
        busy = use_between(before, take_snapshot(self._cpus)).busy
        return sum(busy.values()) / max(len(busy), 1)


@dataclass(slots=True)
class _Series:
    """All tries of the cases of one process."""

    runner: CaseRunner
    rooms: _Rooms
    process: Process
    tries: int
    trials: list[Trial] = field(default_factory=list)
    busy: list[bool] = field(default_factory=list)
    """For each trial: whether other processes kept the CPUs busy."""
    tried: dict[str, _Tried] = field(init=False)
    """By the id of the case."""
    is_broken: bool = False
    """Whether the client has answered no case."""

    def __post_init__(self) -> None:
        """Begin with no try."""
        self.tried = {file.id: _Tried() for file in self.process.files}

    @property
    def doubtful(self) -> list[CaseFile]:
        """The cases whose tries differ, or with an outcome that is late because of other processes."""
        tried = self.tried
        return [
            file
            for file in self.process.files
            if tried[file.id].is_slowed or tried[file.id].final.outcome is CaseOutcome.UNSTEADY
        ]

    async def try_all(self) -> None:
        """Try each case as often as planned; the first try shows which cases the later ones try alone."""
        await self._try(1, self.process.files)
        await asyncio.gather(*(self._try(number, self.process.files) for number in range(2, self.tries + 1)))

    async def try_again(self) -> None:
        """Try the doubtful cases as often again, and forget the earlier tries."""
        files = self.doubtful
        for file in files:
            # What was late by other processes may be right in a shared one.
            is_alone = self.tried[file.id].is_alone and not self.tried[file.id].is_slowed
            self.tried[file.id] = _Tried(is_alone=is_alone)
        for number in range(1, self.tries + 1):
            await self._try(number, files)

    async def _try(self, number: int, files: Sequence[CaseFile]) -> None:
        doubtful: dict[str, CaseOutcome | None] = {file.id: None for file in files if self.tried[file.id].is_alone}
        if together := [file for file in files if file.id not in doubtful]:
            doubtful |= await self._try_together(together, number)
        alone = [self._try_alone(file, number, doubtful[file.id]) for file in files if file.id in doubtful]
        await asyncio.gather(*alone)

    async def _try_together(self, files: Sequence[CaseFile], number: int) -> dict[str, CaseOutcome | None]:
        """Try cases in one process; return those to try alone: without a row (None), or with a late outcome.

        If more cases lack a row than can have been in flight, an early one ended the process, or the client is slow:
        they are tried again in two halves. If no case has a row, neither together nor alone, they count as they are.
        """
        again = self.process if len(files) == len(self.process.files) else process_of(self.runner.build.subject, files)
        observation, place = await self._run(again)
        missing = [file for file in files if again.is_shared and lacks_rows(file, observation)]
        if len(missing) == len(files) > CONCURRENCY and await self._answers_nothing(files):
            missing = []
        lacking, doubtful = {file.id for file in missing}, dict[str, CaseOutcome | None]()
        results = judge_cases(self.runner.build.subject, again.cases, observation)
        for file, result in zip(again.files, results, strict=True):
            is_confirmed = not again.is_shared or self.tried[file.id].late_alone is result.outcome
            if file.id not in lacking and not is_confirmed and may_be_late(file, result, observation):
                doubtful[file.id] = result.outcome
            elif file.id not in lacking:
                self._keep(file, number, result, observation, place)
        if len(missing) <= CONCURRENCY:
            return doubtful | dict.fromkeys(lacking, None)
        half = len(missing) // 2
        parts = await asyncio.gather(*(self._try_together(part, number) for part in (missing[:half], missing[half:])))
        return doubtful | parts[0] | parts[1]

    async def _answers_nothing(self, files: Sequence[CaseFile]) -> bool:
        """Return whether the first and the last case have no row alone, either: the client is broken."""
        if not self.is_broken:
            ends = [process_of(self.runner.build.subject, [file]) for file in (files[0], files[-1])]
            runs = await asyncio.gather(*map(self._run, ends))
            self.is_broken = all(lacks_rows(own.files[0], seen) for own, (seen, _) in zip(ends, runs, strict=True))
        return self.is_broken

    async def _try_alone(self, file: CaseFile, number: int, late: CaseOutcome | None) -> None:
        """Try a case in a process of its own; ``late`` is its late outcome in a shared one."""
        own, of = process_of(self.runner.build.subject, [file]), self.tried[file.id]
        observation, place = await self._run(own)
        (result,) = judge_cases(self.runner.build.subject, own.cases, observation)
        self._keep(file, number, result, observation, place)
        if late is not None:
            of.is_made_late = late is not result.outcome
            of.late_alone = late if late is result.outcome else None
        # Only a case that ends or blocks the process leaves the others, or one that they make late.
        of.is_alone = of.is_made_late or result.outcome in {CaseOutcome.HANG, CaseOutcome.CRASH}

    async def _run(self, process: Process) -> tuple[Observation, int]:
        """Run a process; return what it shows, and the number of its trial."""
        # Tries of a shared process depend on each other.
        observation, busy = await self.rooms.run(process.stimulus.attempts[0], rank=not self.process.is_shared)
        self.trials.append(observation.trial)
        self.busy.append(busy)
        return observation, len(self.trials) - 1

    def _keep(self, file: CaseFile, number: int, result: CaseResult, observation: Observation, place: int) -> None:
        tried = self.tried[file.id]
        tried.results[number], tried.last = result, place
        if self.busy[place] and may_be_slowed(file, result, observation):
            tried.slowed.add(number)
        else:
            tried.slowed.discard(number)

    def final(self) -> Iterator[Trial]:
        """Yield each trial with the final results of the cases whose last try it had."""
        for place, trial in enumerate(self.trials):
            own = tuple(tried.final for tried in self.tried.values() if tried.last == place)
            yield replace(trial, condition="").having(Cases(own))
