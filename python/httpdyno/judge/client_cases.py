"""The cases of clients: each clause of their contract, and each claim of ``[capabilities]``."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import inf
from typing import Any, Final

import polars as pl

from httpdyno.judge.conformance import (
    ENDS,
    HONEST,
    READS_ON,
    Case,
    ClientCase,
    Crawl,
    Crawled,
    Listed,
    Stimulus,
    claim_case,
    listed,
)
from httpdyno.judge.reference import WRONG_CONTENT, sample_words
from httpdyno.model import Breach, Count, Outcome, Subject, Verdict, Workload
from httpdyno.model.timed_calls import TimedAnswer

CONTRACT_WEB: Final = "contract"
"""Every fault once, and every honest oddity."""
TIMEOUTS_S: Final = (2.0, 6.0, 20.0, 60.0)
"""Request timeouts, one attempt after the other.

Stalls never end: a longer timeout tells the same faults apart, only later. A correct client is right as soon as its
machine leaves it the time for the honest answers; one that is wrong is wrong with each of them.
"""
OTHER_TIMEOUTS_S: Final = (3.5, 9.5, 31.5, 95.5)
"""Those of another crawl, so far from each of the first and from whole seconds that no constant is right with both."""
DELAYS_MS: Final = (300, 2_000, 10_000)
"""How long answers are held back, alike: so long that requests which are meant to be in flight together are."""

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
"""Of the host that has the documents: pages that fail a check of their JSON."""
LATE: Final = tuple(f"https://late.test/bytes/{length}" for length in range(101, 107))
"""Of one host, each handed over when the one before it has been answered."""
STALL: Final = "https://stall-headers.test/"
"""Of the contract's web: it takes the request and never answers."""


_MOST_AT_ONCE: Final = 20
"""As many at once as a client is measured with, if that is fewer: a browser cannot open twenty pages in a second."""

_CHECK_JSON: Final = "with CHECK=json parse the content, and print CheckFailed unless its first numbers is 123123"
_ELSEWHERE: Final = {"invalid_url"}
"""Causes that have a clause of their own."""
_STRICT_ROW: Final = re.compile(
    r".*,(?:[1-5][0-9]{2}|[A-Za-z][A-Za-z0-9_.-]*),"
    r"(?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{6,}(?:Z|[+-][0-9]{2}:[0-9]{2}),"
    r"[0-9]+\.[0-9]+,[0-9]+"
)
_CANNOT_HONOUR: Final = 127
_SHORT_SHARE: Final = 0.9
"""A timer may fire a little early, and a clock be read a little late."""
_READS_LATE: Final = "read a line when there is a slot for it, print its row at once, and flush it"
_CHANGES: Final = {
    Verdict.WRONG_STATUS: "report the status of the last answer, ten redirects followed, from https to http too",
    Verdict.WRONG_LENGTH: "read all content whatever the status, and count its bytes after decoding",
    Verdict.LATE: "bound the whole stretch by REQUEST_TIMEOUT: names, connection, TLS, head, content, redirects",
    Verdict.FALSE_ERROR: "the web answers this URL: find out what the library rejects",
    Verdict.MISSED_ERROR: "print an error's name: content cut short, a certificate that is not valid and an eleventh "
    "redirect are errors",
    Verdict.WRONG_TIME: "start_time is when the URL took its slot, duration goes on to the last byte of content",
}


def contract_cases(subject: Subject) -> tuple[ClientCase, ...]:
    """Return a case for each clause of the contract, crawl after crawl."""
    stimuli = {stimulus.name: stimulus for stimulus in _stimuli(subject)}
    clause = "subjects/CONTRACT.md#client"
    return tuple(
        Case(f"contract/{title.replace(' ', '-')}", title, clause, stimuli[name], breaches)
        for name, clauses in _CLAUSES.items()
        for title, breaches in clauses.items()
    )


def _stimuli(subject: Subject) -> Iterable[Stimulus[Crawl, Crawled]]:
    """Return the crawls of the contract."""
    # A client that prints nothing of an honest web gets no further crawl.
    plain = [_plain(delay_ms) for delay_ms in DELAYS_MS]
    yield Stimulus("empty", (Crawl(),), must_end=True)
    yield Stimulus("plain", plain, _is_plain_settled, must_end=True, is_last=lambda crawled: not crawled.lines)
    check = "json" if "json" in subject.capabilities.check else ""
    documents = Crawl(NO_DOCUMENTS, Listed.DOCUMENTS, "wrong-documents", replace(HONEST, check=check), concurrency=1)
    yield Stimulus("sequential", (documents,), must_end=True)
    # On connections of its own for each, if it can.
    late = Crawl(LATE, workload=replace(HONEST, keepalive=False not in subject.capabilities.keepalive), batch=1)
    yield Stimulus("late", (late,), must_end=True, endless=_READS_LATE)
    at_once = min(_MOST_AT_ONCE, subject.concurrency)
    faults = [Crawl(NO_URLS, Listed.WEB, CONTRACT_WEB, Workload((), time), at_once) for time in TIMEOUTS_S]
    yield Stimulus("faults", faults, must_end=True)
    stall = [Crawl((STALL,), web=CONTRACT_WEB, workload=Workload((), time)) for time in OTHER_TIMEOUTS_S]
    yield Stimulus("stall", stall, must_end=True)
    nonsense = Crawl(("https://a.test/plain",), environment={"HTTP_VERSION": "nonsense"})
    yield Stimulus("unsupported", (nonsense,))


def _plain(delay_ms: int) -> Crawl:
    """Crawl honest answers alone, some of them held back until as many as it may have are in flight together."""
    held_back = [f"https://host{number}.test/delay/{delay_ms}" for number in range(3 * AT_ONCE)]
    # More hosts than that come and go meanwhile: a client that bounds its connections must keep those in use.
    slow = f"https://slow.test/delay/{3 * delay_ms}"
    lines = (*BLANKS, *[TWICE] * TIMES, *CODINGS, slow, *held_back, *NO_URLS)
    return Crawl(lines, workload=replace(HONEST, user_agent=USER_AGENT), concurrency=AT_ONCE)


def _is_plain_settled(tried: Sequence[Crawled]) -> bool:
    """Return whether a longer delay would change nothing; one that brought no more in flight shows that."""
    *earlier, last = tried
    in_vain = last.peak in [crawled.peak for crawled in earlier]
    return not last.wants_time and (last.peak == AT_ONCE or in_vain)


def _answers(crawled: Crawled) -> Sequence[Breach]:
    """Return a breach for each way in which answers are wrong, with the first URLs."""
    missing = [line for line in map(str.strip, crawled.given) if line and line not in crawled.codes]
    if crawled.trial.outcome is Outcome.OK and missing:
        seen = f"it was ended, since it had no row yet for {listed(missing)}"
        return (Breach(seen, ENDS[Outcome.HUNG]), *_differences(crawled.wrong))
    return _differences(crawled.wrong)


def _documents(crawled: Crawled) -> Sequence[Breach]:
    # Times are judged in the crawls that are repeated with more time.
    return _differences(row for row in crawled.wrong if row["verdict"] != Verdict.WRONG_TIME)


def _differences(wrong: Iterable[Mapping[str, Any]]) -> Sequence[Breach]:
    found: dict[tuple[Verdict, str], list[str]] = {}
    for row in wrong:
        verdict, cause, words = Verdict(row["verdict"]), row["cause"], sample_words(row)
        if cause in _ELSEWHERE or verdict is Verdict.NOT_REACHED:
            continue
        change = _CHECK_JSON if cause == WRONG_CONTENT else _CHANGES.get(verdict, READS_ON)
        why = f" ({cause})" if cause and cause not in words else ""
        found.setdefault((verdict, change), []).append(f"[{words}] {row['url']}{why}")
    return tuple(Breach(f"{verdict}: {listed(which)}", change) for (verdict, change), which in found.items())


def _timeout(crawled: Crawled) -> Sequence[Breach]:
    # With more time a client that gives up too early is never late: this shows whose timeout is a constant.
    timeout_s = crawled.asked.workload.timeout_s
    durations_ns = crawled.judged.samples.filter(pl.col("url") == STALL)["duration_ns"].drop_nulls()
    took_s = min(durations_ns, default=inf) / 1e9
    return _unless(
        took_s >= _SHORT_SHARE * timeout_s,
        f"gave up {STALL} after {took_s:.2f} s, with REQUEST_TIMEOUT={timeout_s:g}",
        "take the timeout from REQUEST_TIMEOUT, for all that a URL takes together",
    )


def _unless(is_right: bool, seen: str, change: str) -> Sequence[Breach]:
    return () if is_right else (Breach(seen, change),)


def _rows(crawled: Crawled) -> Sequence[Breach]:
    broken = [line for line in crawled.lines if not _is_strict(line)]
    if not crawled.output.endswith("\n"):
        broken.append(f"{crawled.output[-80:]!r}, without a line end")
    change = (
        "print url,code,start_time,duration,body_length: an error's name of letters, digits and _.-, RFC 3339 with "
        "microseconds and offset, milliseconds with decimals"
    )
    return _unless(not broken, listed(broken), change)


def _is_strict(line: str) -> bool:
    match = _STRICT_ROW.fullmatch(line)
    if match is None:
        return False
    try:
        datetime.fromisoformat(match["start"])
    except ValueError:
        return False
    return True


def _blanks(crawled: Crawled) -> Sequence[Breach]:
    if "" in crawled.lines or "" in crawled.codes:
        return (Breach("an empty line has a row", "skip empty lines"),)
    urls = [line.strip() for line in BLANKS if line.strip()]
    return _answered(crawled, urls, "strip blanks and CR around a URL before it is fetched")


def _answered(crawled: Crawled, urls: Sequence[str], change: str) -> Sequence[Breach]:
    not_so = [f"[{crawled.codes.get(url, 'no row')}] {url}" for url in urls if crawled.codes.get(url) != "200"]
    return _unless(not not_so, listed(not_so), change)


def _at_once(crawled: Crawled) -> Sequence[Breach]:
    seen = f"with CONCURRENCY={AT_ONCE} at most {crawled.peak} requests were in flight"
    change = "have as many URLs in flight as CONCURRENCY says, and start the next one when one is done"
    return _unless(crawled.peak == AT_ONCE, seen, change)


def _one_at_a_time(crawled: Crawled) -> Sequence[Breach]:
    seen = f"with CONCURRENCY=1 up to {crawled.peak} requests were in flight"
    return _unless(crawled.peak == 1, seen, "never exceed CONCURRENCY")


def _user_agent(crawled: Crawled) -> Sequence[Breach]:
    counters = crawled.trial.counters
    sent = ", ".join(repr(count.name) for count in counters.user_agents or ()) or "none"
    return _unless(
        counters.user_agents == (Count(USER_AGENT, counters.requests or 0),),
        f"asked for {USER_AGENT!r}, the origin saw {sent}",
        "send USER_AGENT with every request",
    )


def _no_urls(crawled: Crawled) -> Sequence[Breach]:
    errors = {url for url, code in crawled.rows if not code.isdigit()}
    missed = [repr(line) for line in NO_URLS if line not in errors]
    change = "a line that is not an absolute http or https URL is a row with an error's name, such as InvalidURL"
    return _unless(not missed, f"no error for {listed(missed)}", change)


def _twice(crawled: Crawled) -> Sequence[Breach]:
    rows = sum(line.startswith(f"{TWICE},") for line in crawled.lines)
    # No honest answer redirects and none fails: each is a request, and there is no other.
    requests, due = crawled.trial.counters.requests, sum(code.isdigit() for _, code in crawled.rows)
    return _unless(
        rows == TIMES and requests == due,
        f"{TWICE} was given {TIMES} times: {rows} rows; {requests} requests where {due} are due in all",
        "fetch a URL as often as it is given, once each time: no cache, no further request",
    )


def _streams(crawled: Crawled) -> Sequence[Breach]:
    # Each line comes when the one before it has been answered: a client that waits for more of them waits for ever.
    in_turn = [line.rsplit(",", 4)[0] for line in crawled.lines] == list(LATE)
    is_right = in_turn and all(crawled.codes[url] == "200" for url in LATE)
    return _unless(is_right, "a line that comes late was not fetched when it came", _READS_LATE)


def _empty(crawled: Crawled) -> Sequence[Breach]:
    status = crawled.trial.counters.exit_code
    seen = f"of an empty list: status {status}, {len(crawled.lines)} rows"
    return _unless(status == 0 and not crawled.output, seen, READS_ON)


def _unsupported(crawled: Crawled) -> Sequence[Breach]:
    status, reason = crawled.trial.counters.exit_code, crawled.trial.reason or ""
    return _unless(
        status == _CANNOT_HONOUR and not crawled.output and "HTTP_VERSION" in reason,
        f"HTTP_VERSION=nonsense: status {status}, {len(crawled.lines)} rows",
        "end with status 127 before a line is read, and one line on stderr that names the variable",
    )


_CLAUSES: Final[Mapping[str, Mapping[str, Callable[[Crawled], Sequence[Breach]]]]] = {
    "empty": {"an empty list": _empty},
    "plain": {
        "honest answers": _answers,
        # /gzip is never sent plain, /brotli and /zstd only in their coding to a client that offers it.
        "content codings": partial(
            _answered, urls=CODINGS, change="offer in Accept-Encoding what the library decodes, and decode it"
        ),
        "CONCURRENCY": _at_once,
        "USER_AGENT": _user_agent,
        "blanks and line ends": _blanks,
        "lines that are no URL": _no_urls,
        "a URL given twice": _twice,
    },
    "sequential": {"one at a time": _one_at_a_time, "documents": _documents},
    "late": {"streaming": _streams},
    "faults": {"faults are distinguished": _answers, "form of the rows": _rows, "REQUEST_TIMEOUT": _timeout},
    "stall": {"another REQUEST_TIMEOUT": lambda crawled: (*_answers(crawled), *_timeout(crawled))},
    "unsupported": {"a setting that cannot be honoured": _unsupported},
}
"""What each crawl shows, by the title of the case."""
CONTRACT_TITLES: Final = tuple(title for clauses in _CLAUSES.values() for title in clauses)


CLAIM_DEADLINE_S: Final = 30.0
"""For each claim, of a few URLs that are answered at once."""
_CLAIM_TIMEOUT_S: Final = 20.0
"""For each URL: what a client can do is no matter of how quickly its runtime starts on a busy machine."""
_HOST: Final = "https://probe.example"
_LENGTHS: Final = range(101, 109)
_SEVERAL: Final = tuple(f"{_HOST}/bytes/{length}" for length in _LENGTHS)
"""Several URLs of one host: a client that reuses connections needs one connection for all."""
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
    "check json": _CHECK_JSON,
    "harness timeit": "with HARNESS=timeit time calls of its own, and print what CONTRACT.md says of them",
}
"""What the contract asks of a client that makes a claim."""


def claim_cases(subject: Subject) -> tuple[ClientCase, ...]:
    """Return a case for each capability that a client can have, claimed or not.

    HTTP/3 has no case: no web of this engine speaks it.
    """
    claims = subject.capabilities
    given: Mapping[str, tuple[bool, Sequence[str], dict[str, Any], Callable[[Crawled], bool]]] = {
        "http 1.1": ("1.1" in claims.http, _OF_BOTH, {"http_version": "1.1"}, _only_http_1_1),
        "http 2": ("2" in claims.http, (*_OF_BOTH, _WITHOUT_2), {"http_version": "2"}, _only_http_2),
        "keepalive on": (True in claims.keepalive, _SEVERAL, {}, partial(_keeps_alive, alive=True)),
        "keepalive off": (
            False in claims.keepalive,
            _SEVERAL,
            {"keepalive": False},
            partial(_keeps_alive, alive=False),
        ),
        "check json": ("json" in claims.check, (_JSON, _NO_JSON), {"check": "json"}, _checks_json),
        "harness timeit": ("timeit" in claims.harness, (_TIMED,), {"harness": "timeit"}, _times_its_calls),
    }
    return tuple(
        claim_case(title, _claim_stimulus(title, lines, settings), works, claimed=claimed, asked=_ASKED[title])
        for title, (claimed, lines, settings, works) in given.items()
    )


def _claim_stimulus(title: str, lines: Sequence[str], settings: Mapping[str, Any]) -> Stimulus[Crawl, Crawled]:
    web = CONTRACT_WEB if "http_version" in settings else "plain"
    workload = Workload((), _CLAIM_TIMEOUT_S, **settings)
    # One after the other: what is reused then does not depend on chance.
    crawl = Crawl(lines, web=web, workload=workload, concurrency=1, deadline_s=CLAIM_DEADLINE_S)
    return Stimulus(title, (crawl,), lambda _: True, is_last=lambda crawled: bool(crawled.unanswered))


def _all_right(codes: Mapping[str, str], urls: tuple[str, ...]) -> bool:
    return set(codes) == set(urls) and set(codes.values()) == {"200"}


def _only_http_1_1(crawled: Crawled) -> bool:
    return _all_right(crawled.codes, _OF_BOTH) and set(crawled.versions) == {"1.1"}


def _only_http_2(crawled: Crawled) -> bool:
    """Return whether all URLs of the HTTP/2 host came by HTTP/2 alone, and the other host gave an error.

    Some libraries see only by the answer which version was spoken: one request may reach the other host.
    """
    there = {url: code for url, code in crawled.codes.items() if url != _WITHOUT_2}
    refused = not crawled.codes.get(_WITHOUT_2, "200").isdigit()
    versions = crawled.versions
    only = versions.pop("2", 0) == len(_OF_BOTH) and sum(versions.values()) <= 1
    return _all_right(there, _OF_BOTH) and refused and only


def _keeps_alive(crawled: Crawled, *, alive: bool) -> bool:
    reused = crawled.trial.counters.reused
    return _all_right(crawled.codes, _SEVERAL) and reused is not None and (reused > 0) is alive


def _checks_json(crawled: Crawled) -> bool:
    return crawled.codes.get(_JSON) == "200" and crawled.codes.get(_NO_JSON) == "CheckFailed"


def _times_its_calls(crawled: Crawled) -> bool:
    """Return whether the origin saw every call as a request, with complete content."""
    timed = crawled.timed
    if timed is None or not timed.is_ok or timed.calls != crawled.trial.counters.requests:
        return False
    # Of a process that asks without a pause, some CPU time must be its own.
    return timed.answers == (TimedAnswer("200", 110, timed.calls),) and sum(timed.cpu_per_call_ns) > 0
