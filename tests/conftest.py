"""Fixtures of all tests: generated subjects, a stand-in for the engine, and the engine itself."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from disturbance import measured, skip_inconclusive
from httpdyno.lab.engine import Engine, engine_refusal
from httpdyno.model import Fitness
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.engine_program import find_engine
from side_by_side import cpu_of, unit_of

TESTS = Path(__file__).parent

MakeSubject = Callable[..., Path]

ANSWERS_ALL = """
import sys
for number, line in enumerate(sys.stdin):
    print(f"{line.strip()},200,2026-11-21T10:00:00.{number * 1000:06d}+00:00,1.5,13", flush=True)
"""
"""A client that claims a 200 of 13 bytes for up to a thousand URLs, one each ms, without sending a request."""


@pytest.fixture
def subject_folders(tmp_path: Path) -> Path:
    """The folder to give to ``--subjects``."""
    folder = tmp_path / "subjects"
    folder.mkdir()
    return folder


@pytest.fixture
def make_subject(subject_folders: Path) -> MakeSubject:
    """Write the folder of a Python client: its id, its program, and further lines for its ``subject.toml``.

    It starts without the machine's additions to Python, which take longer than the start itself.
    """

    def make(
        name: str,
        program: str = ANSWERS_ALL,
        more: str = "",
        needs: str = 'python3 = ">=3.11"',
        concurrency: int = 1,
    ) -> Path:
        folder = subject_folders / name
        folder.mkdir()
        (folder / "main.py").write_text(program, encoding="utf-8")
        (folder / "subject.toml").write_text(
            f'kind = "client"\nlanguage = "Python"\nmethod = "{name}"\nconcurrency = {concurrency}\n[needs]\n{needs}\n'
            f'[run]\nargv = ["python3", "-S", "main.py"]\n{more}\n',
            encoding="utf-8",
        )
        return folder

    return make


@pytest.fixture
def stand_in_engine(tmp_path: Path) -> Path:
    """A program with the engine's argv and the behaviour of ``doubles/engine.py``; lines are read by the engine."""
    program = tmp_path / "httpdyno-engine"
    program.write_text(
        f'#!/bin/sh\n[ "$1" != lines ] || exec {find_engine()} "$@"\n'
        f'exec {sys.executable} -S {TESTS / "doubles" / "engine.py"} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Find the real engine; skip where the kernel does not allow rooms.

    The program is copied: a set-up may replace it meanwhile, and another engine does not accept earlier probes.
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
    """Skip on a machine without namespaces; fail if a room cannot be made for any other reason."""
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
    """Find the browser; skip where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium; install it with: apt-get install -y --no-install-recommends chromium")
    return Path(found)


def pytest_configure(config: pytest.Config) -> None:
    """Restore the default handling of signals, which are ignored when the tests run in the background.

    Each of several workers uses a CPU of its own, and so do the processes that it starts.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    start_python_itself()
    forget_proxies()
    settings.register_profile("gate", derandomize=True, deadline=None, database=None)
    settings.register_profile("measured", deadline=None, database=None)
    settings.register_profile("fast", settings.get_profile("gate"), max_examples=25)
    settings.load_profile(
        "measured" if config.getoption("fresh_seeds") else "fast" if config.getoption("fast") else "gate"
    )
    if hasattr(config, "workerinput"):
        worker = int(config.workerinput["workerid"].removeprefix("gw"))
        os.sched_setaffinity(0, {cpu_of(worker, sorted(os.sched_getaffinity(0)))})
    elif config.getoption("outcome"):
        config.pluginmanager.register(OutcomeRecord(Path(config.getoption("outcome"))))


def forget_proxies() -> None:
    """Remove the variables of proxies: tests talk to servers of this machine, and some machines of CI have a proxy."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]


def start_python_itself() -> None:
    """Put the real `python3` first in PATH if it is a script that searches for it, as in pyenv.

    The script takes a quarter of a second, and the clients of the tests are started some thousand times. Its own folder
    comes first and none of the tests: environments that they build in the user's cache lead there, and are kept.
    """
    found = shutil.which("python3")
    if found and Path(found).read_bytes().startswith(b"#!"):
        os.environ["PATH"] = f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.environ['PATH']}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Give the workers units of tests, in the order of the folders: the longest are not the last."""
    return Units(config, log)


class Units(LoadScopeScheduling):
    """Has each worker run whole units of tests."""

    subjects = frozenset(read_catalogue([TESTS / "fixtures"]).subjects)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid, self.subjects)


class OutcomeRecord:
    """Records the result of each test, and writes all as JSON at the end (tests/gate.py, tests/measure.py)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed = 0
        self._failed: dict[str, None] = {}
        self._skipped: list[str] = []
        self._figures: list[dict[str, object]] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None
        elif report.skipped:
            self._skipped.append(reason_of(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None
        elif report.skipped:
            self._skipped.append(reason_of(report))
        elif report.when == "call":
            self._passed += 1
        if report.when == "teardown":
            self._figures += [
                {"test": report.nodeid, **value} for name, value in report.user_properties if name == "figure"
            ]

    def pytest_sessionfinish(self) -> None:
        record = {
            "passed": self._passed,
            "failed": list(self._failed),
            "skipped": self._skipped,
            "figures": self._figures,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(record), encoding="utf-8")


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why a test was skipped."""
    where = report.longrepr
    return (where[2] if isinstance(where, tuple) else str(where)).removeprefix("Skipped: ")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Repeat measurements that failed on a disturbed machine; tests that decide by logic run once."""
    if not item.get_closest_marker("measured"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, disturbed = measured(lambda: runtestprotocol(item, log=False, nextitem=nextitem))
    for report in skip_inconclusive(reports, disturbed):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the contract test be run for other subjects: `pytest tests/contract --subject ID`."""
    parser.addoption(
        "--subject",
        action="append",
        default=[],
        help="client to hold against the contract, or all; default: contract/subjects.txt",
    )
    parser.addoption(
        "--fast",
        action="store_true",
        help="only tests in unit/ and golden/ that start no engine and are not marked slow",
    )
    parser.addoption("--outcome", help="file to write what came of each test to, as JSON")
    parser.addoption("--fresh-seeds", action="store_true", help="properties with other examples each time")


NEED_AN_ENGINE = frozenset({"engine", "make_subject", "stand_in_engine"})
"""Fixtures of tests that start programs."""
QUICK = tuple(str(TESTS / name) for name in ("unit", "golden"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the fast tests with `--fast`: those of `make test-fast`."""
    if not config.getoption("fast"):
        return
    fast, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        starts_programs = NEED_AN_ENGINE.intersection(getattr(item, "fixturenames", ()))
        is_slow = any(item.get_closest_marker(name) for name in ("slow", "measured"))
        is_fast = str(item.path).startswith(QUICK) and not starts_programs and not is_slow
        (fast if is_fast else others).append(item)
    items[:] = fast
    config.hook.pytest_deselected(items=others)


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, float, str], None]:
    """Record the figures of a test: `figure(name, value, unit)`; `make measure` appends it to its file."""

    def keep(name: str, value: float, unit: str) -> None:
        request.node.user_properties.append(("figure", {"figure": name, "value": value, "unit": unit}))

    return keep
