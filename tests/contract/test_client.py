"""The contract of clients (subjects/CONTRACT.md), held against each of them in a room."""

import re
from datetime import datetime

import pytest

from contract.memory import LARGE_HEAPS, LONG, LONGEST, SHORT, Growth, memory_growth
from contract.patience import tried_with_patience
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Pinning
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
OFFERS_HTTP_2 = re.compile(r"https://(http2|goaway|stream-reset)")


def urls_of(engine: Engine, web: str, limit: int) -> list[str]:
    with ScratchFile() as file:
        engine.urls(web=web, seed=1, limit=limit, into=file.file)
        return file.read_text().split()


def wrong_documents(engine: Engine, urls: list[str]) -> list[int]:
    """Say which of the URLs give the JSON document with a wrong number: a few of them."""
    with ScratchFile() as listed, ScratchFile() as answer:
        listed.file.write("\n".join(urls).encode())
        listed.file.flush()
        engine.expect(web="wrong-documents", seed=1, timeout_s=5, check="json", urls=listed.path, into=answer.file)
        rows = answer.read_text().splitlines()[1:]
    wrong = [number for number, row in enumerate(rows) if ",error,,,check_failed," in row]
    assert 0 < len(wrong) < len(urls) / 100
    return wrong


# Faults are told apart by time, whoever else takes it away.
@pytest.mark.alone
def test_every_fault_is_told_apart(crawl: Crawl, engine: Engine, build: Build) -> None:
    # As many at once as it is measured with, if that is few: a browser cannot open twenty pages in a second.
    concurrency = min(20, build.subject.concurrency)
    urls = urls_of(engine, "contract", 10_000)
    crawled = tried_with_patience(
        lambda timeout_s: crawl(urls, web="contract", timeout_s=timeout_s, concurrency=concurrency)
    )
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    assert crawled.wrong == []


@pytest.mark.alone
@pytest.mark.parametrize("version", ["1.1", "2"])
def test_hosts_of_http_2_are_told_apart_in_either_version(
    crawl: Crawl, engine: Engine, build: Build, version: str
) -> None:
    if version not in build.subject.capabilities.http:
        pytest.skip(f"it does not claim to speak HTTP/{version} alone")
    urls = [url for url in urls_of(engine, "contract", 10_000) if OFFERS_HTTP_2.match(url)]
    assert len(urls) > 10
    crawled = tried_with_patience(
        lambda timeout_s: crawl(urls, web="contract", timeout_s=timeout_s, concurrency=5, http_version=version)
    )
    assert crawled.wrong == []
    versions = {count.name for count in crawled.judged.trial.counters.http_versions or ()}
    assert versions == {version}


def test_lines_have_the_strict_form(crawl: Crawl, engine: Engine) -> None:
    crawled = crawl([*urls_of(engine, "contract", 10_000), *NO_URLS], web="contract", timeout_s=1.0, concurrency=40)
    assert crawled.output.endswith("\n")
    for line in crawled.lines:
        match = STRICT_LINE.fullmatch(line)
        assert match, line
        datetime.fromisoformat(match["start"])


def test_a_wrong_document_is_found_among_right_ones(crawl: Crawl, engine: Engine, build: Build) -> None:
    if "json" not in build.subject.capabilities.check:
        pytest.skip("it does not claim to check JSON")
    urls = [f"http://documents.test/json?n={number}" for number in range(3000)]
    wrong = wrong_documents(engine, urls)
    # Of the right ones a few before each wrong one and a few after: what was read before must not be taken for it.
    near = sorted({number + step for number in wrong for step in range(-3, 4)} & set(range(3000)))
    given = [urls[number] for number in near]
    crawled = tried_with_patience(
        lambda timeout_s: crawl(given, web="wrong-documents", check="json", timeout_s=timeout_s)
    )
    # Whether it was seen when it says is no matter of documents.
    assert [fault for fault in crawled.wrong if fault[-1] != "wrong_time"] == []
    assert {url for url, code in crawled.codes.items() if code == "CheckFailed"} == {urls[number] for number in wrong}


@pytest.mark.parametrize("concurrency", [1, 7])
def test_concurrency_is_honoured_and_used(crawl: Crawl, concurrency: int) -> None:
    # Long enough that handshakes, one after the other on a busy CPU, are over while the first still waits.
    urls = [f"https://host{number}.test/delay/300" for number in range(8 * concurrency)]
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
    require_claims(build.subject, probe_subject(engine, build.subject, outcome, Pinning(), Interruption()))


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


def test_a_line_that_comes_late_is_fetched_when_it_comes(crawl: Crawl) -> None:
    # Each comes when the one before it has been answered: who waits for the end of the list, or for more lines to come,
    # waits for ever.
    urls = [f"https://late{number}.test/plain" for number in range(5)]
    crawled = crawl(urls, batch=1, deadline_s=60)
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    assert crawled.wrong == []
    assert [line.split(",")[0] for line in crawled.lines] == urls


@pytest.mark.parametrize("version", ["0.9", "nonsense"])
def test_a_setting_that_cannot_be_honoured_ends_with_127(crawl: Crawl, version: str) -> None:
    crawled = crawl(["https://a.test/plain"], environment={"HTTP_VERSION": version})
    assert crawled.judged.trial.counters.exit_code == 127
    assert crawled.output == ""
    assert crawled.judged.trial.reason is not None
    assert "HTTP_VERSION" in crawled.judged.trial.reason


# A process a URL takes minutes, and there may be three lists and a build.
@pytest.mark.timeout(1800)
def test_memory_does_not_grow_with_the_list(crawl: Crawl, engine: Engine, build: Build) -> None:
    if known := build.subject.known_failure("memory_growth"):
        pytest.skip(f"known: {known.reason}")

    def growth(few: int, many: int) -> Growth | None:
        crawled = crawl(urls_of(engine, "plain", many), concurrency=50, deadline_s=540)
        assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
        return memory_growth(crawled.judged.trial.counters, few=few, many=many)

    # What is kept for each URL is kept from the start; who is still warming up, or was too quick, gets a longer list.
    for few, many in (LONG, LONGEST) if build.subject.id in LARGE_HEAPS else (SHORT, LONG, LONGEST):
        found = growth(few, many)
        print(f"{many:,} URLs: {found}")
        if found is not None and found.is_flat and found.tells:
            break
    assert found is not None, "too quick to be read"
    assert found.is_flat, str(found)
