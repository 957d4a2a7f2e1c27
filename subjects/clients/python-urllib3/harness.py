"""Times calls in this process, by the rules of Python's timeit: ``HARNESS=timeit`` of the subject contract."""

import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

RUNS = 7
ENOUGH_NS = 200_000_000
"""The duration of the warm-up, and the minimum of a run: timeit's own choice."""

Answer = tuple[int | str, int]
"""The code of a URL's row, and the number of bytes of its content."""


class CallError(Exception):
    """A call ended in an error; the message is its name."""


@dataclass(frozen=True, slots=True)
class Run:
    """The time of some loops, one after the other."""

    wall_ns: int
    cpu_user_ns: int
    cpu_system_ns: int


@dataclass(slots=True)
class Harness:
    """Times a call; a loop is one call, or several in their own threads, awaited together."""

    call: Callable[[], Answer]
    calls_per_loop: int
    loops: int | None = None
    runs: list[Run] = field(default_factory=list)
    answers: Counter[Answer] = field(default_factory=Counter)
    threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        """Run each call of a loop in its own thread, as each slot has one; a thread starts when it is first needed."""
        self.threads = ThreadPoolExecutor(self.calls_per_loop)

    def line(self) -> str:
        """Measure; return the line with the result."""
        outcome = "ok"
        try:
            self.measure()
        except CallError as error:
            outcome = str(error)
        return json.dumps(
            {
                "outcome": outcome,
                "loops": self.loops,
                "calls_per_loop": self.calls_per_loop,
                "runs_ns": [run.wall_ns for run in self.runs],
                "cpu_user_ns": [run.cpu_user_ns for run in self.runs],
                "cpu_system_ns": [run.cpu_system_ns for run in self.runs],
                "answers": [
                    {"code": str(code), "body_length": body_length, "calls": calls}
                    for (code, body_length), calls in self.answers.items()
                ],
            }
        )

    def measure(self) -> None:
        """Warm up, choose the number of loops in a run, run."""
        start = time.perf_counter_ns()
        while time.perf_counter_ns() - start < ENOUGH_NS:
            self.loop()
        for loops in numbers_of_loops():
            if self.run(loops).wall_ns >= ENOUGH_NS:
                self.loops = loops
                break
        for _ in range(RUNS):
            self.runs.append(self.run(loops))

    def run(self, loops: int) -> Run:
        """Time a number of loops."""
        before = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter_ns()
        for _ in range(loops):
            self.loop()
        wall_ns = time.perf_counter_ns() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        return Run(
            wall_ns, round((after.ru_utime - before.ru_utime) * 1e9), round((after.ru_stime - before.ru_stime) * 1e9)
        )

    def loop(self) -> None:
        """Make the calls; record their answers for verification.

        Raises
        ------
        CallError
            If a call ended in an error.
        """
        if self.calls_per_loop == 1:
            answers = [self.call()]
        else:
            calls = [self.threads.submit(self.call) for _ in range(self.calls_per_loop)]
            answers = [call.result() for call in calls]
        self.answers.update(answers)
        for code, _ in answers:
            if isinstance(code, str):
                raise CallError(code)


def numbers_of_loops() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50 and so on, as ``timeit.Timer.autorange`` tries them."""
    for power in count():
        yield from (digit * 10**power for digit in (1, 2, 5))


def read_url() -> str:
    """Read the URL of stdin: the first line that is not empty; without one, an empty text, which is not a URL."""
    return next((os.fsdecode(line) for line in map(bytes.strip, sys.stdin.buffer) if line), "")
