"""Claims of clients and servers, and their verdicts."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.claims import claim_result, conclude_client, conclude_server, require_claims
from httpdyno.judge.client_cases import claim_cases
from httpdyno.judge.conformance import Answer, Case, not_tried
from httpdyno.judge.server_cases import DOCUMENT_SHA256, server_cases
from httpdyno.model import Capabilities, Count, Counters, KnownFailure, Subject, SubjectKind
from httpdyno.model.subject import CLAIMS, SERVER_CLAIMS
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls
from httpdyno.subjects.folders import builtin_folder

SUBJECT = Subject(
    id="a-client",
    kind=SubjectKind.CLIENT,
    language="C",
    method="m",
    folder=Path("/nowhere"),
    run_argv=("x",),
    capabilities=Capabilities(http=("1.1",), keepalive=(True,)),
)
PLAIN = Counters(reused=7, http_versions=(Count("1.1", 8),))
HTTP_2 = replace(PLAIN, http_versions=(Count("2", 8),))
REFUSED = {"https://length.test/bytes/109": "ProtocolError"}


def case(name: str, subject: Subject = SUBJECT) -> Case:
    return next(case for case in claim_cases(subject) if case.title == name)


def answered(name: str, code: str = "200") -> dict[str, str]:
    return dict.fromkeys(case(name).stimulus.attempts[0].lines, code)


@pytest.mark.parametrize(
    ("claim", "codes", "counters", "works"),
    [
        ("http 1.1", answered("http 1.1"), PLAIN, True),
        ("http 1.1", answered("http 1.1"), replace(PLAIN, http_versions=(Count("1.0", 8),)), False),
        ("http 1.1", answered("http 1.1", "Refused"), PLAIN, False),
        ("http 1.1", {}, Counters(), False),
        ("http 1.1", answered("http 1.1"), HTTP_2, False),
        ("http 2", answered("http 2") | REFUSED, HTTP_2, True),
        ("http 2", answered("http 2") | REFUSED, PLAIN, False),
        (
            "http 2",
            answered("http 2") | REFUSED,
            replace(PLAIN, http_versions=(Count("1.1", 1), Count("2", 8))),
            True,
        ),
        (
            "http 2",
            answered("http 2") | REFUSED,
            replace(PLAIN, http_versions=(Count("1.1", 2), Count("2", 7))),
            False,
        ),
        ("http 2", answered("http 2"), HTTP_2, False),
        ("http 2", answered("http 2", "Refused"), HTTP_2, False),
        ("http 2", {}, Counters(), False),
        ("keepalive on", answered("keepalive on"), PLAIN, True),
        ("keepalive on", answered("keepalive on"), replace(PLAIN, reused=0), False),
        ("keepalive off", answered("keepalive off"), replace(PLAIN, reused=0), True),
        ("keepalive off", answered("keepalive off"), PLAIN, False),
        ("keepalive off", {}, replace(PLAIN, reused=0), False),
        (
            "check json",
            {"https://probe.example/json": "200", "https://probe.example/plain": "CheckFailed"},
            PLAIN,
            True,
        ),
        ("check json", answered("check json"), PLAIN, False),
        ("check json", answered("check json", "CheckFailed"), PLAIN, False),
    ],
)
def test_each_claim_is_shown_by_codes_and_counters(
    claim: str, codes: dict[str, str], counters: Counters, works: bool
) -> None:
    assert conclude_client(SUBJECT, case(claim), codes, counters).outcome.is_good is works


@pytest.mark.parametrize(
    ("claim", "code", "body_length", "works"),
    [
        pytest.param("method post", "200", 21, True, id="the method and the content, in UTF-8"),
        pytest.param("method post", "200", 4, False, id="a GET without content"),
        pytest.param("method post", "200", 20, False, id="a GET or a PUT with the content"),
        pytest.param("method post", "200", 5, False, id="a POST without content"),
        pytest.param("method post", "200", 17, False, id="a POST of another encoding"),
        pytest.param("method post", "Refused", 21, False, id="an error instead of an answer"),
        pytest.param("method head", "200", 0, True, id="no content"),
        pytest.param("method head", "200", 111, False, id="the content of a GET"),
        pytest.param("method head", "EndOfFile", 0, False, id="content that is waited for"),
    ],
)
def test_a_method_is_shown_by_the_content_of_the_answer(claim: str, code: str, body_length: int, works: bool) -> None:
    result = conclude_client(SUBJECT, case(claim), answered(claim, code), PLAIN, body_length=body_length)
    assert result.outcome.is_good is works


@pytest.mark.parametrize("claim", ["method post", "method head"])
def test_a_method_must_be_used_for_every_url(claim: str) -> None:
    first, *_ = answered(claim)
    expected = 21 if claim == "method post" else 0
    assert not conclude_client(SUBJECT, case(claim), {first: "200"}, PLAIN, body_length=expected).outcome.is_good


TIMED = TimedCalls("ok", 1, 1, (300_000_000,) * 7, (1,) * 7, (0,) * 7, (TimedAnswer("200", 110, 9),))
SEEN = Counters(requests=9)


@pytest.mark.parametrize(
    ("timed", "counters", "works"),
    [
        pytest.param(TIMED, SEEN, True, id="all that it says was seen"),
        pytest.param(None, SEEN, False, id="it printed something else"),
        pytest.param(TIMED, Counters(requests=8), False, id="a call that was never made"),
        pytest.param(TIMED, Counters(), False, id="none was made"),
        pytest.param(
            replace(TIMED, answers=(TimedAnswer("200", 109, 9),)), SEEN, False, id="content that is not what was sent"
        ),
        pytest.param(
            replace(TIMED, answers=(TimedAnswer("200", 110, 8), TimedAnswer("500", 110, 1))), SEEN, False, id="an error"
        ),
        pytest.param(replace(TIMED, outcome="ECONNRESET"), SEEN, False, id="it did not come to its end"),
        pytest.param(replace(TIMED, cpu_user_ns=(0,) * 7), SEEN, False, id="CPU time is not counted"),
    ],
)
def test_timed_calls_are_requests_that_were_seen(timed: TimedCalls | None, counters: Counters, works: bool) -> None:
    assert conclude_client(SUBJECT, case("harness timeit"), {}, counters, timed).outcome.is_good is works


@pytest.mark.parametrize("claim", [*CLAIMS, *SERVER_CLAIMS])
def test_a_subject_whose_claim_fails_gets_the_change_to_make(claim: str) -> None:
    (case,) = (case for case in (*claim_cases(SUBJECT), *server_cases(SERVER)) if case.title == claim)
    assert case.change.endswith("; or remove the claim from its [capabilities]")
    (finding,) = not_tried(SUBJECT, replace(case, claimed=True)).findings
    assert (finding.change, not_tried(SUBJECT, replace(case, claimed=False)).is_right) == (case.change, True)


def test_every_capability_is_tried_claimed_or_not() -> None:
    assert {case.title: case.claimed for case in claim_cases(SUBJECT)} == {
        "http 1.1": True,
        "http 2": False,
        "keepalive on": True,
        "keepalive off": False,
        "check json": False,
        "harness timeit": False,
        "method post": False,
        "method head": False,
    }
    assert case("http 1.1").stimulus.attempts[0].workload.http_version == "1.1"
    assert case("http 2").stimulus.attempts[0].workload.http_version == "2"
    assert case("keepalive off").stimulus.attempts[0].workload.keepalive is False
    assert case("check json").stimulus.attempts[0].workload.check == "json"
    post, head = (case(f"method {name}").stimulus.attempts[0].workload for name in ("post", "head"))
    assert (post.method, head.method, bool(post.body), head.body) == ("POST", "HEAD", True, "")
    able = replace(SUBJECT, capabilities=Capabilities(methods=True))
    assert [one.title for one in claim_cases(able) if one.claimed] == ["method post", "method head"]
    assert [one.title for one in claim_cases(SUBJECT) if one.stimulus.attempts[0].workload.harness] == [
        "harness timeit"
    ]


def test_a_claim_that_does_not_hold_is_refused() -> None:
    result = conclude_client(SUBJECT, case("keepalive on"), {}, Counters())
    with pytest.raises(AssertionError, match="a-client: keepalive on: claimed, does not work; correct"):
        require_claims(SUBJECT, (result,))


def test_a_capability_that_is_not_claimed_is_refused() -> None:
    result = conclude_client(SUBJECT, case("keepalive off"), answered("keepalive off"), replace(PLAIN, reused=0))
    with pytest.raises(AssertionError, match="keepalive off: not claimed, works"):
        require_claims(SUBJECT, (result,))


def test_a_known_failure_explains_a_claim() -> None:
    known = replace(SUBJECT, known_failures=(KnownFailure("keepalive on", "closes after each answer"),))
    result = conclude_client(known, case("keepalive on", known), {}, Counters())
    assert result.is_right
    assert str(result) == "keepalive on: claimed, does not work (known: closes after each answer)"
    require_claims(known, (result,))


@pytest.mark.parametrize(
    ("claimed", "works", "known", "mark"),
    [
        (True, True, None, "ok"),
        (False, False, None, "as said"),
        (True, False, "the pool is closed", "known"),
        (True, False, None, "FAILED"),
        (False, True, None, "FAILED"),
    ],
)
def test_only_a_working_capability_is_ok(claimed: bool, works: bool, known: str | None, mark: str) -> None:
    assert claim_result("http 2", claimed, works, known).mark == mark


SERVER = Subject(
    "a-server",
    SubjectKind.SERVER,
    "C",
    "a server",
    Path("x"),
    ("x",),
    capabilities=Capabilities(endpoints=("plain", "json", "workloads", "timeout"), threads="any", workers="one"),
)
DOCUMENTS = sorted((builtin_folder() / "servers").glob("*/document.json"))
RIGHT_PLAIN = Answer(200, "text/plain; charset=utf-8", b"Hello, World!", 0.001)
BAD_REQUEST = Answer(400, "text/plain", b"no", 0.001)
LATE = Answer(503, "text/plain", b"too late", 0.25)


def server_case(claim: str, subject: Subject = SERVER) -> Case:
    (found,) = (case for case in server_cases(subject) if case.title == claim)
    return found


def texts(count: int, *, took_s: float = 0.3) -> Answer:
    text = json.loads(server_case("endpoint workloads").stimulus.attempts[0].requests[0].content or b"")["text"]
    return Answer(200, "application/json", json.dumps({"texts": [text] * count}).encode(), took_s)


def test_there_is_a_case_for_each_claim() -> None:
    assert tuple(case.title for case in server_cases(SERVER)) == SERVER_CLAIMS


def test_claims_follow_from_the_capabilities() -> None:
    assert [case.title for case in server_cases(SERVER) if not case.claimed] == ["workers any"]
    static = replace(SERVER, capabilities=Capabilities(endpoints=("json",)))
    assert [case.title for case in server_cases(static) if case.claimed] == ["endpoint json"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_every_server_ships_the_document_of_the_webs(path: Path) -> None:
    content = path.read_bytes()
    assert (len(content), json.loads(content)[0]["numbers"]) == (16 * 1024, 123123)
    assert hashlib.sha256(content).hexdigest() == DOCUMENT_SHA256


def test_every_server_of_ours_has_a_document() -> None:
    folders = {path.parent.name for path in (builtin_folder() / "servers").glob("*/subject.toml")}
    assert folders == {path.parent.name for path in DOCUMENTS}
    assert len(folders) >= 6


@pytest.mark.parametrize(
    ("claim", "answers"),
    [
        ("endpoint plain", [RIGHT_PLAIN]),
        ("endpoint json", [Answer(200, "application/json", DOCUMENTS[0].read_bytes(), 0.001)]),
        ("endpoint workloads", [texts(3), texts(6), BAD_REQUEST, BAD_REQUEST]),
        ("endpoint timeout", [LATE]),
        ("threads any", [RIGHT_PLAIN]),
    ],
)
def test_right_answers_prove_a_claim(claim: str, answers: list[Answer]) -> None:
    assert conclude_server(SERVER, server_case(claim), answers).is_right


@pytest.mark.parametrize(
    ("claim", "answers"),
    [
        ("endpoint plain", []),
        ("endpoint plain", [replace(RIGHT_PLAIN, status=404)]),
        ("endpoint plain", [replace(RIGHT_PLAIN, content=b"Hello, World!\n")]),
        ("endpoint plain", [replace(RIGHT_PLAIN, content_type="text/html")]),
        ("endpoint json", [Answer(200, "application/json", DOCUMENTS[0].read_bytes().rstrip(), 0.001)]),
        # One after the other, at once, too few, another text, no refusal, a word about it.
        ("endpoint workloads", [texts(3), texts(6, took_s=1.6), BAD_REQUEST, BAD_REQUEST]),
        ("endpoint workloads", [texts(3, took_s=0.01), texts(6), BAD_REQUEST, BAD_REQUEST]),
        ("endpoint workloads", [texts(3), texts(3), BAD_REQUEST, BAD_REQUEST]),
        (
            "endpoint workloads",
            [replace(texts(3), content=b'{"texts": ["a", "a", "a"]}'), texts(6)] + [BAD_REQUEST] * 2,
        ),
        ("endpoint workloads", [texts(3), texts(6), texts(0), BAD_REQUEST]),
        ("endpoint workloads", [texts(3), texts(6), BAD_REQUEST, replace(BAD_REQUEST, status=500)]),
        ("endpoint workloads", [replace(texts(3), content=b"[]"), texts(6), BAD_REQUEST, BAD_REQUEST]),
        ("endpoint workloads", [replace(texts(3), content=b"no json"), texts(6), BAD_REQUEST, BAD_REQUEST]),
        ("endpoint timeout", [texts(2)]),
        ("endpoint timeout", [replace(LATE, took_s=3.1)]),
        ("endpoint timeout", [replace(LATE, took_s=0.01)]),
    ],
)
def test_wrong_answers_do_not(claim: str, answers: list[Answer]) -> None:
    assert not conclude_server(SERVER, server_case(claim), answers).is_right


def test_a_known_failure_explains_a_difference() -> None:
    known = replace(SERVER, known_failures=(KnownFailure("endpoint timeout", "never gives up"),))
    result = conclude_server(known, server_case("endpoint timeout", known), [])
    assert (result.outcome.is_good, result.is_right, result.known) == (False, True, "never gives up")
