"""The contract of clients (subjects/CONTRACT.md), held against each of them in a room."""

import re
from datetime import datetime

import pytest

from contract.memory import memory_growth
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Count, Outcome
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import require_claims

# The fixture's type; importing it from conftest would load that file twice.
Crawl = "Crawl"

STRICT_LINE = re.compile(
    r".*,(?:[1-5][0-9]{2}|[A-Za-z][A-Za-z0-9_.-]*),"
    r"(?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{6,}(?:Z|[+-][0-9]{2}:[0-9]{2}),"
    r"[0-9]+\.[0-9]+,[0-9]+"
)
NO_URLS = [
    "two words",
    "https://exa mple.test/",
    "plain.test",
    "https://plain.test:99999/",
    "https://",
    "ftp://plain.test/",
]
CODINGS = [f"https://codings.test/{name}?n={number}" for name in ("gzip", "brotli", "zstd") for number in range(3)]
FEW, MANY = 5_000, 20_000
ATTEMPTS = 5


def urls_of(engine: Engine, web: str, limit: int) -> list[str]:
    with ScratchFile() as file:
        engine.urls(web=web, seed=1, limit=limit, into=file.file)
        return file.read_text().split()


def test_every_fault_is_told_apart(crawl: Crawl, engine: Engine, build: Build) -> None:
    # As many at once as it is measured with, if that is few: a browser cannot open twenty pages in a second.
    concurrency = min(20, build.subject.concurrency)
    # A second is little for what has to start first: it is tried again, but only where others had the CPU meanwhile.
    for _ in range(ATTEMPTS):
        crawled = crawl(urls_of(engine, "contract", 10_000), web="contract", timeout_s=1.0, concurrency=concurrency)
        if not (crawled.wrong and crawled.disturbed):
            break
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    assert crawled.wrong == []


def test_lines_have_the_strict_form(crawl: Crawl, engine: Engine) -> None:
    crawled = crawl([*urls_of(engine, "contract", 10_000), *NO_URLS], web="contract", timeout_s=1.0, concurrency=40)
    assert crawled.output.endswith("\n")
    for line in crawled.lines:
        match = STRICT_LINE.fullmatch(line)
        assert match, line
        datetime.fromisoformat(match["start"])


@pytest.mark.parametrize("concurrency", [1, 7])
def test_concurrency_is_honoured_and_used(crawl: Crawl, concurrency: int) -> None:
    urls = [f"https://host{number}.test/delay/100" for number in range(8 * concurrency)]
    crawled = crawl(urls, concurrency=concurrency)
    assert crawled.wrong == []
    assert crawled.judged.trial.counters.peak_concurrency == concurrency


def test_the_user_agent_is_sent(crawl: Crawl) -> None:
    crawled = crawl([f"https://host{number}.test/plain" for number in range(5)], user_agent="contract test/1.0")
    assert crawled.judged.trial.counters.user_agents == (Count("contract test/1.0", 5),)


def test_codings_are_decoded(crawl: Crawl) -> None:
    # /gzip is never sent plain, /brotli and /zstd come in that coding to whom offers it: the length tells.
    crawled = crawl(CODINGS)
    assert crawled.wrong == []
    assert set(crawled.codes.values()) == {"200"}


def test_every_claim_holds_and_nothing_is_left_unclaimed(engine: Engine, build: Build) -> None:
    outcome = BuildOutcome(build.subject, build)
    require_claims(build.subject, probe_subject(engine, build.subject, outcome, Machine(), Interruption()))


def test_an_empty_list_is_a_quick_end(crawl: Crawl) -> None:
    crawled = crawl([])
    assert crawled.judged.trial.counters.exit_code == 0
    assert crawled.output == ""


def test_blank_lines_and_line_ends_do_not_matter(crawl: Crawl) -> None:
    crawled = crawl(["", "https://a.test/plain\r", "", "  https://b.test/plain  ", ""])
    codes = {url.strip(): code for url, code in crawled.codes.items()}
    assert codes == {"https://a.test/plain": "200", "https://b.test/plain": "200"}


def test_what_is_no_url_is_a_row_with_an_error(crawl: Crawl) -> None:
    crawled = crawl([*NO_URLS, "https://good.test/plain"])
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    assert crawled.wrong == []
    assert crawled.codes.pop("https://good.test/plain") == "200"
    assert len(crawled.lines) == len(NO_URLS) + 1
    assert not any(code.isdigit() for url, code in crawled.codes.items() if url in NO_URLS)


def test_a_url_that_comes_twice_is_fetched_twice(crawl: Crawl) -> None:
    crawled = crawl(["https://twice.test/plain"] * 5)
    assert len(crawled.lines) == 5
    assert crawled.judged.trial.counters.requests == 5


@pytest.mark.parametrize("version", ["0.9", "nonsense"])
def test_a_setting_that_cannot_be_honoured_ends_with_127(crawl: Crawl, version: str) -> None:
    crawled = crawl(["https://a.test/plain"], http_version=version)
    assert crawled.judged.trial.counters.exit_code == 127
    assert crawled.output == ""
    assert crawled.judged.trial.reason is not None
    assert "HTTP_VERSION" in crawled.judged.trial.reason


def test_memory_does_not_grow_with_the_list(crawl: Crawl, engine: Engine, build: Build) -> None:
    if known := build.subject.known_failure("memory_growth"):
        pytest.skip(f"known: {known.reason}")
    # A process a URL takes minutes; the deadline lies below the time limit of a test.
    crawled = crawl(urls_of(engine, "plain", MANY), concurrency=50, deadline_s=540)
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    growth = memory_growth(crawled.judged.trial.counters, few=FEW, many=MANY)
    print(growth)
    assert growth.is_flat, str(growth)
