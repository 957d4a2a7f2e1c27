"""The claims of ``[capabilities]``, and the probe that puts each of them to the test."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Final

from httpdyno.model import Counters, Subject, Workload
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls
from httpdyno.subjects.cache import BuildPlace

PROBE_WEB: Final = "plain"
_HOST: Final = "https://probe.example"
_LENGTHS: Final = range(101, 109)
_SEVERAL: Final = tuple(f"{_HOST}/bytes/{length}" for length in _LENGTHS)
"""Several URLs of one host: a client that reuses connections needs one connection for all."""
_HTTP_WEB: Final = "contract"
_OF_BOTH: Final = tuple(f"https://http2.test/bytes/{length}" for length in _LENGTHS)
"""A host that offers HTTP/2 and HTTP/1.1: a client that is set to one of them must not use the other."""
_WITHOUT_2: Final = "https://length.test/bytes/109"
"""Of a host that does not speak HTTP/2."""
_JSON: Final = f"{_HOST}/json"
_NO_JSON: Final = f"{_HOST}/plain"
_TIMED: Final = f"{_HOST}/bytes/110"

_ASKED: Final = {
    "http 1.1": "with HTTP_VERSION=1.1 speak that version alone",
    "http 2": "with HTTP_VERSION=2 speak that version alone, and print an error's name for a host without it",
    "keepalive on": "with KEEPALIVE=1 send further requests over a connection that is open",
    "keepalive off": "with KEEPALIVE=0 give every request a connection of its own",
    "check json": "with CHECK=json parse the content, and print CheckFailed unless its first numbers is 123123",
    "harness timeit": "with HARNESS=timeit time calls of its own, and print what CONTRACT.md says of them",
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
"""What the contract asks of a client that makes a claim."""

Codes = Mapping[str, str]
"""The code that the client printed, by URL."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Result of running a case."""

    codes: Codes
    """What the client printed; empty when it ended without a line, as it must for a setting that it cannot honour."""
    counters: Counters
    """What the origin saw."""
    timed: TimedCalls | None = None
    """What it printed where it was to time its own calls; None when that was nothing of the kind."""
    unanswered: str = ""
    """What it did not answer in time, in words; empty when it came to its end."""


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One crawl of a few URLs that shows whether one capability is there."""

    claim: str
    """Its name, one of ``model.cause.CLAIMS``; a ``known_failure`` may name it."""
    claimed: bool
    workload: Workload
    web: str
    works: Callable[[Shown], bool]

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of the crawl."""
        urls = self.workload.urls
        return urls if isinstance(urls, tuple) else ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Whether a capability is claimed, and whether it works."""

    claim: str
    claimed: bool
    works: bool
    known: str | None = None
    """The reason of the known failure that explains a difference."""
    unanswered: str = ""
    """What it did not answer in time, in words."""

    @property
    def honest(self) -> bool:
        """Whether the claim is true, or a known failure explains why not."""
        return self.claimed == self.works or self.known is not None

    @property
    def mark(self) -> str:
        """Mark of the result: ``ok`` when it works, ``as said`` when it is not claimed and does not work."""
        if not self.honest:
            return "FAILED"
        if self.claimed != self.works:
            return "known"
        return "ok" if self.works else "as said"

    @property
    def change(self) -> str:
        """Change that makes claim and behaviour agree: in the program or in the claim."""
        if self.claimed:
            return f"{_ASKED[self.claim]}; or take the claim out of its [capabilities]"
        return "add the claim to its [capabilities]"

    def __str__(self) -> str:
        """Describe the result in one line."""
        claimed = "claimed" if self.claimed else "not claimed"
        works = "works" if self.works else "does not work"
        why = f", {self.unanswered}" if self.unanswered else ""
        return f"{self.claim}: {claimed}, {works}{why}" + (f" (known: {self.known})" if self.known else "")


def claims_anything(subject: Subject) -> bool:
    """Return whether a subject claims any capability; adapters for other purposes claim none."""
    claims = subject.capabilities
    return bool(claims.endpoints) or any(case.claimed for case in probe_cases(subject))


def probe_cases(subject: Subject) -> tuple[ProbeCase, ...]:
    """Return a case for each capability that a client can have, claimed or not.

    HTTP/3 has no case: no web of this engine speaks it.
    """
    http, keepalive = subject.capabilities.http, subject.capabilities.keepalive
    http_1_1 = Workload(_OF_BOTH, http_version="1.1")
    http_2 = Workload((*_OF_BOTH, _WITHOUT_2), http_version="2")
    several = Workload(_SEVERAL)
    check = Workload((_JSON, _NO_JSON), check="json")
    return (
        ProbeCase("http 1.1", "1.1" in http, http_1_1, _HTTP_WEB, _only_http_1_1),
        ProbeCase("http 2", "2" in http, http_2, _HTTP_WEB, _only_http_2),
        ProbeCase("keepalive on", True in keepalive, several, PROBE_WEB, _reuses),
        ProbeCase("keepalive off", False in keepalive, replace(several, keepalive=False), PROBE_WEB, _never_reuses),
        ProbeCase("check json", "json" in subject.capabilities.check, check, PROBE_WEB, _checks_json),
        ProbeCase(
            "harness timeit",
            "timeit" in subject.capabilities.harness,
            Workload((_TIMED,), harness="timeit"),
            PROBE_WEB,
            _times_its_calls,
        ),
    )


def conclude(subject: Subject, case: ProbeCase, shown: Shown) -> ProbeResult:
    """Return the result of a case; a known failure of the subject may explain a difference."""
    works = case.works(shown)
    failure = subject.known_failure(case.claim) if works != case.claimed else None
    return ProbeResult(case.claim, case.claimed, works, failure.reason if failure else None, shown.unanswered)


def _all_right(codes: Codes, urls: tuple[str, ...]) -> bool:
    return set(codes) == set(urls) and set(codes.values()) == {"200"}


def _versions(counters: Counters) -> dict[str, int]:
    return {count.name: count.count for count in counters.http_versions or () if count.count}


def _only_http_1_1(shown: Shown) -> bool:
    return _all_right(shown.codes, _OF_BOTH) and set(_versions(shown.counters)) == {"1.1"}


def _only_http_2(shown: Shown) -> bool:
    """Return whether all URLs of the HTTP/2 host came by HTTP/2 alone, and the other host gave an error.

    Some libraries see only by the answer which version was spoken: one request may reach the other host.
    """
    there = {url: code for url, code in shown.codes.items() if url != _WITHOUT_2}
    refused = not shown.codes.get(_WITHOUT_2, "200").isdigit()
    versions = _versions(shown.counters)
    only = versions.pop("2", 0) == len(_OF_BOTH) and sum(versions.values()) <= 1
    return _all_right(there, _OF_BOTH) and refused and only


def _reuses(shown: Shown) -> bool:
    return _all_right(shown.codes, _SEVERAL) and bool(shown.counters.reused)


def _never_reuses(shown: Shown) -> bool:
    return _all_right(shown.codes, _SEVERAL) and shown.counters.reused == 0


def _checks_json(shown: Shown) -> bool:
    return shown.codes.get(_JSON) == "200" and shown.codes.get(_NO_JSON) == "CheckFailed"


def _times_its_calls(shown: Shown) -> bool:
    """Return whether the origin saw every call as a request, with complete content."""
    timed = shown.timed
    if timed is None or not timed.is_ok or timed.calls != shown.counters.requests:
        return False
    # Of a process that asks without a pause, some CPU time must be its own.
    return timed.answers == (TimedAnswer("200", 110, timed.calls),) and sum(timed.cpu_per_call_ns) > 0


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
    """Answer to one request."""

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

    ``scale`` multiplies the waits that are distinguished by time; it is one of ``SCALES``.
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
    """Return the result of a case from one answer for each request; a known failure may explain a difference.

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
    """Return the texts of an answer; None for an answer without texts."""
    try:
        value = json.loads(answer.content)
    except ValueError:
        return None
    right = answer.status == 200 and _media_type(answer) == "application/json"
    return value["texts"] if right and isinstance(value, dict) and set(value) == {"texts"} else None


_FILE: Final = "probe.json"


def read_proof(place: BuildPlace, engine: str) -> tuple[ProbeResult, ...] | None:
    """Read the results of a probe; None when this build was not probed with this engine, or the file is unreadable."""
    try:
        values = json.loads((place.path / _FILE).read_text(encoding="utf-8"))
        return tuple(ProbeResult(**result) for result in values["results"]) if values["engine"] == engine else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_proof(place: BuildPlace, engine: str, results: Sequence[ProbeResult]) -> None:
    """Write the results of a probe atomically."""
    text = json.dumps({"engine": engine, "results": [asdict(result) for result in results]}, indent=2)
    written = place.path / f"{_FILE}.new"
    written.write_text(f"{text}\n", encoding="utf-8")
    written.replace(place.path / _FILE)
