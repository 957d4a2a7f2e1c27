"""Fixtures of all tests: subjects written on the spot, a stand-in for the engine, and the engine itself."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadScopeScheduling

from httpdyno.lab.engine import Engine, engine_refusal
from httpdyno.lab.location import find_engine
from httpdyno.model import Fitness
from httpdyno.subjects.catalogue import read_catalogue
from side_by_side import ALONE_BY_DEFAULT, FIRST_IN_A_LANE, cpus_of, unit_of
from undisturbed import skip_unmeasured, until_undisturbed

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
    """Write the folder of a Python client: its id, its program, and further lines for its ``subject.toml``.

    It starts without what a machine may have added to its Python, which takes longer than to start that.
    """

    def make(name: str, program: str = ANSWERS_ALL, more: str = "", needs: str = 'python3 = ">=3.11"') -> Path:
        folder = subject_folders / name
        folder.mkdir()
        (folder / "main.py").write_text(program, encoding="utf-8")
        (folder / "subject.toml").write_text(
            f'kind = "client"\nlanguage = "Python"\nmethod = "{name}"\nconcurrency = 3\n[needs]\n{needs}\n'
            f'[run]\nargv = ["python3", "-S", "main.py"]\n{more}\n',
            encoding="utf-8",
        )
        return folder

    return make


@pytest.fixture
def stand_in_engine(tmp_path: Path) -> Path:
    """A program that takes the engine's argv and does what ``doubles/engine.py`` says."""
    program = tmp_path / "httpdyno-engine"
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -S {TESTS / "doubles" / "engine.py"} "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Find the real engine; skip where the kernel lets it make no room.

    The program is kept as it is now: a set-up may replace it meanwhile, and another engine believes no earlier probe.
    """
    built = find_engine()
    kept = tmp_path_factory.mktemp("engine") / built.name
    try:
        kept.hardlink_to(built)
    except OSError:  # another file system
        shutil.copy2(built, kept)
    require_room(Engine(kept))
    return Engine(kept)


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


def pytest_configure(config: pytest.Config) -> None:
    """Let signals do what they do in a terminal: whoever starts the tests in the background has them ignored.

    One of several workers keeps to its own CPUs, and so does all that it starts.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    start_python_itself()
    if hasattr(config, "workerinput"):
        worker = int(config.workerinput["workerid"].removeprefix("gw"))
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cpus_of(worker, cpus, lanes=config.getoption("lanes")))


def start_python_itself() -> None:
    """Put `python3` first in PATH where that is a script which looks for it, as pyenv has one.

    The script takes a quarter of a second, and the clients of the tests are started some thousand times. Its own folder
    comes first and none of the tests: environments that they build in the user's cache lead there, and are kept.
    """
    found = shutil.which("python3")
    if found and Path(found).read_bytes().startswith(b"#!"):
        os.environ["PATH"] = f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.environ['PATH']}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Hand the workers what stays together, in the order of the folders: the longest are not the last.

    A lane takes the next test when it is free (`--dist load`).
    """
    return None if config.getoption("lanes") else Units(config, log)


class Units(LoadScopeScheduling):
    """Has each worker run whole units of tests."""

    subjects = frozenset(read_catalogue([TESTS / "fixtures"]).subjects)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid, self.subjects)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what has its CPUs for itself; in lanes the longest come first."""
    for item in items:
        if folder_of(item) in ALONE_BY_DEFAULT and not item.get_closest_marker("beside"):
            item.add_marker("alone")
    if config.getoption("lanes"):
        items.sort(key=lambda item: folder_of(item) != FIRST_IN_A_LANE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test again that failed while the machine's host held its CPUs up."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, stolen = until_undisturbed(lambda: runtestprotocol(item, log=False, nextitem=nextitem))
    if item.get_closest_marker("alone"):
        skip_unmeasured(reports, stolen)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def folder_of(item: pytest.Item) -> str:
    """Name the folder of `tests` that a test lies in."""
    return item.path.relative_to(TESTS).parts[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the contract test be run for other subjects: `pytest tests/contract --subject ID`; let workers be lanes."""
    parser.addoption(
        "--subject",
        action="append",
        default=[],
        help="client to hold against the contract, or all; default: contract/subjects.txt",
    )
    parser.addoption("--lanes", action="store_true", help="each worker has two CPUs for itself (scripts/run-tests)")
