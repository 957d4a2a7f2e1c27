"""Two machines with a cable between them: an origin on one, the command on the other."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.command_line import Command, Ended
from doubles.many_commands import ManyCommands
from doubles.two_machines import Machines, RunningOrigin, two_machines
from httpdyno.lab.engine import Engine

START = [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())"]

StartHere = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with two_machines() as made:
        yield made


@pytest.fixture
def origin(machines: Machines, engine: Engine, tmp_path: Path) -> Iterator[Callable[..., RunningOrigin]]:
    """Start an origin on the other machine; a process that still runs at the end of the test is killed."""
    started: list[RunningOrigin] = []

    def start(*options: str) -> RunningOrigin:
        given = options or (
            "--web",
            "plain",
            "--listen",
            "0.0.0.0",
            "--listen",
            "::",
            "--cpus",
            str(min(os.sched_getaffinity(0))),
        )
        started.append(RunningOrigin(machines, engine.path, tmp_path / f"origin-{len(started)}", *given))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def start_here(machines: Machines, environment: dict[str, str], tmp_path: Path) -> Iterator[StartHere]:
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, program: list[str] | None = None) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*machines.at_here, *(program or START), *arguments],
            cwd=tmp_path,
            env=environment | {"PATH": environment["PATH"] + ":/usr/sbin:/sbin"},
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


@pytest.fixture(scope="module")
def commands(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManyCommands]:
    running = ManyCommands(machines.at_here, tmp_path_factory.mktemp("commands"))
    yield running
    running.end()


@pytest.fixture
def here(commands: ManyCommands, environment: dict[str, str], tmp_path: Path) -> Command:
    """Run `httpdyno` on the machine that measures."""
    reached = environment | {"PATH": environment["PATH"] + ":/usr/sbin:/sbin"}

    def run(*arguments: str) -> Ended:
        return Ended(*commands.run(*arguments, folder=tmp_path, environment=reached))

    return run


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    path = tmp_path / "urls"
    path.write_text("".join(f"https://host{n}.test/bytes/100?n={n}\n" for n in range(40)), encoding="utf-8")
    return path
