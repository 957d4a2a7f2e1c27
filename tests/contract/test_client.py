"""The contract of clients (subjects/CONTRACT.md), held against each of them in a room.

A few crawls answer all questions: each is made once for a client, and the tests look at what came of it.
"""

import re

import pytest

from contract.memory import LARGE_HEAPS, LONG, LONGEST, SHORT, TAKE_A_MINUTE, Growth, memory_growth
from doubles.claims import require_claims
from httpdyno.judge.verdict import TIMED_OUT_SATURATED
from httpdyno.lab.contract.check import find_documents
from httpdyno.lab.contract.clause import CLAUSES, Clause, breaches_of
from httpdyno.lab.contract.crawl import CONTRACT_WEB, Crawled, Room, urls_of
from httpdyno.lab.contract.escalation import TIMEOUTS_S, first_done
from httpdyno.lab.contract.lists import NO_DOCUMENTS
from httpdyno.lab.prober import probe_subject
from httpdyno.model import Outcome, Workload
from httpdyno.subjects.build import BuildOutcome
from httpdyno.subjects.probe import ProbeResult, probe_cases

# The fixture's type; importing it from conftest would load that file twice.
CrawlOnce = "CrawlOnce"

OFFERS_HTTP_2 = re.compile(r"https://(http2|goaway|stream-reset)")
WITHOUT_HTTP_2 = "https://length.test/"


def pinned(room: Room, version: str) -> Crawled:
    """Crawl the hosts that offer HTTP/2, with the client told to speak one version alone."""
    if version not in room.build.subject.capabilities.http:
        pytest.skip(f"it does not claim to speak HTTP/{version} alone")
    urls = [url for url in urls_of(room.engine, CONTRACT_WEB, 10_000) if OFFERS_HTTP_2.match(url)]
    assert len(urls) > 10

    def crawled(timeout_s: float) -> Crawled:
        lines = [*urls, WITHOUT_HTTP_2]
        return room.crawl(lines, web=CONTRACT_WEB, concurrency=5, told=Workload((), timeout_s, http_version=version))

    return first_done(TIMEOUTS_S, crawled, lambda crawled: not crawled.wants_time)


def is_claimed(room: Room, claim: str, works: bool) -> None:
    """Hold what a claim says to what was seen, as the probe does."""
    subject = room.build.subject
    claimed = next(case.claimed for case in probe_cases(subject) if case.claim == claim)
    known = subject.known_failure(claim) if works != claimed else None
    require_claims(subject, (ProbeResult(claim, claimed, works, known.reason if known else None),))


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.name)
def test_clause(crawl_once: CrawlOnce, clause: Clause) -> None:
    assert breaches_of(clause, crawl_once(clause.crawl)) == ()


def test_hosts_of_http_2_are_told_apart_over_http_1(room: Room) -> None:
    crawled = pinned(room, "1.1")
    assert crawled.wrong == []
    assert set(crawled.versions) == {"1.1"}
    assert crawled.codes[WITHOUT_HTTP_2] == "200"


def test_hosts_of_http_2_are_told_apart_over_http_2(room: Room) -> None:
    crawled = pinned(room, "2")
    assert crawled.wrong == []
    # Some libraries see only by the answer which version was spoken: one request may reach the host without HTTP/2.
    assert crawled.versions.pop("2") > 0
    assert not crawled.codes[WITHOUT_HTTP_2].isdigit()
    assert {version: count for version, count in crawled.versions.items() if version != "2"} in ({}, {"1.1": 1})


@pytest.mark.measured
def test_every_fault_is_told_apart_within_a_second(room: Room) -> None:
    urls, concurrency = urls_of(room.engine, CONTRACT_WEB, 10_000), min(20, room.build.subject.concurrency)
    crawled = room.crawl(urls, web=CONTRACT_WEB, concurrency=concurrency, told=Workload((), timeout_s=1))
    assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
    # A client that compiles itself as it begins may have no CPU left for a long content: that is no fault mistaken.
    assert [sample for sample in crawled.wrong if sample["cause"] != TIMED_OUT_SATURATED] == []


def test_a_wrong_document_is_found_among_right_ones(crawl_once: CrawlOnce, room: Room) -> None:
    if "json" not in room.build.subject.capabilities.check:
        pytest.skip("it does not claim to check JSON")
    documents = find_documents(room.engine)
    assert 0 < len(documents.wrong) < len(documents.urls) / 3
    found = {url for url, code in crawl_once("sequential").codes.items() if code == "CheckFailed"}
    assert found == documents.wrong | set(NO_DOCUMENTS)


def test_connections_are_kept_as_it_claims(crawl_once: CrawlOnce, room: Room) -> None:
    is_claimed(room, "keepalive on", bool(crawl_once("sequential").judged.trial.counters.reused))


def test_connections_are_not_kept_as_it_claims(crawl_once: CrawlOnce, room: Room) -> None:
    if False not in room.build.subject.capabilities.keepalive:
        pytest.skip("it does not claim to make a connection for each request")
    is_claimed(room, "keepalive off", crawl_once("late").judged.trial.counters.reused == 0)


def test_nothing_works_that_is_not_claimed(room: Room) -> None:
    # What is claimed is proved by the crawls above, timed calls by test_timed_calls.py.
    build = room.build
    unclaimed = [case.claim for case in probe_cases(build.subject) if not case.claimed]
    outcome = BuildOutcome(build.subject, build)
    results = probe_subject(room.engine, build.subject, outcome, room.pinning, room.interruption, only=unclaimed)
    assert [result.claim for result in results] == unclaimed
    require_claims(build.subject, results)


# A process a URL takes minutes, and there may be three lists.
@pytest.mark.measured
@pytest.mark.timeout(1800)
def test_memory_does_not_grow_with_the_list(room: Room, pytestconfig: pytest.Config) -> None:
    subject = room.build.subject
    if subject.id in TAKE_A_MINUTE and not pytestconfig.getoption("--subject"):
        pytest.skip(f"it takes a minute: make measure ARGS='tests/contract --subject {subject.id}'")
    if known := subject.known_failure("memory_growth"):
        pytest.skip(f"known: {known.reason}")

    def growth(few: int, many: int) -> Growth | None:
        crawled = room.crawl(urls_of(room.engine, "plain", many), concurrency=50, told=Workload(()), deadline_s=540)
        assert crawled.judged.trial.outcome is Outcome.OK, crawled.judged.trial.reason
        return memory_growth(crawled.judged.trial.counters, few=few, many=many)

    # What is kept for each URL is kept from the start; who is still warming up, or was too quick, gets a longer list.
    for few, many in (LONG, LONGEST) if subject.id in LARGE_HEAPS else (SHORT, LONG, LONGEST):
        found = growth(few, many)
        print(f"{many:,} URLs: {found}")
        if found is not None and found.is_flat and found.tells:
            break
    assert found is not None, "too quick to be read"
    assert found.is_flat, str(found)
