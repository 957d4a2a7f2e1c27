"""The cases of servers: each claim of ``[capabilities]``."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.judge.conformance import Answer, Attempt, Case, Claim, Observation, Request, claim_case
from httpdyno.model import Subject

DOCUMENT_SHA256: Final = "39ca2b12b99ac2e85a72d106c60efa8d8d1a13becb570b0807248625a9de9b0c"
"""Document that every web, and every server's folder, contains."""
SCALES: Final = (1, 8, 40)
"""Factors by which waits are lengthened, one attempt after another, until a claim is confirmed.

An answer before the sum of its waits proves that the waits were parallel, however busy the machine is; a later answer
may be due to a busy machine. A server that waits one after the other can never answer before the sum.
"""
_LONGEST_MS: Final = 250
"""Longest of the three waits."""
_BEYOND_MS: Final = 3000
"""A wait beyond the timeout."""
_TIMEOUT_MS: Final = 200
_TEXT: Final = 'Grüße, "Καλημέρα" \\ 👋'
_REQUIRED: Final = {
    "endpoint plain": "answer GET /plain with 200, text/plain and the 13 bytes Hello, World!",
    "endpoint json": "answer GET /json with 200, application/json and the bytes of the servers' document.json",
    "endpoint workloads": "wait all of WORKLOADS_MS at once, once for each of count, then answer with the texts; "
    "refuse invalid content with 400",
    "endpoint timeout": "with TIMEOUT_MS answer 503 when that time is over, not before and not after the waits",
    "threads one": "serve with THREADS=1",
    "threads any": "serve with any THREADS, such as 3",
    "workers one": "serve with WORKERS=1",
    "workers any": "serve with any WORKERS, such as 3",
}
"""What the contract requires of a server that makes a claim."""


def server_cases(subject: Subject) -> tuple[Case, ...]:
    """Return a case for each capability that a server can have, claimed or not."""
    claims, plain = subject.capabilities, (Request("/plain"),)
    works = (
        _workloads(1),
        Request("/", "GET", _workloads(2).content),
        _workloads(0),
        Request("/", "POST", b'{"text": "cut'),
    )
    # The sum of the waits is six times the longest: the time of the answer shows whether they ran in parallel.
    waits = [{"WORKLOADS_MS": ",".join([str(_LONGEST_MS * scale)] * 3)} for scale in SCALES]
    late = [{"WORKLOADS_MS": f"10,{_BEYOND_MS * scale}", "TIMEOUT_MS": str(_TIMEOUT_MS)} for scale in SCALES]
    cases: dict[str, Claim] = {
        "endpoint plain": ("plain" in claims.endpoints, _attempts(plain), _is_plain),
        "endpoint json": ("json" in claims.endpoints, _attempts((Request("/json"),)), _is_document),
        "endpoint workloads": ("workloads" in claims.endpoints, _attempts(works, *waits), _waits_in_parallel),
        "endpoint timeout": ("timeout" in claims.endpoints, _attempts(works[:1], *late), _gives_up),
    }
    for name, claim in (("THREADS", claims.threads), ("WORKERS", claims.workers)):
        for which, number in (("one", "1"), ("any", "3")):
            cases[f"{name.lower()} {which}"] = (claim in {which, "any"}, _attempts(plain, {name: number}), _is_plain)
    return tuple(claim_case(title, *claim, _REQUIRED[title]) for title, claim in cases.items())


def _attempts(requests: Sequence[Request], *settings: Mapping[str, str]) -> Sequence[Attempt]:
    return [Attempt(requests=requests, environment=environment) for environment in settings or ({},)]


def _workloads(count: int) -> Request:
    return Request("/", "POST", json.dumps({"text": _TEXT, "count": count}).encode())


def _longest_s(seen: Observation) -> float:
    return max(map(int, seen.attempt.environment["WORKLOADS_MS"].split(","))) / 1000


def _media_type(answer: Answer) -> str:
    return answer.content_type.partition(";")[0].strip().lower()


def _is_plain(seen: Observation) -> bool:
    shown = [(answer.status, _media_type(answer), answer.content) for answer in seen.answers]
    return shown == [(200, "text/plain", b"Hello, World!")]


def _is_document(seen: Observation) -> bool:
    shown = [(one.status, _media_type(one), hashlib.sha256(one.content).hexdigest()) for one in seen.answers]
    return shown == [(200, "application/json", DOCUMENT_SHA256)]


def _waits_in_parallel(seen: Observation) -> bool:
    if not seen.answers:
        return False
    once, twice, none, malformed = seen.answers
    longest_s = _longest_s(seen)
    return (
        _texts(once) == [_TEXT] * 3
        and _texts(twice) == [_TEXT] * 6
        and all(longest_s <= answer.took_s < 6 * longest_s for answer in (once, twice))
        and none.status == malformed.status == 400
    )


def _gives_up(seen: Observation) -> bool:
    beyond_s = _longest_s(seen)
    return [one.status for one in seen.answers if _TIMEOUT_MS / 1000 <= one.took_s < beyond_s] == [503]


def _texts(answer: Answer) -> object:
    """Return the texts of an answer; None for an answer without texts."""
    try:
        value = json.loads(answer.content)
    except ValueError:
        return None
    right = answer.status == 200 and _media_type(answer) == "application/json"
    return value["texts"] if right and isinstance(value, dict) and set(value) == {"texts"} else None
