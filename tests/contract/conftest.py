"""Fixtures of the contract test: each client built, and a way to run it in a room."""

from collections.abc import Callable
from functools import cache
from typing import Final

import pytest

from conftest import TESTS
from contract.downloads import is_no_download
from httpdyno.judge.client_cases import contract_cases
from httpdyno.judge.conformance import Observation
from httpdyno.lab.conformance import CaseRunner
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.model import SubjectKind
from httpdyno.subjects.build import Build, build_subjects, log_tail
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue

TESTED = {
    fixture: [
        line
        for line in (TESTS / "contract" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    for fixture, name in (("build", "subjects"), ("server", "servers"))
}
"""The clients and servers that every run of the tests checks, by the fixture that builds one."""
LOG_LINES: Final = 200
HANG_S: Final = 600.0
"""Patience with a client, beyond the time of its stalls."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once for each client or server: those that `--subject` names (`all`: every one), or a few."""
    own = any(mark.args[0] == "build" for mark in metafunc.definition.iter_markers("parametrize"))
    for fixture, kind in (("build", SubjectKind.CLIENT), ("server", SubjectKind.SERVER)):
        if fixture in metafunc.fixturenames and not own:
            asked = metafunc.config.getoption("--subject")
            chosen = _of_kind(asked, kind) if asked else TESTED[fixture]
            metafunc.parametrize(fixture, chosen, indirect=True, scope="session")


def _of_kind(asked: list[str], kind: SubjectKind) -> list[str]:
    """Return the subjects of one kind; a subject of unknown kind counts as a client, and fails as one."""
    catalogue = read_catalogue([TESTS / "fixtures"])
    if "all" in asked:
        unreadable = sorted(catalogue.invalid) if kind is SubjectKind.CLIENT else []
        return [*(subject.id for subject in read_catalogue().of_kind(kind)), *unreadable]
    kinds = {name: subject.kind for name, subject in catalogue.subjects.items()}
    return [name for name in asked if kinds.get(name, SubjectKind.CLIENT) is kind]


@pytest.fixture(scope="session")
def build(request: pytest.FixtureRequest) -> Build:
    """Build the client, in the cache that `make bench` uses; skip if this machine cannot build it."""
    return _built(request.param)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Build:
    """Build the server, alike."""
    return _built(request.param)


def _built(name: str) -> Build:
    (subject,) = read_catalogue([TESTS / "fixtures"]).select([name])
    outcome = build_subjects([subject], cache_folder())[subject.id]
    if outcome.build is None:
        log = log_tail(outcome.log, LOG_LINES) if outcome.log else []
        if outcome.log is None or is_no_download(log):
            pytest.skip(str(outcome.error))
    assert outcome.build is not None, outcome.error
    return outcome.build


CrawlOnce = Callable[[str], Observation]


@pytest.fixture(scope="session")
def runner(engine: Engine, build: Build) -> CaseRunner:
    """Where the client crawls."""
    return CaseRunner(engine, build, Pinning(), Interruption(), hang_s=HANG_S)


@pytest.fixture(scope="session")
def crawl_once(runner: CaseRunner) -> CrawlOnce:
    """Run the client's crawl of that name, which shows cases of the contract, or return its earlier result."""
    stimuli = {case.stimulus.name: case.stimulus for case in contract_cases(runner.build.subject)}
    return cache(lambda name: runner.run(stimuli[name])[0])
