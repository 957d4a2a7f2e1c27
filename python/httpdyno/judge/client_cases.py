"""The cases of clients: each clause of their contract, and each claim of ``[capabilities]``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import inf
from typing import Any, Final

import polars as pl

from httpdyno.judge.conformance import (
    CHANGE_AFTER,
    HONEST,
    READS_ON,
    Attempt,
    Case,
    Claim,
    Observation,
    Stimulus,
    claim_case,
    first_few,
)
from httpdyno.judge.reference import WRONG_CONTENT, sample_words
from httpdyno.judge.scripted.case_file import FOLDER, CaseFile, read_case
from httpdyno.judge.scripted.stimuli import judge_case, process_of
from httpdyno.model import Breach, CaseOutcome, Count, Outcome, Subject, Verdict, Workload
from httpdyno.model.subject import WHOLE_TIMEOUTS
from httpdyno.model.timed_calls import TimedAnswer

CONTRACT_WEB: Final = "contract"
"""A web with every fault once, and every unusual but correct answer."""
TIMEOUTS_S: Final = (2.0, 6.0, 20.0, 60.0)
"""Request timeouts, to be tried in turn.

Stalls never end, so a longer timeout distinguishes the same faults, only later. A correct client passes as soon as its
machine is fast enough to get the good answers within the timeout; an incorrect one fails with each timeout.
"""
OTHER_TIMEOUTS_S: Final = (3.5, 9.5, 31.5, 95.5)
"""Timeouts of another crawl, so different from the first ones and from whole seconds that no constant suits both."""
DELAYS_MS: Final = (300, 2_000, 10_000)
"""Delays of answers, one attempt after the other: finally so long that all requests of a batch are in flight."""

NO_URLS: Final = (
    "two words",
    "https://exa mple.test/",
    "plain.test",
    "https://plain.test:99999/",
    "https://",
    "ftp://plain.test/",
)
CODINGS: Final = tuple(
    f"https://codings.test/{name}?n={number}" for name in ("gzip", "brotli", "zstd") for number in range(3)
)
BLANKS: Final = ("", "https://a.test/plain\r", "", "  https://b.test/plain  ", "")
TWICE: Final = "https://twice.test/plain"
TIMES: Final = 5
USER_AGENT: Final = "contract test/1.0"
AT_ONCE: Final = 7
DOCUMENT_HOST: Final = "https://documents.test"
NO_DOCUMENTS: Final = (
    f"{DOCUMENT_HOST}/plain",
    f"{DOCUMENT_HOST}/bytes/109",
    *(f"{DOCUMENT_HOST}/delay/150?n={number}" for number in range(3)),
)
"""URLs of the host with the documents: pages that fail a check of their JSON."""
LATE: Final = tuple(f"https://late.test/bytes/{length}" for length in range(101, 107))
"""URLs of one host, each given to the client when the one before has been answered."""
STALL: Final = "https://stall-headers.test/"
"""A URL of the contract's web that accepts the request and never answers."""
_CHECK_JSON: Final = "with CHECK=json parse the content, and print CheckFailed unless its first numbers is 123123"
_STRICT_ROW: Final = re.compile(
    r".*,(?:[1-5][0-9]{2}|[A-Za-z][A-Za-z0-9_.-]*),"
    r"(?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{6,}(?:Z|[+-][0-9]{2}:[0-9]{2}),"
    r"[0-9]+\.[0-9]+,[0-9]+"
)
_CANNOT_HONOUR: Final = 127
_SHORT_SHARE: Final = 0.9
"""A timer may fire a little early, and a clock be read a little late."""
_DECODES: Final = "offer in Accept-Encoding what the library decodes, and decode it"
_FILLS_SLOTS: Final = "have as many URLs in flight as CONCURRENCY says, and start the next one when one is done"
_NAMES_NO_URL: Final = (
    "a line that is not an absolute http or https URL is a row with an error's name, such as InvalidURL"
)
_FETCHES_EACH: Final = "fetch a URL as often as it is given, once each time: no cache, no further request"
_READS_LATE: Final = "read a line when there is a slot for it, print its row at once, and flush it"
_PRINTS_ROWS: Final = (
    "print url,code,start_time,duration,body_length: an error's name of letters, digits and _.-, RFC 3339 with "
    "microseconds and offset, milliseconds with decimals"
)
_TAKES_TIMEOUT: Final = "take the timeout from REQUEST_TIMEOUT, for all that a URL takes together"
_TAKES_WHOLE_TIMEOUT: Final = (
    "the timeout bounds the whole request, redirects included: a byte or a redirect must not start it anew"
)
_ENDS_WITH_127: Final = "end with status 127 before a line is read, and one line on stderr that names the variable"
_CHANGES: Final = {
    Verdict.WRONG_STATUS: "report the status of the last answer, ten redirects followed, from https to http too",
    Verdict.WRONG_LENGTH: "read all content whatever the status, and count its bytes after decoding",
    Verdict.LATE: "apply REQUEST_TIMEOUT to the whole URL: names, connection, TLS, head, content, redirects",
    Verdict.FALSE_ERROR: "the web answers this URL: find out what the library rejects",
    Verdict.MISSED_ERROR: "print an error's name: content cut short, a certificate that is not valid and an eleventh "
    "redirect are errors",
    Verdict.WRONG_TIME: "start_time is when the URL took its slot, duration extends to the last byte of content",
}
"""The change that a client needs, by the verdict of its answers."""


def contract_cases(subject: Subject) -> tuple[Case, ...]:
    """Return a case for each clause of the contract, crawl after crawl."""
    can = subject.capabilities
    empty = Stimulus("empty", (Attempt(),), must_end=True)
    # A client that prints nothing of an honest web gets no further crawl.
    held_back = [_held_back(delay_ms) for delay_ms in DELAYS_MS]
    plain = Stimulus("plain", held_back, _is_plain_settled, must_end=True, is_last=lambda seen: not seen.lines)
    checking = replace(HONEST, check="json" if "json" in can.check else "")
    documents = Attempt(NO_DOCUMENTS, "documents", "wrong-documents", checking, concurrency=1)
    sequential = Stimulus("sequential", (documents,), must_end=True)
    # On connections of its own for each, if it can.
    alone = Attempt(LATE, workload=replace(HONEST, keepalive=False not in can.keepalive), batch=1)
    late = Stimulus("late", (alone,), must_end=True, endless=_READS_LATE)
    # As many at once as a client is measured with, if that is fewer: a browser cannot open twenty pages in a second.
    at_once = min(20, subject.concurrency)
    every_fault = [Attempt(NO_URLS, "web", CONTRACT_WEB, Workload((), time), at_once) for time in TIMEOUTS_S]
    faults = Stimulus("faults", every_fault, must_end=True)
    stalls = [Attempt((STALL,), web=CONTRACT_WEB, workload=Workload((), time)) for time in OTHER_TIMEOUTS_S]
    stall = Stimulus("stall", stalls, must_end=True)
    nonsense = Attempt(("https://a.test/plain",), environment={"HTTP_VERSION": "nonsense"})
    unsupported = Stimulus("unsupported", (nonsense,))
    refuses = partial(_ends_at_once, status=_CANNOT_HONOUR, given="HTTP_VERSION=nonsense", named="HTTP_VERSION")
    case = partial(Case, "contract", "subjects/CONTRACT.md#client")
    return (
        case("an empty list", empty, partial(_ends_at_once, status=0, given="of an empty list"), READS_ON),
        case("honest answers", plain, _answers, READS_ON),
        # /gzip is never sent plain, /brotli and /zstd only in their coding to a client that offers it.
        case("content codings", plain, partial(_not_ok, urls=CODINGS), _DECODES),
        case("CONCURRENCY", plain, partial(_peak, bound="at most"), _FILLS_SLOTS),
        case("USER_AGENT", plain, _user_agent, "send USER_AGENT with every request"),
        case("blanks and line ends", plain, _blanks, "strip blanks and CR around a URL before it is fetched"),
        case("lines that are no URL", plain, _no_urls, _NAMES_NO_URL),
        case("a URL given twice", plain, _twice, _FETCHES_EACH),
        case("one at a time", sequential, partial(_peak, bound="up to"), "never exceed CONCURRENCY"),
        # Times are judged in the crawls that are repeated with more time.
        case("documents", sequential, partial(_differences, without=Verdict.WRONG_TIME), READS_ON),
        case("streaming", late, _streams, _READS_LATE),
        case("faults are distinguished", faults, _answers, READS_ON),
        case("form of the rows", faults, _rows, _PRINTS_ROWS),
        case("REQUEST_TIMEOUT", faults, _gave_up, _TAKES_TIMEOUT),
        case("another REQUEST_TIMEOUT", stall, _another_timeout, _TAKES_TIMEOUT),
        *_timeouts_of_the_whole(subject),
        case("a setting that cannot be honoured", unsupported, refuses, _ENDS_WITH_127),
    )


def _timeouts_of_the_whole(subject: Subject) -> list[Case]:
    """Return the cases of answers whose parts are each within the timeout, and which are later than it as a whole."""
    names = [f"deadlines/{title.replace('_', '-')}" for title in WHOLE_TIMEOUTS]
    files = [read_case(name, (FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in names]
    stimulus = replace(process_of(subject, files).stimulus, name="timeouts")
    return [
        Case("contract", "subjects/CONTRACT.md#client", title, stimulus, partial(_overran, file), _TAKES_WHOLE_TIMEOUT)
        for title, file in zip(WHOLE_TIMEOUTS, files, strict=True)
    ]


def _overran(file: CaseFile, seen: Observation) -> str:
    judgement = judge_case(file, seen, alone=False)
    if judgement.outcome is CaseOutcome.PASS:
        return ""
    return f"with REQUEST_TIMEOUT={file.timeout_s:g}, {file.title}: {'; '.join(it.seen for it in judgement.breaches)}"


def _held_back(delay_ms: int) -> Attempt:
    """Crawl correct answers alone, some of them held back until as many as it may have are in flight together."""
    held_back = [f"https://host{number}.test/delay/{delay_ms}" for number in range(3 * AT_ONCE)]
    # Meanwhile more hosts than that come and go: a client that limits its connections must keep those in use.
    slow = f"https://slow.test/delay/{3 * delay_ms}"
    lines = (*BLANKS, *[TWICE] * TIMES, *CODINGS, slow, *held_back, *NO_URLS)
    return Attempt(lines, workload=replace(HONEST, user_agent=USER_AGENT), concurrency=AT_ONCE)


def _is_plain_settled(tried: Sequence[Observation]) -> bool:
    """Return whether a longer delay is pointless, because it did not raise the peak of requests in flight."""
    *earlier, peak = (seen.trial.counters.peak_concurrency for seen in tried)
    return not tried[-1].wants_time and (peak == AT_ONCE or peak in earlier)


def _answers(seen: Observation) -> Sequence[Breach]:
    """Return a breach for each way in which answers are wrong, with the first URLs."""
    missing = [line for line in map(str.strip, seen.given) if line and line not in seen.codes]
    if seen.trial.outcome is Outcome.OK and missing:
        ended = Breach(f"it was ended, since it had no row yet for {first_few(missing)}", CHANGE_AFTER[Outcome.HUNG])
        return (ended, *_differences(seen))
    return _differences(seen)


def _differences(seen: Observation, *, without: Verdict | None = None) -> Sequence[Breach]:
    """Return a breach for each kind of wrong answer, without verdicts and causes that have a case of their own."""
    found: dict[tuple[Verdict, str], list[str]] = {}
    for row in seen.wrong:
        verdict, cause, words = Verdict(row["verdict"]), row["cause"], sample_words(row)
        if cause == "invalid_url" or verdict in {Verdict.NOT_REACHED, without}:
            continue
        change = _CHECK_JSON if cause == WRONG_CONTENT else _CHANGES.get(verdict, READS_ON)
        why = f" ({cause})" if cause and cause not in words else ""
        found.setdefault((verdict, change), []).append(f"[{words}] {row['url']}{why}")
    return tuple(Breach(f"{verdict}: {first_few(which)}", change) for (verdict, change), which in found.items())


def _gave_up(seen: Observation) -> str:
    # With longer timeouts, a client that gives up too early is never late: this case detects a constant timeout.
    timeout_s = seen.attempt.workload.timeout_s
    durations_ns = seen.samples.filter(pl.col("url") == STALL)["duration_ns"].drop_nulls()
    took_s = min(durations_ns, default=inf) / 1e9
    early = f"gave up {STALL} after {took_s:.2f} s, with REQUEST_TIMEOUT={timeout_s:g}"
    return early if took_s < _SHORT_SHARE * timeout_s else ""


def _another_timeout(seen: Observation) -> Sequence[Breach]:
    early = _gave_up(seen)
    return (*_answers(seen), *([Breach(early, _TAKES_TIMEOUT)] if early else []))


def _rows(seen: Observation) -> str:
    broken = [line for line in seen.lines if not _is_strict(line)]
    if not seen.output.endswith("\n"):
        broken.append(f"{seen.output[-80:]!r}, without a line end")
    return first_few(broken)


def _is_strict(line: str) -> bool:
    match = _STRICT_ROW.fullmatch(line)
    try:
        return match is not None and bool(datetime.fromisoformat(match["start"]))
    except ValueError:
        return False


def _blanks(seen: Observation) -> str | Sequence[Breach]:
    if "" in seen.lines or "" in seen.codes:
        return (Breach("an empty line has a row", "skip empty lines"),)
    return _not_ok(seen, [line.strip() for line in BLANKS if line.strip()])


def _not_ok(seen: Observation, urls: Sequence[str]) -> str:
    """Name those of the URLs that have another code than 200."""
    return first_few([f"[{seen.codes.get(url, 'no row')}] {url}" for url in urls if seen.codes.get(url) != "200"])


def _peak(seen: Observation, *, bound: str) -> str:
    given, peak = seen.attempt.concurrency, seen.trial.counters.peak_concurrency
    return "" if peak == given else f"with CONCURRENCY={given} {bound} {peak} requests were in flight"


def _user_agent(seen: Observation) -> str:
    counters = seen.trial.counters
    if counters.user_agents == (Count(USER_AGENT, counters.requests or 0),):
        return ""
    sent = ", ".join(repr(count.name) for count in counters.user_agents or ()) or "none"
    return f"User-Agent must be {USER_AGENT!r}; the origin received {sent}"


def _no_urls(seen: Observation) -> str:
    errors = {url for url, code in seen.rows if not code.isdigit()}
    missed = [repr(line) for line in NO_URLS if line not in errors]
    return f"no error for {first_few(missed)}" if missed else ""


def _twice(seen: Observation) -> str:
    rows = sum(line.startswith(f"{TWICE},") for line in seen.lines)
    # Good answers neither redirect nor fail: each URL is one request, and there are no others.
    requests, due = seen.trial.counters.requests, sum(code.isdigit() for _, code in seen.rows)
    if rows == TIMES and requests == due:
        return ""
    return f"{TWICE} was given {TIMES} times: {rows} rows; {requests} requests where {due} are due in all"


def _streams(seen: Observation) -> str:
    # Each line is sent when the one before has been answered: a client that waits for more lines waits forever.
    in_turn = [line.rsplit(",", 4)[0] for line in seen.lines] == list(LATE)
    return "" if in_turn and not _not_ok(seen, LATE) else "a line that comes late was not fetched when it came"


def _ends_at_once(seen: Observation, *, status: int, given: str, named: str = "") -> str:
    """Compare the exit status of a client that must print no row, and name the variable in its message."""
    found = seen.trial.counters.exit_code
    is_right = found == status and not seen.output and named in seen.stderr
    return "" if is_right else f"{given}: status {found}, {len(seen.lines)} rows"


CLAIM_DEADLINE_S: Final = 30.0
"""Deadline of the crawl of a claim, with a few URLs that are answered at once."""
_CLAIM_TIMEOUT_S: Final = 20.0
"""For each URL: how quickly a client's runtime starts on a busy machine does not decide what the client can do."""
_HOST: Final = "https://probe.example"
_LENGTHS: Final = range(101, 109)
_SEVERAL: Final = tuple(f"{_HOST}/bytes/{length}" for length in _LENGTHS)
"""Several URLs of one host: a client that reuses connections needs only one connection."""
_OF_BOTH: Final = tuple(f"https://http2.test/bytes/{length}" for length in _LENGTHS)
"""URLs of a host that offers HTTP/2 and HTTP/1.1: a client that is set to one of them must not use the other."""
_WITHOUT_2: Final = "https://length.test/bytes/109"
"""URL of a host that does not speak HTTP/2."""
_JSON: Final = f"{_HOST}/json"
_NO_JSON: Final = f"{_HOST}/plain"
_TIMED: Final = f"{_HOST}/bytes/110"
_ECHOES: Final = (f"{_HOST}/echo", "http://probe.example/echo")
"""URLs whose content is the method of the request, a line feed, and its content."""
_SENT: Final = "f\u00fcnf = 5 & \U0001f40e"
"""Content with a different number of characters, of UTF-16 units and of bytes."""
_HEADS: Final = (f"{_HOST}/bytes/111", "http://probe.example/json?coding=gzip")
_REQUIRED: Final = {
    "http 1.1": "with HTTP_VERSION=1.1 use only that version",
    "http 2": "with HTTP_VERSION=2 use only that version, and print an error's name for a host without it",
    "keepalive on": "with KEEPALIVE=1 reuse open connections",
    "keepalive off": "with KEEPALIVE=0 open a connection for every request",
    "check json": _CHECK_JSON,
    "harness timeit": "with HARNESS=timeit time its own calls, and print the line that CONTRACT.md defines",
    "method post": "with METHOD=POST send BODY, in UTF-8, as the content of the request",
    "method head": "with METHOD=HEAD print the status of the answer, which has no content",
}
"""What the contract requires of a client that makes a claim."""


def claim_cases(subject: Subject) -> tuple[Case, ...]:
    """Return a case for each capability that a client can have, claimed or not.

    HTTP/3 has no case: no web of this engine serves it.
    """
    claims = subject.capabilities
    cases: Mapping[str, Claim] = {
        "http 1.1": ("1.1" in claims.http, _claim(_OF_BOTH, http_version="1.1"), _only_http_1_1),
        "http 2": ("2" in claims.http, _claim((*_OF_BOTH, _WITHOUT_2), http_version="2"), _only_http_2),
        "keepalive on": (True in claims.keepalive, _claim(_SEVERAL), partial(_keeps_alive, alive=True)),
        "keepalive off": (
            False in claims.keepalive,
            _claim(_SEVERAL, keepalive=False),
            partial(_keeps_alive, alive=False),
        ),
        "check json": ("json" in claims.check, _claim((_JSON, _NO_JSON), check="json"), _checks_json),
        "harness timeit": ("timeit" in claims.harness, _claim((_TIMED,), harness="timeit"), _times_its_calls),
        "method post": (claims.methods, _claim(_ECHOES, method="POST", body=_SENT), _posts),
        "method head": (claims.methods, _claim(_HEADS, method="HEAD"), _sends_heads),
    }
    return tuple(claim_case(title, *claim, _REQUIRED[title]) for title, claim in cases.items())


def _claim(lines: Sequence[str], **settings: Any) -> Sequence[Attempt]:  # noqa: ANN401  # of a workload
    web = CONTRACT_WEB if "http_version" in settings else "plain"
    workload = Workload((), _CLAIM_TIMEOUT_S, **settings)
    # One after the other: then the reuse of connections does not depend on chance.
    return [Attempt(lines, web=web, workload=workload, concurrency=1, deadline_s=CLAIM_DEADLINE_S)]


def _all_right(codes: Mapping[str, str], urls: tuple[str, ...]) -> bool:
    return set(codes) == set(urls) and set(codes.values()) == {"200"}


def _only_http_1_1(seen: Observation) -> bool:
    return _all_right(seen.codes, _OF_BOTH) and set(seen.versions) == {"1.1"}


def _only_http_2(seen: Observation) -> bool:
    """Return whether all URLs of the HTTP/2 host came over HTTP/2, and the other host gave an error.

    Some libraries learn the version only from the answer: one request may reach the other host.
    """
    there = {url: code for url, code in seen.codes.items() if url != _WITHOUT_2}
    refused = not seen.codes.get(_WITHOUT_2, "200").isdigit()
    versions = seen.versions
    only = versions.pop("2", 0) == len(_OF_BOTH) and sum(versions.values()) <= 1
    return _all_right(there, _OF_BOTH) and refused and only


def _keeps_alive(seen: Observation, *, alive: bool) -> bool:
    reused = seen.trial.counters.reused
    return _all_right(seen.codes, _SEVERAL) and reused is not None and (reused > 0) is alive


def _checks_json(seen: Observation) -> bool:
    return seen.codes.get(_JSON) == "200" and seen.codes.get(_NO_JSON) == "CheckFailed"


def _times_its_calls(seen: Observation) -> bool:
    """Return whether the origin saw every call as a request, with complete content."""
    timed = seen.timed
    if timed is None or not timed.is_ok or timed.calls != seen.trial.counters.requests:
        return False
    # A process that sends requests without a pause must use some CPU time.
    return timed.answers == (TimedAnswer("200", 110, timed.calls),) and sum(timed.cpu_per_call_ns) > 0


def _posts(seen: Observation) -> bool:
    """Return whether the origin received the method and the content, and returned both."""
    length = len(f"POST\n{_SENT}".encode())
    return seen.lengths == dict.fromkeys(_ECHOES, str(length))


def _sends_heads(seen: Observation) -> bool:
    # A GET of these URLs has content.
    return seen.lengths == dict.fromkeys(_HEADS, "0")
