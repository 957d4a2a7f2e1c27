"""The harnesses of the Python clients: the same for the same way of calling; they report their work."""

import asyncio
import importlib.util
import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from httpdyno.judge.lines import read_harness_line
from httpdyno.model import SubjectKind
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls
from httpdyno.subjects.catalogue import read_catalogue

CLIENTS = Path(__file__).parents[3] / "subjects" / "clients"
TASKS, THREADS = "python-aiohttp", "python-urllib3"
"""One with asyncio tasks as slots, one with threads as slots."""

Answer = tuple[int | str, int]


def kind(folder: Path) -> str:
    return THREADS if (folder / "slots.py").exists() else TASKS


@pytest.fixture(params=[TASKS, THREADS])
def harness(request: pytest.FixtureRequest) -> ModuleType:
    """The module, with runs of two milliseconds."""
    spec = importlib.util.spec_from_file_location("harness", CLIENTS / request.param / "harness.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__["ENOUGH_NS"] = 2_000_000
    return module


def timed(harness: ModuleType, call: Callable[[], Answer], calls_per_loop: int) -> TimedCalls:
    """Measure a call that needs no network."""

    async def task() -> Answer:
        await asyncio.sleep(0)
        return call()

    async def line() -> str:
        text: str = await harness.Harness(task, calls_per_loop).line()
        return text

    if asyncio.iscoroutinefunction(harness.Harness.line):
        return read_harness_line(asyncio.run(line()))
    return read_harness_line(harness.Harness(call, calls_per_loop).line())


def test_every_python_client_has_the_harness_of_its_kind() -> None:
    clients = [subject for subject in read_catalogue().of_kind(SubjectKind.CLIENT) if subject.id.startswith("python-")]
    assert len(clients) > 9
    for subject in clients:
        assert subject.capabilities.harness == ("timeit",), subject.id
        folder = CLIENTS / subject.id
        text = (CLIENTS / kind(folder) / "harness.py").read_text(encoding="utf-8")
        assert (folder / "harness.py").read_text(encoding="utf-8") == text, subject.id


@pytest.mark.parametrize("calls_per_loop", [1, 3])
def test_every_call_is_counted(harness: ModuleType, calls_per_loop: int) -> None:
    numbers = itertools.count(1)

    def call() -> Answer:
        return (200 if next(numbers) % 10 else 404), 13

    read = timed(harness, call, calls_per_loop)
    made = next(numbers) - 1
    assert read.is_ok
    assert (read.calls, read.calls_per_loop) == (made, calls_per_loop)
    assert set(read.answers) == {TimedAnswer("200", 13, made - made // 10), TimedAnswer("404", 13, made // 10)}


def test_a_run_takes_what_its_loops_take(harness: ModuleType) -> None:
    def call() -> Answer:
        time.sleep(0.0007)
        return 200, 0

    read = timed(harness, call, 1)
    # A call sleeps 0.7 ms at the least: three of them are enough, however slow the machine is.
    assert read.loops in {1, 2, 5}
    assert all(run >= 700_000 * read.loops for run in read.runs_ns)


def test_calls_of_a_loop_are_made_together(harness: ModuleType) -> None:
    if not asyncio.iscoroutinefunction(harness.Harness.line):
        meeting = threading.Barrier(4, timeout=120)

        def call() -> Answer:
            meeting.wait()  # a single call waits for ever
            return 200, 0

        assert timed(harness, call, 4).is_ok
        return

    async def line() -> str:
        together = asyncio.Barrier(4)

        async def task() -> Answer:
            await together.wait()
            return 200, 0

        text: str = await harness.Harness(task, 4).line()
        return text

    assert read_harness_line(asyncio.run(asyncio.wait_for(line(), 300))).is_ok


@pytest.mark.parametrize(("failing", "calls_per_loop", "made"), [(1, 1, 1), (2, 4, 4), (10, 4, 12)])
def test_an_error_ends_it_after_its_loop(harness: ModuleType, failing: int, calls_per_loop: int, made: int) -> None:
    numbers = itertools.count(1)

    def call() -> Answer:
        return ("ECONNRESET", 0) if next(numbers) == failing else (200, 13)

    read = timed(harness, call, calls_per_loop)
    assert (read.outcome, read.calls) == ("ECONNRESET", made)
    assert TimedAnswer("ECONNRESET", 0, 1) in read.answers


def test_what_came_before_an_error_is_kept(harness: ModuleType) -> None:
    measured = harness.Harness(None, 1)

    def call() -> Answer:
        return ("ECONNRESET", 0) if len(measured.runs) == 3 else (200, 13)

    async def task() -> Answer:
        return call()

    async def line() -> str:
        text: str = await measured.line()
        return text

    if asyncio.iscoroutinefunction(measured.line):
        measured.call = task
        read = read_harness_line(asyncio.run(line()))
    else:
        measured.call = call
        read = read_harness_line(measured.line())
    assert (read.outcome, len(read.runs_ns)) == ("ECONNRESET", 3)
    assert TimedAnswer("ECONNRESET", 0, 1) in read.answers
