"""Each mistake of the published benchmarks, made on purpose: the contract test must not let one of them through."""

from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from contract.escalation import TIMEOUTS_S, first_right
from doubles.claims import require_claims
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Pinning
from httpdyno.model import Count, Outcome
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome, build_subjects
from httpdyno.subjects.definition import read_subject

Crawl = "Crawl"  # the fixture's type

CLIENT = (TESTS / "fixtures" / "mistaken_client.py").read_text(encoding="utf-8")
HONEST = [
    "https://utf8.test/encoding/utf8",
    "https://status-404.test/",
    "https://bytes.test/bytes/123457",
]
"""Of the contract's web, which every client is held against: one for each mistake that shows in an honest answer."""
STALL = "https://stall-headers.test/"
TWO_LINES = ["https://a.test/plain", "https://b.test/plain"]
NONE = ""


@pytest.fixture
def build(request: pytest.FixtureRequest, make_subject: MakeSubject, tmp_path: Path) -> Build:
    """The client with one mistake."""
    claims = 'http = ["1.1"]\nkeepalive = [true, false]\ncheck = ["json"]'
    more = f'environment = {{ MISTAKE = "{request.param}" }}\n[capabilities]\n{claims}'
    subject = read_subject(make_subject("mistaken", CLIENT, more))
    built = build_subjects([subject], tmp_path / "cache")[subject.id].build
    assert built is not None
    return built


def faults(crawl: Crawl, urls: list[str], **settings: object) -> list[tuple[str, str]]:
    return sorted((row[0], str(row[-1])) for row in crawl(urls, web="contract", **settings).wrong)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_without_a_mistake_nothing_is_wrong(crawl: Crawl) -> None:
    def tried(timeout_s: float) -> list[tuple[str, str]]:
        return faults(crawl, [*HONEST, STALL], timeout_s=timeout_s)

    assert first_right(TIMEOUTS_S, tried, lambda wrong: not wrong) == []


@pytest.mark.parametrize("build", ["length in characters"], indirect=True)
def test_a_length_in_characters_is_a_wrong_length(crawl: Crawl) -> None:
    assert faults(crawl, HONEST) == [(HONEST[0], "wrong_length")]


@pytest.mark.parametrize("build", ["content read on success only"], indirect=True)
def test_content_that_is_not_read_is_a_wrong_length(crawl: Crawl) -> None:
    assert faults(crawl, HONEST) == [(HONEST[1], "wrong_length")]


@pytest.mark.parametrize("build", ["path is /"], indirect=True)
def test_a_path_that_is_not_sent_is_found(crawl: Crawl) -> None:
    assert faults(crawl, HONEST) == [(HONEST[2], "wrong_length"), (HONEST[0], "wrong_length")]


@pytest.mark.parametrize("build", ["constant timeout"], indirect=True)
def test_a_timeout_that_is_a_constant_is_late(crawl: Crawl) -> None:
    # Its two seconds are beyond 0.5 s, 10 % and 100 ms on any machine.
    assert faults(crawl, [STALL], timeout_s=0.5) == [(STALL, "late")]


@pytest.mark.parametrize("build", ["check that cannot fail", NONE], indirect=True)
def test_a_check_that_cannot_fail_misses_every_wrong_document(crawl: Crawl, build: Build, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(
        'name = "wrong"\nseed = 1\n[urls]\nscheme = "http"\n[json]\nwrong_share = 0.2\n', encoding="utf-8"
    )
    urls = [f"http://documents.test/json?n={number}" for number in range(50)]
    crawled = crawl(urls, web=str(tmp_path / "wrong.toml"), check="json")
    found = {url for url, code in crawled.codes.items() if code == "CheckFailed"}
    missed = {row[0] for row in crawled.wrong if row[-1] == "missed_error"}
    mistaken = bool(build.subject.environment["MISTAKE"])
    assert (len(missed) > 0, len(found) > 0) == (mistaken, not mistaken)


@pytest.mark.parametrize("build", ["no user agent", NONE], indirect=True)
def test_a_user_agent_that_is_not_sent_is_missed(crawl: Crawl, build: Build) -> None:
    crawled = crawl(["https://a.test/plain"], user_agent="asked for/1.0")
    sent = crawled.judged.trial.counters.user_agents == (Count("asked for/1.0", 1),)
    assert sent is not bool(build.subject.environment["MISTAKE"])


@pytest.mark.parametrize("build", ["reads all of stdin first"], indirect=True)
def test_who_reads_all_of_the_list_first_never_gets_its_second_line(crawl: Crawl) -> None:
    # It waits for ever: any deadline will do.
    crawled = crawl(TWO_LINES, batch=1, deadline_s=2)
    assert (crawled.judged.trial.outcome, len(crawled.lines)) == (Outcome.HUNG, 0)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_who_reads_a_line_at_a_time_gets_it(crawl: Crawl) -> None:
    crawled = crawl(TWO_LINES, batch=1)
    assert (crawled.judged.trial.outcome, len(crawled.lines)) == (Outcome.OK, 2)


@pytest.mark.parametrize("build", ["session per request"], indirect=True)
def test_a_session_for_each_request_breaks_its_claim(engine: Engine, build: Build) -> None:
    outcome = BuildOutcome(build.subject, build)
    results = probe_subject(engine, build.subject, outcome, Pinning(), Interruption(), only=["keepalive on"])
    with pytest.raises(AssertionError, match=r"keepalive on: claimed, does not work; correct"):
        require_claims(build.subject, results)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_one_session_for_all_keeps_every_claim(engine: Engine, build: Build) -> None:
    results = probe_subject(engine, build.subject, BuildOutcome(build.subject, build), Pinning(), Interruption())
    require_claims(build.subject, results)
