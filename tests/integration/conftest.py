"""The real command with the real engine, in folders of its own, and a check of its leftovers."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from doubles.command_line import Command, Ended
from doubles.traces import Before, Traces, describe, look_before, processes_of, traces_of
from httpdyno.lab.engine import Engine
from httpdyno.subjects.cache import cache_folder, program_path

START = [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())"]
PATIENCE_S = 300.0
"""Only against hangs: a command may take as long as a busy machine needs."""

TIMEOUTS_S = (5, 20, 60)
"""For requests, one after the other until a crawl is right: a fault that never ends outlasts each of them, so a correct
client is right with one of them however slow the machine is, and a wrong client with none."""
OF_OUR_OWN_S = (2, 20, 60)
"""The same for a client that needs little time."""

T = TypeVar("T")
Start = Callable[..., "subprocess.Popen[str]"]
NothingLeft = Callable[..., None]
Mounted = Callable[[str], Path]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounted]:
    """Mount a file system in memory with the given options; needs root."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()

    def mount(options: str) -> Path:
        argv = ["mount", "-t", "tmpfs", "-o", options, "small", str(folder)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        return folder

    yield mount
    subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)


@pytest.fixture
def before() -> Before:
    """Note what is on the machine before the test's first command."""
    return look_before()


@pytest.fixture(scope="session")
def proved_cache(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the probe of the fetcher, which takes longer than most tests.

    Every measurement of a client needs it for the ceiling of its web. All workers have the same engine: the first of
    them probes for the others.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    cache = folder / "proved"
    with (folder / "proved.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not cache.exists():
            shutil.rmtree(folder / "proving", ignore_errors=True)
            environment = os.environ | {"HTTPDYNO_ENGINE": str(engine.path), "XDG_CACHE_HOME": str(folder / "proving")}
            probe = [*START, "subjects", "probe", "native", "--out", str(folder / "proving-runs")]
            subprocess.run(probe, env=environment, check=True, stdout=subprocess.DEVNULL)
            (folder / "proving").rename(cache)
    return cache


@pytest.fixture
def environment(engine: Engine, proved_cache: Path, tmp_path: Path, before: Before) -> dict[str, str]:
    """Name the folders of the test in the environment of its commands, before any of them starts."""
    del before
    (tmp_path / "tmp").mkdir()
    shutil.copytree(proved_cache, tmp_path / "cache")
    lend_builds(tmp_path / "cache" / "httpdyno")
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PYTHONPATH") if name in os.environ}
    return {
        **kept,
        # Toolchains in the user's cache serve the cache of the test, too.
        "PATH": program_path(),
        "HTTPDYNO_ENGINE": str(engine.path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
        "COLUMNS": "200",
        # Other work on the machine must not change the number of trials.
        "NO_AGAIN": "1",
    }


def lend_builds(cache: Path) -> None:
    """Share this user's builds with a test's cache: a client takes up to a minute to compile."""
    for whole in (cache_folder() / "builds").glob("*/complete.json"):
        lent = cache / "builds" / whole.parent.name
        if not lent.exists():
            lent.symlink_to(whole.parent)


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start `httpdyno` and return at once; a process that still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **more: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*START, *arguments],
            cwd=tmp_path,
            env=environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def httpdyno(start: Start) -> Command:
    """Run `httpdyno` to its end."""

    def run(*arguments: str, **more: str) -> Ended:
        return ended(start(*arguments, **more))

    return run


def ended(process: "subprocess.Popen[str]") -> Ended:
    """Wait for a command."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Ended(process.returncode, out, err)


@pytest.fixture
def wait_for_end() -> Callable[["subprocess.Popen[str]"], Ended]:
    """Wait for a command that was started."""
    return ended


def wait_until(condition: Callable[[], bool], evidence: Callable[[], object]) -> None:
    """Fail with the evidence unless the condition comes true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, evidence()
        time.sleep(0.05)


def wait_while_it_runs(process: "subprocess.Popen[str]", condition: Callable[[], bool]) -> None:
    """Wait until a condition is true; fail with the command's output if it ends before."""
    wait_until(lambda: condition() or process.poll() is not None, lambda: process.args)
    assert process.poll() is None, process.communicate()


def right_in_time(
    crawl: Callable[[int], T], is_right: Callable[[T], bool], *, timeouts_s: Sequence[int] = TIMEOUTS_S
) -> T:
    """Crawl with one timeout after the other until it is right; return that result, or that of the longest."""
    for timeout_s in timeouts_s:
        found = crawl(timeout_s)
        if is_right(found):
            break
    return found


@pytest.fixture
def nothing_left(tmp_path: Path, before: Before, environment: dict[str, str]) -> Iterator[NothingLeft]:
    """Assert that nothing of the test's commands is left; dying processes get a moment.

    Control groups outlive an engine that was killed outright, until a room is made after its processes are gone:
    `nothing_left(swept=True)` makes it.
    """

    def traces() -> Traces:
        return traces_of(tmp_path, tmp_path / "tmp", before)

    def check(*, swept: bool = False) -> None:
        def gone() -> bool:
            # A process that is still dying has no command line any more, but keeps its group busy: a room that is made
            # in that moment has to leave the group to the next one.
            if swept and traces().control_groups:
                subprocess.run([*START, "room", "--web", "plain", "--", "true"], env=environment, check=True)
            return traces() == Traces()

        wait_until(lambda: not swept or not traces().processes, traces)
        wait_until(gone, traces)

    yield check
    for process in processes_of(tmp_path):
        sys.stderr.write(f"killed at the end of the test: {describe(process)}\n")
        os.kill(process, signal.SIGKILL)
