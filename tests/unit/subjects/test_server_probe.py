"""The claims of servers: what each case asks, and which answers prove a claim."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.model import Capabilities, KnownFailure, Subject, SubjectKind
from httpdyno.model.subject import SERVER_CLAIMS
from httpdyno.subjects.folders import builtin_folder
from httpdyno.subjects.server_probe import DOCUMENT_SHA256, Answer, ServerCase, conclude_server, server_cases

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


def case(claim: str, subject: Subject = SERVER) -> ServerCase:
    (found,) = (case for case in server_cases(subject) if case.claim == claim)
    return found


def texts(count: int, *, took_s: float = 0.3) -> Answer:
    text = json.loads(case("endpoint workloads").asks[0].content or b"")["text"]
    return Answer(200, "application/json", json.dumps({"texts": [text] * count}).encode(), took_s)


def test_there_is_a_case_for_each_claim() -> None:
    assert tuple(case.claim for case in server_cases(SERVER)) == SERVER_CLAIMS


def test_what_is_claimed_follows_from_the_capabilities() -> None:
    assert [case.claim for case in server_cases(SERVER) if not case.claimed] == ["workers any"]
    static = replace(SERVER, capabilities=Capabilities(endpoints=("json",)))
    assert [case.claim for case in server_cases(static) if case.claimed] == ["endpoint json"]


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
    assert conclude_server(SERVER, case(claim), answers).honest


@pytest.mark.parametrize(
    ("claim", "answers"),
    [
        ("endpoint plain", None),
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
def test_wrong_answers_do_not(claim: str, answers: list[Answer] | None) -> None:
    assert not conclude_server(SERVER, case(claim), answers).honest


def test_a_known_failure_explains_a_difference() -> None:
    known = replace(SERVER, known_failures=(KnownFailure("endpoint timeout", "never gives up"),))
    result = conclude_server(known, case("endpoint timeout", known), None)
    assert (result.works, result.honest, result.known) == (False, True, "never gives up")
