"""What the contract test needs: each client built, and a way to run it in a room."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

from conftest import TESTS
from httpdyno.judge import JudgedTrial
from httpdyno.judge.validity.machine import foreign_cpu
from httpdyno.judge.validity.origin import waiting
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, SubjectKind, TrialPlan, Workload
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome, build_subjects
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue

TESTED = [
    line
    for line in (TESTS / "contract" / "subjects.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
"""The clients that every run of the tests holds against the contract."""
DISTURBED_PERCENT = 10
"""As the rules of validity have it."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once for each client: those that `--subject` names (`all`: every one), or one a language."""
    own = any(mark.args[0] == "build" for mark in metafunc.definition.iter_markers("parametrize"))
    if "build" in metafunc.fixturenames and not own:
        asked = metafunc.config.getoption("--subject") or TESTED
        if "all" in asked:
            catalogue = read_catalogue()
            asked = [*(subject.id for subject in catalogue.of_kind(SubjectKind.CLIENT)), *sorted(catalogue.invalid)]
        metafunc.parametrize("build", asked, indirect=True, scope="session")


@pytest.fixture(scope="session")
def build(request: pytest.FixtureRequest) -> Build:
    """Build the client, in the cache that `make bench` uses; skip when its toolchain is not there."""
    (subject,) = read_catalogue([TESTS / "fixtures"]).select([request.param])
    outcome = build_subjects([subject], cache_folder())[subject.id]
    if outcome.build is None and outcome.log is None:
        pytest.skip(str(outcome.error))
    assert outcome.build is not None, outcome.error
    return outcome.build


@dataclass
class Listener:
    """Keeps what a client prints."""

    printed: bytearray = field(default_factory=bytearray)
    wants_output: bool = True

    def progress(self, progress: Progress) -> None:
        """Take no interest."""

    def output(self, piece: bytes) -> None:
        """Keep it."""
        self.printed += piece


@dataclass(frozen=True)
class Crawled:
    """One crawl of a client: what it printed, and what was seen of it."""

    output: str
    judged: JudgedTrial

    @property
    def lines(self) -> list[str]:
        """The lines as printed."""
        return self.output.splitlines()

    @property
    def codes(self) -> dict[str, str]:
        """The code of each URL."""
        rows = (line.rsplit(",", 4) for line in self.lines)
        return {row[0]: row[1] for row in rows}

    @property
    def disturbed(self) -> bool:
        """Whether others used so much of the client's CPU, or of the origin's, that a timeout of 1 s says nothing."""
        readings = (foreign_cpu(self.judged.trial), waiting(self.judged.trial))
        return any(reading.number is not None and reading.number > DISTURBED_PERCENT for reading in readings)

    @property
    def wrong(self) -> list[tuple[Any, ...]]:
        """The samples at fault that no known failure explains."""
        samples = self.judged.samples
        fault = (samples["verdict"].cast(pl.String) != "right") & ~samples["explained"]
        return samples.filter(fault).select("url", "code", "body_length", "cause", "verdict").rows()


Crawl = Callable[..., Crawled]


@pytest.fixture
def crawl(engine: Engine, build: Build) -> Crawl:
    """Run the client in a room: `crawl(lines, web="plain", concurrency=10, timeout_s=5, keepalive=True, ...)`."""

    def run(
        lines: list[str], *, web: str = "plain", concurrency: int = 10, deadline_s: float = 180, **settings: Any
    ) -> Crawled:
        listener = Listener()
        with ScratchFile() as urls:
            urls.file.write("".join(f"{line}\n" for line in lines).encode())
            urls.file.flush()
            workload = Workload(urls.path, **settings)
            condition = Condition("contract", web, workload, concurrency=concurrency, deadline_s=deadline_s)
            plan = TrialPlan(0, 0, 0, build.subject, condition)
            builds = {build.subject.id: BuildOutcome(build.subject, build)}
            judged = RoomExecutor(engine, builds, urls, Machine(), Interruption(), listener).run(plan)
        return Crawled(listener.printed.decode(), judged)

    return run
