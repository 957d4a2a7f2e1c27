"""What the contract test needs: each client built, and a way to run it in a room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pytest

from conftest import TESTS
from httpdyno.judge import JudgedTrial
from httpdyno.judge.saturation import TIMED_OUT_SATURATED
from httpdyno.judge.validity.machine import foreign_cpu
from httpdyno.judge.validity.origin import waiting
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, SubjectKind, TrialPlan, Workload
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome, build_subjects
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
"""The clients and servers that every run of the tests holds against the contract, by the fixture that builds one."""
DISTURBED_PERCENT = 10
"""As the rules of validity have it."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once for each client or server: those that `--subject` names (`all`: every one), or a few."""
    own = any(mark.args[0] == "build" for mark in metafunc.definition.iter_markers("parametrize"))
    for fixture, kind in (("build", SubjectKind.CLIENT), ("server", SubjectKind.SERVER)):
        if fixture in metafunc.fixturenames and not own:
            asked = metafunc.config.getoption("--subject")
            chosen = _of_kind(asked, kind) if asked else TESTED[fixture]
            metafunc.parametrize(fixture, chosen, indirect=True, scope="session")


def _of_kind(asked: list[str], kind: SubjectKind) -> list[str]:
    """Give those of one kind; whose kind nobody can tell counts as a client, and fails as one."""
    catalogue = read_catalogue([TESTS / "fixtures"])
    if "all" in asked:
        unreadable = sorted(catalogue.invalid) if kind is SubjectKind.CLIENT else []
        return [*(subject.id for subject in read_catalogue().of_kind(kind)), *unreadable]
    kinds = {name: subject.kind for name, subject in catalogue.subjects.items()}
    return [name for name in asked if kinds.get(name, SubjectKind.CLIENT) is kind]


@pytest.fixture(scope="session")
def build(request: pytest.FixtureRequest) -> Build:
    """Build the client, in the cache that `make bench` uses; skip when its toolchain is not there."""
    return _built(request.param)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Build:
    """Build the server, alike."""
    return _built(request.param)


def _built(name: str) -> Build:
    (subject,) = read_catalogue([TESTS / "fixtures"]).select([name])
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
    def saturated(self) -> bool:
        """Whether all that is wrong is timeouts of its own, while it used all of its CPU itself."""
        return bool(self.wrong) and all(cause == TIMED_OUT_SATURATED for _, _, _, cause, _ in self.wrong)

    @property
    def starved(self) -> bool:
        """Whether it was out of processor time: others had it, or its own start took it."""
        return self.disturbed or self.saturated

    @property
    def wrong(self) -> list[tuple[Any, ...]]:
        """The samples at fault that no known failure explains."""
        samples = self.judged.samples
        fault = (samples["verdict"].cast(pl.String) != "right") & ~samples["explained"]
        return samples.filter(fault).select("url", "code", "body_length", "cause", "verdict").rows()


Crawl = Callable[..., Crawled]


@pytest.fixture
def crawl(engine: Engine, build: Build) -> Crawl:
    """Run the client in a room: `crawl(lines, web="plain", concurrency=10, timeout_s=5, keepalive=True, ...)`.

    With a `batch` it gets so many lines, and as many again whenever it has answered those. `environment` has variables
    as nobody sets them who measures.
    """

    def run(
        lines: list[str],
        *,
        web: str = "plain",
        concurrency: int = 10,
        deadline_s: float = 180,
        batch: int | None = None,
        environment: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> Crawled:
        listener = Listener()
        with ScratchFile() as urls:
            urls.file.write("".join(f"{line}\n" for line in lines).encode())
            urls.file.flush()
            workload = Workload(urls.path, **settings)
            condition = Condition(
                "contract", web, workload, concurrency=concurrency, deadline_s=deadline_s, batch=batch
            )
            plan = TrialPlan(0, 0, 0, build.subject, condition)
            subject = replace(build.subject, environment={**build.subject.environment, **(environment or {})})
            builds = {build.subject.id: BuildOutcome(subject, replace(build, subject=subject))}
            judged = RoomExecutor(engine, builds, urls, Pinning(), Interruption(), listener).run(plan)
        return Crawled(listener.printed.decode(), judged)

    return run
