"""Fixtures of all tests: subjects written on the spot, a stand-in for the engine, and the engine itself."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine, engine_refusal
from httpdyno.lab.location import find_engine
from httpdyno.model import Fitness

TESTS = Path(__file__).parent

MakeSubject = Callable[..., Path]

ANSWERS_ALL = """
import sys
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
"""
"""A client that claims a 200 of 13 bytes for every URL, without asking anyone."""


@pytest.fixture
def subject_folders(tmp_path: Path) -> Path:
    """The folder to give to ``--subjects``."""
    folder = tmp_path / "subjects"
    folder.mkdir()
    return folder


@pytest.fixture
def make_subject(subject_folders: Path) -> MakeSubject:
    """Write the folder of a Python client: its id, its program, and further lines for its ``subject.toml``."""

    def make(name: str, program: str = ANSWERS_ALL, more: str = "", needs: str = 'python3 = ">=3.11"') -> Path:
        folder = subject_folders / name
        folder.mkdir()
        (folder / "main.py").write_text(program, encoding="utf-8")
        (folder / "subject.toml").write_text(
            f'kind = "client"\nlanguage = "Python"\nmethod = "{name}"\nconcurrency = 3\n[needs]\n{needs}\n'
            f'[run]\nargv = ["python3", "main.py"]\n{more}\n',
            encoding="utf-8",
        )
        return folder

    return make


@pytest.fixture
def stand_in_engine(tmp_path: Path) -> Path:
    """A program that takes the engine's argv and does what ``doubles/engine.py`` says."""
    program = tmp_path / "httpdyno-engine"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {TESTS / "doubles" / "engine.py"} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Find the real engine; skip where the kernel lets it make no room."""
    found = Engine(find_engine())
    require_room(found)
    return found


def require_room(engine: Engine) -> None:
    """Skip on a machine that lets nobody make namespaces; fail when a room cannot be made for any other reason."""
    tried = subprocess.run(
        [engine.path, "room", "--web", "plain", "--", "true"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if tried.returncode == 0:
        return
    refusal = f"no room on this machine: {engine_refusal(tried.stderr, tried.returncode)}"
    if any(fact.name.endswith("_namespaces") and fact.ok is Fitness.NO for fact in engine.doctor()):
        pytest.skip(refusal)
    pytest.fail(f"{refusal}; the doctor knows of no reason for that")


def require_chromium() -> Path:
    """Find the browser; skip where it can only be installed by hand, fail where `make test` would have installed it."""
    found = shutil.which("chromium")
    if found:
        return Path(found)
    cure = "install it with: apt-get install -y --no-install-recommends chromium"
    if (os.geteuid() == 0 and shutil.which("apt-get")) or os.environ.get("CI"):
        pytest.fail(f"no chromium, though this machine can have it: run scripts/setup-chromium, or {cure}")
    pytest.skip(f"no chromium on this machine; {cure}")


def pytest_configure() -> None:
    """Let signals do what they do in a terminal: whoever starts the tests in the background has them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the contract test be run for other subjects: `pytest tests/contract --subject ID`."""
    parser.addoption(
        "--subject",
        action="append",
        default=[],
        help="client to hold against the contract, or all; default: contract/subjects.txt",
    )
