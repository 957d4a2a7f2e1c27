"""The claims of a server's ``[capabilities]``, and how each is put to the test by whoever can start it."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from httpdyno.model import Subject
from httpdyno.subjects.probe import ProbeResult

__all__ = ["DOCUMENT_SHA256", "SCALES", "Answer", "Ask", "ServerCase", "conclude_server", "server_cases"]

DOCUMENT_SHA256: Final = "39ca2b12b99ac2e85a72d106c60efa8d8d1a13becb570b0807248625a9de9b0c"
"""Of the document that every web, and every server's folder, has."""
SCALES: Final = (1, 8, 40)
"""How many times as long the waits are, one attempt after the other, until a claim holds.

An answer that comes before the sum of its waits shows that they were parallel, however busy the machine; one that comes
later may be a busy machine's. No longer waits bring the answer of waits in sequence before their sum.
"""
_LONGEST_MS: Final = 250
"""Of the waits, three of them."""
_BEYOND_MS: Final = 3000
"""A wait beyond the timeout."""
_TIMEOUT_MS: Final = 200
_TEXT: Final = 'Grüße, "Καλημέρα" \\ 👋'


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    path: str
    method: str = "GET"
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request."""

    status: int
    content_type: str
    content: bytes
    took_s: float
    """From the first byte of the request to the last of the answer."""


@dataclass(frozen=True, slots=True)
class ServerCase:
    """Some requests to a server with some settings, which show whether one capability is there."""

    claim: str
    """Its name, one of ``model.cause.SERVER_CLAIMS``; a ``known_failure`` may name it."""
    claimed: bool
    settings: Mapping[str, str]
    asks: tuple[Ask, ...]
    works: Callable[[Sequence[Answer]], bool] = field(repr=False)
    """Gets an answer for each request."""


def server_cases(subject: Subject, *, scale: int = 1) -> tuple[ServerCase, ...]:
    """Return a case for each capability that a server can have, claimed or not.

    ``scale`` is how many times as long the waits are that are told apart by time, one of ``SCALES``.
    """
    claims = subject.capabilities
    # Waits whose sum is six times the longest: the time of the answer tells them from waits one after the other.
    longest_ms, beyond_ms = _LONGEST_MS * scale, _BEYOND_MS * scale
    waits = {"WORKLOADS_MS": ",".join([str(longest_ms)] * 3)}
    asked = (_workloads(1), Ask("/", "GET", _workloads(2).content), _workloads(0), Ask("/", "POST", b'{"text": "cut'))
    late = {"WORKLOADS_MS": f"10,{beyond_ms}", "TIMEOUT_MS": str(_TIMEOUT_MS)}
    in_parallel = partial(_waits_in_parallel, longest_s=longest_ms / 1000)
    gives_up = partial(_gives_up, beyond_s=beyond_ms / 1000)
    plain = (Ask("/plain"),)
    numbers = [
        ServerCase(f"{name.lower()} {which}", claim in {which, "any"}, {name: number}, plain, _is_plain)
        for name, claim in (("THREADS", claims.threads), ("WORKERS", claims.workers))
        for which, number in (("one", "1"), ("any", "3"))
    ]
    return (
        ServerCase("endpoint plain", "plain" in claims.endpoints, {}, plain, _is_plain),
        ServerCase("endpoint json", "json" in claims.endpoints, {}, (Ask("/json"),), _is_document),
        ServerCase("endpoint workloads", "workloads" in claims.endpoints, waits, asked, in_parallel),
        ServerCase("endpoint timeout", "timeout" in claims.endpoints, late, (_workloads(1),), gives_up),
        *numbers,
    )


def conclude_server(subject: Subject, case: ServerCase, answers: Sequence[Answer] | None) -> ProbeResult:
    """Return what a case shows, from one answer for each request; a known failure may explain a difference.

    The answers are None when the server ended instead, as it must for a setting that it cannot honour, or left a
    request unanswered.
    """
    works = answers is not None and case.works(answers)
    failure = subject.known_failure(case.claim) if works != case.claimed else None
    return ProbeResult(case.claim, case.claimed, works, failure.reason if failure else None)


def _workloads(count: int) -> Ask:
    return Ask("/", "POST", json.dumps({"text": _TEXT, "count": count}).encode())


def _media_type(answer: Answer) -> str:
    return answer.content_type.partition(";")[0].strip().lower()


def _is_plain(answers: Sequence[Answer]) -> bool:
    (answer,) = answers
    return (answer.status, _media_type(answer), answer.content) == (200, "text/plain", b"Hello, World!")


def _is_document(answers: Sequence[Answer]) -> bool:
    (answer,) = answers
    digest = hashlib.sha256(answer.content).hexdigest()
    return (answer.status, _media_type(answer), digest) == (200, "application/json", DOCUMENT_SHA256)


def _waits_in_parallel(answers: Sequence[Answer], *, longest_s: float) -> bool:
    once, twice, none, malformed = answers
    return (
        _texts(once) == [_TEXT] * 3
        and _texts(twice) == [_TEXT] * 6
        and all(longest_s <= answer.took_s < 6 * longest_s for answer in (once, twice))
        and none.status == malformed.status == 400
    )


def _gives_up(answers: Sequence[Answer], *, beyond_s: float) -> bool:
    (answer,) = answers
    return answer.status == 503 and _TIMEOUT_MS / 1000 <= answer.took_s < beyond_s


def _texts(answer: Answer) -> object:
    """Return the texts of an answer; None when it is no such answer."""
    try:
        value = json.loads(answer.content)
    except ValueError:
        return None
    right = answer.status == 200 and _media_type(answer) == "application/json"
    return value["texts"] if right and isinstance(value, dict) and set(value) == {"texts"} else None
