"""The search for leftovers finds them: a search without results would let every test pass."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.traces import CONTROL_GROUPS, Before, Traces, control_groups, engine_groups, start_of, traces_of
from httpdyno.lab.engine import Engine

from .conftest import wait_until

Look = Callable[[], Traces]
SLEEP = f"sleep 1000.{os.getpid()}"
SAY_SO_AND_SLEEP = f"echo; exec {SLEEP}"


@pytest.fixture
def look(tmp_path: Path, before: Before) -> Look:
    """Search for leftovers of the test's folder."""
    (tmp_path / "tmp").mkdir()
    return lambda: traces_of(tmp_path, tmp_path / "tmp", before)


@pytest.fixture
def asleep() -> Iterator[Callable[[list[str]], int]]:
    """Start a program that prints a line, then sleeps, with nothing about it that names a folder."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(argv: list[str]) -> int:
        process = subprocess.Popen(argv, cwd="/", env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout
        if not process.stdout.readline():
            pytest.skip(f"{argv[0]} is refused here")
        return process.pid

    yield begin
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def test_where_nothing_is_nothing_is_found(look: Look) -> None:
    # Other tests kill engines: what those leave is there until they sweep it.
    wait_until(lambda: look() == Traces(), look)


def test_a_process_and_a_file_are_found(look: Look, asleep: Callable[[list[str]], int], tmp_path: Path) -> None:
    process = asleep([sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)", str(tmp_path)])
    (tmp_path / "tmp" / "forgotten").touch()
    assert [text.split()[0] for text in look().processes] == [str(process)]
    assert look().files == (str(tmp_path / "tmp" / "forgotten"),)


def test_a_network_namespace_of_any_process_is_found(look: Look, asleep: Callable[[list[str]], int]) -> None:
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    asleep(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", SAY_SO_AND_SLEEP])
    found = look()
    (ours,) = [name for name in found.network_namespaces if SLEEP in name]
    assert ours
    assert found.processes == ()


def test_a_room_that_lives_is_no_leftover(look: Look, asleep: Callable[[list[str]], int], engine: Engine) -> None:
    asleep([str(engine.path), "room", "--web", "plain", "--", "sh", "-c", SAY_SO_AND_SLEEP])
    wait_until(lambda: look() == Traces(), look)


def group_name(start: str | None) -> str:
    """Name a control group as an engine would that is this process, and was started then."""
    return f"httpdyno-{Path('/proc/self/ns/pid').stat().st_ino}-{os.getpid()}-{start}"


def test_a_group_of_an_engine_that_is_gone_is_found(tmp_path: Path) -> None:
    now = start_of(os.getpid())
    # This process lives, but it did not start with the machine.
    gone, lives = tmp_path / "below" / group_name("0"), tmp_path / group_name(now)
    for folder in (gone, lives, tmp_path / "somebody-else"):
        folder.mkdir(parents=True)
    assert control_groups(tmp_path) == {str(gone)}
    assert control_groups(tmp_path, since_ticks=1) == set()


def test_groups_are_looked_for_where_the_kernel_has_them() -> None:
    # Of an engine that lives: each engine that makes a room sweeps the groups of those that are gone.
    name = group_name(start_of(os.getpid()))
    for parent in (CONTROL_GROUPS, *sorted(CONTROL_GROUPS.glob("*/"))):
        group = parent / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            assert group in {folder for folder, _, _ in engine_groups()}
        finally:
            group.rmdir()
        return
    pytest.skip("no control group can be made here")
