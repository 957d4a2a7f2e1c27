"""The cases of servers: each claim of ``[capabilities]``."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Final

from httpdyno.judge.conformance import Answer, Answered, Ask, Requests, ServerCase, Stimulus, claim_case
from httpdyno.model import Subject

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
_ASKED: Final = {
    "endpoint plain": "answer GET /plain with 200, text/plain and the 13 bytes Hello, World!",
    "endpoint json": "answer GET /json with 200, application/json and the bytes of the servers' document.json",
    "endpoint workloads": "wait all of WORKLOADS_MS at once, once for each of count, then answer with the texts; "
    "refuse content that is none with 400",
    "endpoint timeout": "with TIMEOUT_MS answer 503 when that time is over, not before and not when the waits end",
    "threads one": "serve with THREADS=1",
    "threads any": "serve with any THREADS, such as 3",
    "workers one": "serve with WORKERS=1",
    "workers any": "serve with any WORKERS, such as 3",
}
"""What the contract asks of a server that makes a claim."""


def server_cases(subject: Subject) -> tuple[ServerCase, ...]:
    """Return a case for each capability that a server can have, claimed or not."""
    claims = subject.capabilities
    plain = (Ask("/plain"),)
    asked = (_workloads(1), Ask("/", "GET", _workloads(2).content), _workloads(0), Ask("/", "POST", b'{"text": "cut'))
    # Waits whose sum is six times the longest: the time of the answer tells them from waits one after the other.
    waits = [Requests({"WORKLOADS_MS": ",".join([str(_LONGEST_MS * scale)] * 3)}, asked) for scale in SCALES]
    late = [
        Requests({"WORKLOADS_MS": f"10,{_BEYOND_MS * scale}", "TIMEOUT_MS": str(_TIMEOUT_MS)}, asked[:1])
        for scale in SCALES
    ]
    cases = [
        _case("endpoint plain", "plain" in claims.endpoints, [Requests({}, plain)], _is_plain),
        _case("endpoint json", "json" in claims.endpoints, [Requests({}, (Ask("/json"),))], _is_document),
        _case("endpoint workloads", "workloads" in claims.endpoints, waits, _waits_in_parallel),
        _case("endpoint timeout", "timeout" in claims.endpoints, late, _gives_up),
    ]
    for name, claim in (("THREADS", claims.threads), ("WORKERS", claims.workers)):
        for which, number in (("one", "1"), ("any", "3")):
            title, claimed = f"{name.lower()} {which}", claim in {which, "any"}
            cases.append(_case(title, claimed, [Requests({name: number}, plain)], _is_plain))
    return tuple(cases)


def _case(
    title: str, claimed: bool, attempts: Sequence[Requests], works: Callable[[Sequence[Answer], float], bool]
) -> ServerCase:
    """Return the case of a claim; ``works`` gets an answer for each request, and the longest wait in seconds."""

    def holds(seen: Answered) -> bool:
        longest_ms = max(map(int, seen.asked.settings.get("WORKLOADS_MS", "0").split(",")))
        return seen.answers is not None and works(seen.answers, longest_ms / 1000)

    # Longer waits are only for a claim that shorter ones did not show.
    stimulus: Stimulus[Requests, Answered]
    stimulus = Stimulus(title, attempts, lambda tried: not claimed or holds(tried[-1]))
    return claim_case(title, stimulus, holds, claimed=claimed, asked=_ASKED[title])


def _workloads(count: int) -> Ask:
    return Ask("/", "POST", json.dumps({"text": _TEXT, "count": count}).encode())


def _media_type(answer: Answer) -> str:
    return answer.content_type.partition(";")[0].strip().lower()


def _is_plain(answers: Sequence[Answer], _: float) -> bool:
    (answer,) = answers
    return (answer.status, _media_type(answer), answer.content) == (200, "text/plain", b"Hello, World!")


def _is_document(answers: Sequence[Answer], _: float) -> bool:
    (answer,) = answers
    digest = hashlib.sha256(answer.content).hexdigest()
    return (answer.status, _media_type(answer), digest) == (200, "application/json", DOCUMENT_SHA256)


def _waits_in_parallel(answers: Sequence[Answer], longest_s: float) -> bool:
    once, twice, none, malformed = answers
    return (
        _texts(once) == [_TEXT] * 3
        and _texts(twice) == [_TEXT] * 6
        and all(longest_s <= answer.took_s < 6 * longest_s for answer in (once, twice))
        and none.status == malformed.status == 400
    )


def _gives_up(answers: Sequence[Answer], beyond_s: float) -> bool:
    (answer,) = answers
    return answer.status == 503 and _TIMEOUT_MS / 1000 <= answer.took_s < beyond_s


def _texts(answer: Answer) -> object:
    """Return the texts of an answer; None for an answer without texts."""
    try:
        value = json.loads(answer.content)
    except ValueError:
        return None
    right = answer.status == 200 and _media_type(answer) == "application/json"
    return value["texts"] if right and isinstance(value, dict) and set(value) == {"texts"} else None
