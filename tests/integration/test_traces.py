"""What looks for leftovers finds them: a look that finds nothing would let every test of it pass.

Other tests run beside these, and some kill engines: what those leave is on this machine until the next room sweeps it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from doubles.traces import CONTROL_GROUPS, Before, Traces, traces_of
from httpdyno.lab.engine import Engine

Look = Callable[[], Traces]
SLEEP = f"sleep 1000.{os.getpid()}"
SAY_SO_AND_SLEEP = f"echo; exec {SLEEP}"
CHANCES = 20
"""Each engine that makes a room sweeps the groups of those that are gone, in the moment between two looks, too."""


@pytest.fixture
def look(tmp_path: Path, before: Before) -> Look:
    """Look for what is left of the test's folder."""
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


def comes_to_nothing(look: Look) -> None:
    """Fail unless a look finds nothing once what others have left is swept."""
    deadline = time.monotonic() + 120
    while (found := look()) != Traces():
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_where_nothing_is_nothing_is_found(look: Look) -> None:
    comes_to_nothing(look)


def test_a_process_and_a_file_are_found(look: Look, asleep: Callable[[list[str]], int], tmp_path: Path) -> None:
    process = asleep([sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)", str(tmp_path)])
    (tmp_path / "tmp" / "forgotten").touch()
    assert [text.split()[0] for text in look().processes] == [str(process)]
    assert look().files == (str(tmp_path / "tmp" / "forgotten"),)


def test_a_network_namespace_is_found_whoever_is_in_it(look: Look, asleep: Callable[[list[str]], int]) -> None:
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    asleep(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", SAY_SO_AND_SLEEP])
    found = look()
    (ours,) = [name for name in found.network_namespaces if SLEEP in name]
    assert ours
    assert found.processes == ()


def test_a_room_that_lives_is_no_leftover(look: Look, asleep: Callable[[list[str]], int], engine: Engine) -> None:
    asleep([str(engine.path), "room", "--web", "plain", "--", "sh", "-c", SAY_SO_AND_SLEEP])
    comes_to_nothing(look)


def test_a_group_of_an_engine_that_is_gone_is_found(look: Look) -> None:
    below = [folder for folder in (CONTROL_GROUPS, *sorted(CONTROL_GROUPS.glob("*/"))) if os.access(folder, os.W_OK)]
    # This process lives, but it did not start with the machine.
    name = f"httpdyno-{Path('/proc/self/ns/pid').stat().st_ino}-{os.getpid()}-0"
    for parent in below:
        group = parent / name
        found = [found_while_it_is_there(group, look) for _ in range(CHANCES)]
        if found[0] is not None:
            assert True in found
            return
    pytest.skip("no control group can be made here")


def found_while_it_is_there(group: Path, look: Look) -> bool | None:
    """Make a control group and say whether it is found; None where it cannot be made."""
    try:
        group.mkdir()
    except OSError:
        return None
    found = str(group) in look().control_groups
    with suppress(FileNotFoundError):
        group.rmdir()
    return found
