"""The contract of clients (subjects/CONTRACT.md), checked for each of them in a room.

A few crawls suffice: each is made once for a client, and the tests check its results.
"""

import re
from pathlib import Path

import pytest

from contract.memory import LARGE_HEAPS, LONG, LONGEST, SHORT, TAKE_A_MINUTE, Growth, memory_growth
from doubles.claims import claim_result, require_claims
from httpdyno.judge.client_cases import (
    CONTRACT_WEB,
    NO_DOCUMENTS,
    TIMEOUTS_S,
    claim_cases,
    contract_cases,
)
from httpdyno.judge.conformance import Attempt, Observation, Stimulus, judge_cases
from httpdyno.judge.verdict import TIMED_OUT_SATURATED
from httpdyno.lab.conformance import CaseRunner, find_documents, results_of, try_cases, urls_of
from httpdyno.model import CaseOutcome, Outcome, Subject, SubjectKind, Workload

# The fixture's type; importing it from conftest would load that file twice.
CrawlOnce = "CrawlOnce"

ANY_CLIENT = Subject("any", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",))
OFFERS_HTTP_2 = re.compile(r"https://(http2|goaway|stream-reset)")
WITHOUT_HTTP_2 = "https://length.test/"


def pinned(runner: CaseRunner, version: str) -> Observation:
    """Crawl the hosts that offer HTTP/2, with the client limited to one version."""
    if version not in runner.build.subject.capabilities.http:
        pytest.skip(f"it does not claim to speak HTTP/{version} alone")
    urls = [url for url in urls_of(runner.engine, CONTRACT_WEB, 10_000) if OFFERS_HTTP_2.match(url)]
    assert len(urls) > 10

    lines = (*urls, WITHOUT_HTTP_2)
    workloads = [Workload((), timeout_s, http_version=version) for timeout_s in TIMEOUTS_S]
    crawls = [Attempt(lines, web=CONTRACT_WEB, workload=workload, concurrency=5) for workload in workloads]
    stimulus = Stimulus(f"HTTP/{version}", crawls)
    crawled, _ = runner.run(stimulus)
    return crawled


def is_claimed(runner: CaseRunner, claim: str, works: bool) -> None:
    """Compare a claim with the observation, as the probe does."""
    subject = runner.build.subject
    claimed = next(bool(case.claimed) for case in claim_cases(subject) if case.title == claim)
    known = subject.known_failure(claim) if works != claimed else None
    require_claims(subject, (claim_result(claim, claimed, works, known.reason if known else None),))


@pytest.mark.parametrize("title", [case.title for case in contract_cases(ANY_CLIENT)])
def test_clause(crawl_once: CrawlOnce, runner: CaseRunner, title: str) -> None:
    cases = contract_cases(runner.build.subject)
    stimulus = next(case.stimulus for case in cases if case.title == title)
    shown = [case for case in cases if case.stimulus is stimulus]
    results = judge_cases(runner.build.subject, shown, crawl_once(stimulus.name))
    (result,) = (result for result in results if result.title == title)
    assert (result.outcome, result.breaches) == (CaseOutcome.PASS, ())


def test_hosts_of_http_2_are_distinguished_over_http_1(runner: CaseRunner) -> None:
    crawled = pinned(runner, "1.1")
    assert crawled.wrong == []
    assert set(crawled.versions) == {"1.1"}
    assert crawled.codes[WITHOUT_HTTP_2] == "200"


def test_hosts_of_http_2_are_distinguished_over_http_2(runner: CaseRunner) -> None:
    crawled = pinned(runner, "2")
    assert crawled.wrong == []
    # Some libraries learn the version only from the answer: one request may reach the host without HTTP/2.
    assert crawled.versions.pop("2") > 0
    assert not crawled.codes[WITHOUT_HTTP_2].isdigit()
    assert {version: count for version, count in crawled.versions.items() if version != "2"} in ({}, {"1.1": 1})


@pytest.mark.measured
def test_every_fault_is_distinguished_within_a_second(runner: CaseRunner) -> None:
    urls, concurrency = urls_of(runner.engine, CONTRACT_WEB, 10_000), min(20, runner.build.subject.concurrency)
    workload = Workload((), timeout_s=1)
    crawled = runner.observe(Attempt(urls, web=CONTRACT_WEB, concurrency=concurrency, workload=workload))
    assert crawled.trial.outcome is Outcome.OK, crawled.trial.reason
    # A client that compiles at its start may lack CPU time for long content: that is not a wrong answer.
    assert [sample for sample in crawled.wrong if sample["cause"] != TIMED_OUT_SATURATED] == []


def test_a_wrong_document_is_found_among_right_ones(crawl_once: CrawlOnce, runner: CaseRunner) -> None:
    if "json" not in runner.build.subject.capabilities.check:
        pytest.skip("it does not claim to check JSON")
    urls, wrong = find_documents(runner.engine)
    assert 0 < len(wrong) < len(urls) / 3
    found = {url for url, code in crawl_once("sequential").codes.items() if code == "CheckFailed"}
    assert found == wrong | set(NO_DOCUMENTS)


def test_connections_are_kept_as_it_claims(crawl_once: CrawlOnce, runner: CaseRunner) -> None:
    is_claimed(runner, "keepalive on", bool(crawl_once("sequential").trial.counters.reused))


def test_connections_are_not_kept_as_it_claims(crawl_once: CrawlOnce, runner: CaseRunner) -> None:
    if False not in runner.build.subject.capabilities.keepalive:
        pytest.skip("it does not claim to make a connection for each request")
    is_claimed(runner, "keepalive off", crawl_once("late").trial.counters.reused == 0)


def test_methods_and_content_are_sent_as_it_claims(runner: CaseRunner) -> None:
    subject = runner.build.subject
    if not subject.capabilities.methods:
        pytest.skip("it does not claim to send other methods than GET")
    claimed = [case for case in claim_cases(subject) if case.title.startswith("method ")]
    results = results_of(list(try_cases(runner, claimed)))
    assert len(results) == len(claimed) > 1
    require_claims(subject, results)


def test_nothing_works_that_is_not_claimed(runner: CaseRunner) -> None:
    # The tests above prove the claims, test_timed_calls.py the timed calls.
    subject = runner.build.subject
    unclaimed = [case for case in claim_cases(subject) if not case.claimed]
    results = results_of(list(try_cases(runner, unclaimed)))
    assert [result.title for result in results] == [case.title for case in unclaimed]
    require_claims(subject, results)


# A process a URL takes minutes, and there may be three lists.
@pytest.mark.measured
@pytest.mark.timeout(1800)
def test_memory_does_not_grow_with_the_list(runner: CaseRunner, pytestconfig: pytest.Config) -> None:
    subject = runner.build.subject
    if subject.id in TAKE_A_MINUTE and not pytestconfig.getoption("--subject"):
        pytest.skip(f"it takes a minute: make measure ARGS='tests/contract --subject {subject.id}'")
    if known := subject.known_failure("memory_growth"):
        pytest.skip(f"known: {known.reason}")

    def growth(few: int, many: int) -> Growth | None:
        crawled = runner.observe(
            Attempt(urls_of(runner.engine, "plain", many), workload=Workload(()), concurrency=50, deadline_s=540)
        )
        assert crawled.trial.outcome is Outcome.OK, crawled.trial.reason
        return memory_growth(crawled.trial.counters, few=few, many=many)

    # Memory kept for each URL grows from the start; a client that is still warming up, or was too quick, gets a longer
    # list.
    for few, many in (LONG, LONGEST) if subject.id in LARGE_HEAPS else (SHORT, LONG, LONGEST):
        found = growth(few, many)
        print(f"{many:,} URLs: {found}")
        if found is not None and found.is_flat and found.tells:
            break
    assert found is not None, "too quick to be read"
    assert found.is_flat, str(found)
