"""Pages of runs without a measurement, and a real browser that opens them without a network."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from conftest import TESTS, require_chromium
from doubles.capacity import Simulated, capacity_trials
from doubles.loads import keep_load_report
from doubles.runs import NOON, make_run, manifest_of
from doubles.trials import summary_of, trial
from httpdyno.cli.output import write_report
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.published import preset_axes
from httpdyno.experiments.load.records import load_trial
from httpdyno.model import (
    Counters,
    CpuTime,
    MemoryPoint,
    Outcome,
    Sample,
    Tally,
    ThroughputPoint,
    Trial,
    Validity,
)
from httpdyno.published import find_preset
from httpdyno.store import Machine, RunWriter, SubjectVersion, open_run, polars_schema

SECOND = 10**9
HOSTILE = "</script></style></svg>\"'><img src=x onerror='window.broken=1'><script>window.broken=1</script>{{7*7}}"
LONG = "L" * 200
PHONE = 390
PAPER = 680
"""Printable width of A4, in pixels."""
PATIENCE_MS = 300_000
"""Against hangs only."""
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Resolves when all changes of a page have been drawn, and its scroll events have been handled."""


def counters(subject: int) -> Counters:
    return Counters(
        wall_ns=8 * SECOND,
        cpu_user_ns=SECOND * (subject + 1),
        cpu_system_ns=SECOND // 2,
        peak_memory_bytes=2**24 * (subject + 1),
        throughput=tuple(ThroughputPoint(200_000_000 * end, 40 - subject) for end in range(1, 40)),
        memory=tuple(MemoryPoint(100_000_000 * place, 2**20 * (place + subject)) for place in range(60)),
        # Enough for most rules of validity to have a number: the report of a real run has all of these columns.
        started_at_ns=0,
        engine_cpu_user_ns=SECOND,
        engine_cpu_system_ns=SECOND,
        origin_waiting_ns=SECOND // 50,
        throttled_ns=0,
        cpu_pressure_us=0,
        memory_pressure_us=0,
        io_pressure_us=30_000,
        cpus=tuple(
            CpuTime(place, role, 2 * SECOND, SECOND // 10, 8 * SECOND)
            for place, role in enumerate(("engine", "subject"))
        ),
    )


def trials_of(count: int, blocks: int, names: Callable[[int], str]) -> list[Trial]:
    return [
        trial(
            f"subject-{subject}",
            block,
            counters=counters(subject),
            language="Go",
            method=names(subject),
            summary=summary_of(
                (200 - 10 * subject) * (1 + 0.01 * ((block * 7 + subject) % 5)),
                urls=100,
                status_2xx=80,
                status_4xx=10,
                exceptions=10,
                p50_ns=1e6 * (subject + 1),
            ),
        )
        for block in range(blocks)
        for subject in range(count)
    ]


def samples_of(number: int, error: str) -> pl.DataFrame:
    values: dict[str, Any] = {
        "trial": [number] * 100,
        "line": range(1, 101),
        "url": ["http://a.example/"] * 100,
        "code": ["200"] * 90 + [error] * 10,
        "status": [200] * 90 + [None] * 10,
        "error": [None] * 90 + [error] * 10,
        "duration_ns": [1_000_000 * place for place in range(1, 101)],
        "verdict": ["right"] * 90 + ["false_error"] * 10,
        "explained": [False] * 100,
    }
    columns = polars_schema(Sample)
    return pl.DataFrame({name: values.get(name, [None] * 100) for name in columns}, schema=columns)


def write_page(root: Path, trials: list[Trial], error: str = "TimedOut", **manifest: Any) -> Path:
    writer = RunWriter.create(root, manifest_of(trials, **manifest))
    for number, one in enumerate(trials):
        writer.add(replace(one, trial=number), samples_of(number, error) if one.outcome is Outcome.OK else None)
    writer.close(complete=True, ended_at=NOON)
    return write_report(open_run(writer.folder))


@pytest.fixture(scope="session")
def plain_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four subjects, five blocks; one more that failed."""
    failed = trial("gone", 0, outcome=Outcome.UNAVAILABLE, reason="needs go", validity=None, summary=None, tally=None)
    trials = [*trials_of(4, 5, lambda subject: f"client{subject}"), failed]
    return write_page(tmp_path_factory.mktemp("plain"), trials)


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All texts from a subject or a machine are attacks, or very long."""
    trials = trials_of(2, 3, lambda subject: (HOSTILE, LONG)[subject])
    incorrect = {"validity": Validity.INCORRECT, "validity_reason": HOSTILE, "tally": Tally(right=90, late=10)}
    trials.append(trial("liar", 0, method=HOSTILE, counters=counters(3), **incorrect))
    return write_page(
        tmp_path_factory.mktemp("hostile"),
        trials,
        error=HOSTILE,
        command=("httpdyno", "bench", HOSTILE, LONG),
        machine=Machine(HOSTILE, LONG, "x86_64", cpu=HOSTILE, sysctls={HOSTILE: LONG}),
        subjects=(SubjectVersion("liar", HOSTILE, HOSTILE, HOSTILE),),
    )


@pytest.fixture(scope="session")
def crowded_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More subjects than there are colours, seven blocks."""
    return write_page(tmp_path_factory.mktemp("crowded"), trials_of(13, 7, lambda subject: f"a-library-{subject}"))


@pytest.fixture(scope="session")
def empty_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No trial was finished."""
    return write_page(tmp_path_factory.mktemp("empty"), [], trials_planned=4)


def write_load_page(root: Path, *names: str, target: str) -> Path:
    """Write the page of a load with a trial for each of these reports of the generator."""
    reports = [json.loads((TESTS / "fixtures" / "load-reports" / f"{name}.json").read_text()) for name in names]
    trials = [load_trial(number, report, target=target) for number, report in enumerate(reports)]
    folder = make_run(root, trials, experiment="load", command=("httpdyno", "load", target), webs=())
    for number, report in enumerate(reports):
        keep_load_report(folder, number, report)
    return write_report(open_run(folder))


@pytest.fixture(scope="session")
def load_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trials at a rate: the generator's own reports draw the charts."""
    return write_load_page(tmp_path_factory.mktemp("load"), "open", "open", target="http://a.example/")


@pytest.fixture(scope="session")
def failed_load_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No answer came, and the address is an attack."""
    return write_load_page(tmp_path_factory.mktemp("failed"), "refused", target=f"http://a.example/{HOSTILE}{LONG}")


def write_capacity_page(root: Path, axes: Axes, subjects: Sequence[Simulated], **settings: Any) -> Path:
    """Write the page of a capacity run that tried every point of a grid."""
    trials = list(capacity_trials(axes.points(), subjects))
    settings = {**axes.settings(), "slo": "p99 < rtt + delay + 500ms", **settings}
    folder = make_run(root, trials, experiment="capacity", command=("httpdyno", "capacity"), settings=settings)
    return write_report(open_run(folder))


@pytest.fixture(scope="session")
def capacity_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clients over six sizes and four distances; the name of one is an attack."""
    axes = Axes(
        sizes_bytes=tuple(1024 * size for size in range(0, 501, 100)),
        round_trips_ns=tuple(1_000_000 * rtt for rtt in (0, 20, 40, 400)),
        rates_bits_per_s=(10_000_000_000,),
        concurrencies=(600,),
    )
    subjects = [
        Simulated(bytes_per_s=9e8),
        Simulated("rust-reqwest", "reqwest", 30_000, 1.1e9),
        Simulated("python-aiohttp", HOSTILE, 2_400, 3e8),
    ]
    return write_capacity_page(tmp_path_factory.mktemp("capacity"), axes, subjects)


@pytest.fixture(scope="session")
def published_grid_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 250 points of a published grid, with the published figures."""
    axes = preset_axes(find_preset("published-batch-4", "capacity"), Fraction(1, 10))
    settings = {"preset": "published-batch-4", "scale": "1/10"}
    return write_capacity_page(tmp_path_factory.mktemp("published-grid"), axes, [Simulated()], **settings)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Debian's chromium; nothing is downloaded. It ends before tests that measure begin."""
    program = require_chromium()
    with sync_playwright() as playwright:
        # The sandbox of the browser needs rights that a container may lack; the pages are our own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield browser
        browser.close()


@dataclass(slots=True)
class Opened:
    """A page in the browser, and its errors."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of the console, errors of scripts, dialogs."""

    def settle(self) -> None:
        """Wait until animations have ended and all drawing is done."""
        self.page.evaluate("document.getAnimations().forEach(one => one.finish())")
        self.page.evaluate(FRAMES)

    def show(self, drawing: Locator) -> None:
        """Scroll to a drawing; scrolling hides the pointer's tooltip."""
        drawing.scroll_into_view_if_needed()
        self.settle()

    def tip(self, text: str) -> Locator:
        """Wait until the pointer's tooltip has this text."""
        tip = self.page.locator(".tip", has_text=text)
        tip.wait_for(state="visible")
        return tip


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a file as a recipient of a mail does; settings are those of a browser's context."""
    contexts = []

    def begin(path: Path, width: int = 1280, **settings: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **settings)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        opened = Opened(context.new_page())
        page = opened.page
        page.on("request", lambda request: opened.requests.append(request.url))
        page.on("console", lambda said: opened.complaints.append(said.text) if said.type != "log" else None)
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (opened.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        return opened

    yield begin
    for context in contexts:
        context.close()
