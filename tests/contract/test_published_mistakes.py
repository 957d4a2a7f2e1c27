"""Each mistake of the published benchmarks, made on purpose: the contract test must find each of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from doubles.claims import require_claims
from httpdyno.judge.client_cases import CONTRACT_WEB, TIMEOUTS_S, contract_cases
from httpdyno.judge.conformance import HONEST as SETTINGS
from httpdyno.judge.conformance import Attempt, Stimulus, judge_cases
from httpdyno.lab.conformance import CaseRunner, claims_of, results_of, try_cases, try_claims
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.model import Count, Outcome, Workload
from httpdyno.model.subject import WHOLE_TIMEOUTS
from httpdyno.subjects.build import Build, build_subjects
from httpdyno.subjects.catalogue import read_subject

CLIENT = (TESTS / "fixtures" / "mistaken_client.py").read_text(encoding="utf-8")
HONEST = [
    "https://utf8.test/encoding/utf8",
    "https://status-404.test/",
    "https://bytes.test/bytes/123457",
]
"""URLs of the contract's web: one for each mistake that shows in an honest answer."""
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


@pytest.fixture
def runner(engine: Engine, build: Build) -> CaseRunner:
    """Where it crawls."""
    return CaseRunner(engine, build, Pinning(), Interruption(), hang_s=300)


def faults(runner: CaseRunner, urls: list[str], *timeouts_s: float) -> list[tuple[str, str]]:
    crawls = [Attempt(urls, web=CONTRACT_WEB, workload=Workload((), timeout_s)) for timeout_s in timeouts_s or (60,)]
    stimulus = Stimulus("faults", crawls, lambda tried: not tried[-1].wrong)
    crawled, _ = runner.run(stimulus)
    return sorted((sample["url"], str(sample["verdict"])) for sample in crawled.wrong)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_without_a_mistake_nothing_is_wrong(runner: CaseRunner) -> None:
    assert faults(runner, [*HONEST, STALL], *TIMEOUTS_S) == []


@pytest.mark.parametrize("build", ["length in characters"], indirect=True)
def test_a_length_in_characters_is_a_wrong_length(runner: CaseRunner) -> None:
    assert faults(runner, HONEST) == [(HONEST[0], "wrong_length")]


@pytest.mark.parametrize("build", ["content read on success only"], indirect=True)
def test_content_that_is_not_read_is_a_wrong_length(runner: CaseRunner) -> None:
    assert faults(runner, HONEST) == [(HONEST[1], "wrong_length")]


@pytest.mark.parametrize("build", ["path is /"], indirect=True)
def test_a_path_that_is_not_sent_is_found(runner: CaseRunner) -> None:
    assert faults(runner, HONEST) == [(HONEST[2], "wrong_length"), (HONEST[0], "wrong_length")]


@pytest.mark.parametrize("build", ["constant timeout"], indirect=True)
def test_a_timeout_that_is_a_constant_is_late(runner: CaseRunner) -> None:
    # Its two seconds are beyond 0.5 s, 10 % and 100 ms on any machine.
    assert faults(runner, [STALL], 0.5) == [(STALL, "late")]


@pytest.mark.parametrize("build", ["constant timeout", NONE], indirect=True)
def test_a_timeout_that_is_a_constant_breaks_the_contract(runner: CaseRunner, build: Build) -> None:
    # It is right with a timeout of two seconds, and gives up early with a longer one.
    [case] = (case for case in contract_cases(build.subject) if case.stimulus.name == "stall")
    (result,) = judge_cases(build.subject, [case], runner.run(case.stimulus)[0])
    assert ["gave up" in breach.seen for breach in result.breaches] == [True] * bool(
        build.subject.environment["MISTAKE"]
    )


@pytest.mark.parametrize("build", ["timeout of each read", NONE], indirect=True)
@pytest.mark.parametrize("title", WHOLE_TIMEOUTS)
def test_a_timeout_of_each_read_breaks_the_contract(runner: CaseRunner, build: Build, title: str) -> None:
    # The head drips for ever, and the chain ends with 200: only a timeout of the whole makes both an error.
    [case] = (case for case in contract_cases(build.subject) if case.title == title)
    (result,) = judge_cases(build.subject, [case], runner.run(case.stimulus)[0])
    is_mistaken = bool(build.subject.environment["MISTAKE"])
    assert result.is_right is not is_mistaken, result
    changes = {breach.change.partition(":")[0] for breach in result.breaches}
    assert changes == ({"the timeout bounds the whole request, redirects included"} if is_mistaken else set())


@pytest.mark.parametrize("build", ["check that cannot fail", NONE], indirect=True)
def test_a_check_that_cannot_fail_misses_every_wrong_document(runner: CaseRunner, build: Build, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(
        'name = "wrong"\nseed = 1\n[urls]\nscheme = "http"\n[json]\nwrong_share = 0.2\n', encoding="utf-8"
    )
    urls = [f"http://documents.test/json?n={number}" for number in range(50)]
    crawled = runner.observe(Attempt(urls, web=str(tmp_path / "wrong.toml"), workload=replace(SETTINGS, check="json")))
    found = {url for url, code in crawled.codes.items() if code == "CheckFailed"}
    missed = {sample["url"] for sample in crawled.wrong if sample["verdict"] == "missed_error"}
    mistaken = bool(build.subject.environment["MISTAKE"])
    assert (len(missed) > 0, len(found) > 0) == (mistaken, not mistaken)


@pytest.mark.parametrize("build", ["no user agent", NONE], indirect=True)
def test_a_user_agent_that_is_not_sent_is_missed(runner: CaseRunner, build: Build) -> None:
    crawled = runner.observe(Attempt(["https://a.test/plain"], workload=replace(SETTINGS, user_agent="required/1.0")))
    sent = crawled.trial.counters.user_agents == (Count("required/1.0", 1),)
    assert sent is not bool(build.subject.environment["MISTAKE"])


@pytest.mark.parametrize("build", ["reads all of stdin first"], indirect=True)
def test_a_client_that_reads_all_of_the_list_first_never_gets_its_second_line(runner: CaseRunner) -> None:
    # It waits for ever: any deadline will do.
    crawled = runner.observe(Attempt(TWO_LINES, batch=1, deadline_s=2))
    assert (crawled.trial.outcome, len(crawled.lines)) == (Outcome.HUNG, 0)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_a_client_that_reads_a_line_at_a_time_gets_it(runner: CaseRunner) -> None:
    crawled = runner.observe(Attempt(TWO_LINES, batch=1))
    assert (crawled.trial.outcome, len(crawled.lines)) == (Outcome.OK, 2)


@pytest.mark.parametrize("build", ["session per request"], indirect=True)
def test_a_session_for_each_request_breaks_its_claim(runner: CaseRunner, build: Build) -> None:
    results = results_of(
        list(try_cases(runner, [case for case in claims_of(build.subject) if case.title == "keepalive on"]))
    )
    with pytest.raises(AssertionError, match=r"keepalive on: claimed, does not work; correct"):
        require_claims(build.subject, results)


@pytest.mark.parametrize("build", [NONE], indirect=True)
def test_one_session_for_all_keeps_every_claim(runner: CaseRunner, build: Build) -> None:
    require_claims(build.subject, results_of(list(try_claims(runner))))
