"""The contract of clients (subjects/CONTRACT.md), held against each of them in a room.

A few crawls answer all questions: each is a fixture, made once for a client, and the tests look at what came of it.
"""

import re
from datetime import datetime

import pytest

from contract.crawling import Crawled, crawl_in_room, urls_of
from contract.escalation import DELAYS_MS, TIMEOUTS_S, first_right
from contract.memory import LARGE_HEAPS, LONG, LONGEST, SHORT, TAKE_A_MINUTE, Growth, memory_growth
from doubles.claims import require_claims
from httpdyno.judge.saturation import TIMED_OUT_SATURATED
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Count, Outcome
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import ProbeResult, probe_cases

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
BLANKS = ["", "https://a.test/plain\r", "", "  https://b.test/plain  ", ""]
TWICE = "https://twice.test/plain"
TIMES = 5
USER_AGENT = "contract test/1.0"
AT_ONCE = 7
MOST_AT_ONCE = 20
"""As many at once as a client is measured with, if that is fewer: a browser cannot open twenty pages in a second."""
OFFERS_HTTP_2 = re.compile(r"https://(http2|goaway|stream-reset)")
WITHOUT_HTTP_2 = "https://length.test/"
ONE_HOST = "https://documents.test"
NO_DOCUMENTS = [f"{ONE_HOST}/plain", f"{ONE_HOST}/bytes/109", *(f"{ONE_HOST}/delay/150?n={n}" for n in range(3))]
LATE = [f"https://late.test/bytes/{length}" for length in range(101, 107)]


@pytest.fixture(scope="session")
def documents(engine: Engine) -> tuple[list[str], set[str]]:
    """Return URLs of the JSON document, and which of them give it with a wrong number.

    A few of the right ones come before each wrong one and a few after: what was read before must not be taken for it.
    """
    urls = [f"{ONE_HOST}/json?n={number}" for number in range(3000)]
    with ScratchFile() as listed, ScratchFile() as answer:
        listed.file.write("\n".join(urls).encode())
        listed.file.flush()
        engine.expect(web="wrong-documents", seed=1, timeout_s=5, check="json", urls=listed.path, into=answer.file)
        rows = answer.read_text().splitlines()[1:]
    wrong = [number for number, row in enumerate(rows) if ",error,,,check_failed," in row]
    assert 0 < len(wrong) < len(urls) / 100
    near = sorted({number + step for number in wrong for step in range(-3, 4)} & set(range(3000)))
    return [urls[number] for number in near], {urls[number] for number in wrong}


@pytest.fixture(scope="session")
def faults(engine: Engine, build: Build) -> Crawled:
    """Crawl every fault, every honest oddity and what is no URL."""
    urls = [*urls_of(engine, "contract", 10_000), *NO_URLS]
    concurrency = min(MOST_AT_ONCE, build.subject.concurrency)

    def crawled(timeout_s: float) -> Crawled:
        return crawl_in_room(engine, build, urls, web="contract", timeout_s=timeout_s, concurrency=concurrency)

    return first_right(TIMEOUTS_S, crawled, lambda crawled: crawled.is_right)


@pytest.fixture(scope="session")
def plain(engine: Engine, build: Build) -> Crawled:
    """Crawl honest answers alone, some of them held back until as many as it may have are in flight together."""

    def crawled(delay_ms: int) -> Crawled:
        held_back = [f"https://host{number}.test/delay/{delay_ms}" for number in range(3 * AT_ONCE)]
        lines = [*BLANKS, *[TWICE] * TIMES, *CODINGS, *held_back, *NO_URLS]
        return crawl_in_room(engine, build, lines, concurrency=AT_ONCE, user_agent=USER_AGENT)

    return first_right(DELAYS_MS, crawled, lambda crawled: crawled.is_right and peak_of(crawled) == AT_ONCE)


@pytest.fixture(scope="session")
def sequential(engine: Engine, build: Build, documents: tuple[list[str], set[str]]) -> Crawled:
    """Crawl one host's URLs one after another, and have the documents checked if it can."""
    check = "json" if "json" in build.subject.capabilities.check else ""
    urls = [*documents[0], *NO_DOCUMENTS]
    return crawl_in_room(engine, build, urls, web="wrong-documents", concurrency=1, check=check)


@pytest.fixture(scope="session")
def late(engine: Engine, build: Build) -> Crawled:
    """Crawl one host's URLs, each handed over when the one before it has been answered; apart if it can."""
    return crawl_in_room(engine, build, LATE, batch=1, keepalive=False not in build.subject.capabilities.keepalive)


def pinned(engine: Engine, build: Build, version: str) -> Crawled:
    """Crawl the hosts that offer HTTP/2, with the client told to speak one version alone."""
    if version not in build.subject.capabilities.http:
        pytest.skip(f"it does not claim to speak HTTP/{version} alone")
    urls = [url for url in urls_of(engine, "contract", 10_000) if OFFERS_HTTP_2.match(url)]
    assert len(urls) > 10

    def crawled(timeout_s: float) -> Crawled:
        return crawl_in_room(
            *(engine, build, [*urls, WITHOUT_HTTP_2]),
            web="contract",
            timeout_s=timeout_s,
            concurrency=5,
            http_version=version,
        )

    return first_right(TIMEOUTS_S, crawled, lambda crawled: crawled.is_right)


def peak_of(crawled: Crawled) -> int | None:
    """Return the most requests that the origin had in flight together."""
    return crawled.judged.trial.counters.peak_concurrency


def is_claimed(build: Build, claim: str, works: bool) -> None:
    """Hold what a claim says to what was seen, as the probe does."""
    claimed = next(case.claimed for case in probe_cases(build.subject) if case.claim == claim)
    known = build.subject.known_failure(claim) if works != claimed else None
    require_claims(build.subject, (ProbeResult(claim, claimed, works, known.reason if known else None),))


# --- Every fault ----------------------------------------------------------------------------------------------------


def test_every_fault_is_told_apart(faults: Crawled) -> None:
    assert faults.judged.trial.outcome is Outcome.OK, faults.judged.trial.reason
    assert faults.wrong == []


def test_lines_have_the_strict_form(faults: Crawled, plain: Crawled) -> None:
    for crawled in (faults, plain):
        assert crawled.output.endswith("\n")
        for line in crawled.lines:
            match = STRICT_LINE.fullmatch(line)
            assert match, line
            datetime.fromisoformat(match["start"])


def test_hosts_of_http_2_are_told_apart_over_http_1(engine: Engine, build: Build) -> None:
    crawled = pinned(engine, build, "1.1")
    assert crawled.wrong == []
    assert set(crawled.versions) == {"1.1"}
    assert crawled.codes[WITHOUT_HTTP_2] == "200"


def test_hosts_of_http_2_are_told_apart_over_http_2(engine: Engine, build: Build) -> None:
    crawled = pinned(engine, build, "2")
    assert crawled.wrong == []
    # Some libraries see only by the answer which version was spoken: one request may reach the host without HTTP/2.
    assert crawled.versions.pop("2") > 0
    assert not crawled.codes[WITHOUT_HTTP_2].isdigit()
    assert {version: count for version, count in crawled.versions.items() if version != "2"} in ({}, {"1.1": 1})


@pytest.mark.measured
def test_every_fault_is_told_apart_within_a_second(crawl: Crawl, engine: Engine, build: Build) -> None:
    concurrency = min(MOST_AT_ONCE, build.subject.concurrency)
    crawled = crawl(urls_of(engine, "contract", 10_000), web="contract", timeout_s=1.0, concurrency=concurrency)
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    # A client that compiles itself as it begins may have no CPU left for a long content: that is no fault mistaken.
    assert [one for one in crawled.wrong if TIMED_OUT_SATURATED not in one] == []


# --- Honest answers alone -------------------------------------------------------------------------------------------


def test_codings_are_decoded(plain: Crawled) -> None:
    # /gzip is never sent plain, /brotli and /zstd come in that coding to whom offers it: the length tells.
    assert plain.wrong == []
    assert {url: plain.codes.get(url) for url in CODINGS} == dict.fromkeys(CODINGS, "200")


def test_concurrency_is_honoured_and_used(plain: Crawled) -> None:
    assert peak_of(plain) == AT_ONCE


def test_the_user_agent_is_sent(plain: Crawled) -> None:
    assert plain.judged.trial.counters.user_agents == (Count(USER_AGENT, plain.judged.trial.counters.requests or 0),)


def test_blank_lines_and_line_ends_do_not_matter(plain: Crawled) -> None:
    fetched = [line.strip() for line in BLANKS if line.strip()]
    assert {url: plain.codes.get(url) for url in fetched} == dict.fromkeys(fetched, "200")
    assert "" not in plain.lines
    assert "" not in plain.codes


def test_what_is_no_url_is_a_row_with_an_error(plain: Crawled) -> None:
    assert plain.judged.trial.outcome is Outcome.OK, plain.judged.trial.reason
    assert plain.wrong == []
    rows = [line.rsplit(",", 4)[:2] for line in plain.lines]
    errors = [url for url, code in rows if not code.isdigit()]
    assert sorted(errors) == sorted(NO_URLS)


def test_a_url_that_comes_twice_is_fetched_twice(plain: Crawled) -> None:
    fetched = [line for line in plain.lines if line.startswith(f"{TWICE},")]
    assert len(fetched) == TIMES
    # No answer redirects and none fails: each line is a request, and there is no other.
    assert plain.judged.trial.counters.requests == len(plain.lines) - len(NO_URLS)


# --- One after another ----------------------------------------------------------------------------------------------


def test_one_at_a_time_is_honoured(sequential: Crawled) -> None:
    assert sequential.judged.trial.outcome is Outcome.OK, sequential.judged.trial.reason
    assert peak_of(sequential) == 1


def test_a_wrong_document_is_found_among_right_ones(
    sequential: Crawled, build: Build, documents: tuple[list[str], set[str]]
) -> None:
    if "json" not in build.subject.capabilities.check:
        pytest.skip("it does not claim to check JSON")
    # Whether it was seen when it says is no matter of documents.
    assert [fault for fault in sequential.wrong if fault[-1] != "wrong_time"] == []
    found = {url for url, code in sequential.codes.items() if code == "CheckFailed"}
    assert found == documents[1] | set(NO_DOCUMENTS)


def test_connections_are_kept_as_it_claims(sequential: Crawled, build: Build) -> None:
    is_claimed(build, "keepalive on", bool(sequential.judged.trial.counters.reused))


def test_connections_are_not_kept_as_it_claims(late: Crawled, build: Build) -> None:
    if False not in build.subject.capabilities.keepalive:
        pytest.skip("it does not claim to make a connection for each request")
    is_claimed(build, "keepalive off", late.judged.trial.counters.reused == 0)


def test_a_line_that_comes_late_is_fetched_when_it_comes(late: Crawled) -> None:
    # Each comes when the one before it has been answered: who waits for the end of the list, or for more lines to come,
    # waits for ever.
    assert late.judged.trial.outcome is Outcome.OK, late.judged.trial.reason
    # Whether each was seen when it says is asked of the other crawls, more than once where the machine is busy.
    assert [fault for fault in late.wrong if fault[-1] != "wrong_time"] == []
    assert [line.split(",")[0] for line in late.lines] == LATE
    assert set(late.codes.values()) == {"200"}


# --- A process each -------------------------------------------------------------------------------------------------


def test_nothing_works_that_is_not_claimed(engine: Engine, build: Build) -> None:
    # What is claimed is proved by the crawls above, timed calls by test_timed_calls.py.
    unclaimed = [case.claim for case in probe_cases(build.subject) if not case.claimed]
    outcome = BuildOutcome(build.subject, build)
    results = probe_subject(engine, build.subject, outcome, Pinning(), Interruption(), only=unclaimed)
    assert [result.claim for result in results] == unclaimed
    require_claims(build.subject, results)


def test_an_empty_list_is_a_quick_end(crawl: Crawl) -> None:
    crawled = crawl([])
    assert crawled.judged.trial.counters.exit_code == 0
    assert crawled.output == ""


@pytest.mark.parametrize("version", ["0.9", "nonsense"])
def test_a_setting_that_cannot_be_honoured_ends_with_127(crawl: Crawl, version: str) -> None:
    crawled = crawl(["https://a.test/plain"], environment={"HTTP_VERSION": version})
    assert crawled.judged.trial.counters.exit_code == 127
    assert crawled.output == ""
    assert crawled.judged.trial.reason is not None
    assert "HTTP_VERSION" in crawled.judged.trial.reason


# --- Memory ---------------------------------------------------------------------------------------------------------


# A process a URL takes minutes, and there may be three lists.
@pytest.mark.measured
@pytest.mark.timeout(1800)
def test_memory_does_not_grow_with_the_list(
    crawl: Crawl, engine: Engine, build: Build, pytestconfig: pytest.Config
) -> None:
    if build.subject.id in TAKE_A_MINUTE and not pytestconfig.getoption("--subject"):
        pytest.skip(f"it takes a minute: make measure ARGS='tests/contract --subject {build.subject.id}'")
    if known := build.subject.known_failure("memory_growth"):
        pytest.skip(f"known: {known.reason}")

    def growth(few: int, many: int) -> Growth | None:
        crawled = crawl(urls_of(engine, "plain", many), concurrency=50, timeout_s=5.0, deadline_s=540)
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
