"""The clauses of the contract of clients: which crawl shows each, and what has to change where it is broken."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from httpdyno.judge.reference import WRONG_CONTENT, sample_words
from httpdyno.lab.contract.crawl import Crawled
from httpdyno.lab.contract.lists import AT_ONCE, BLANKS, CODINGS, LATE, NO_URLS, STALL, TIMES, TWICE, USER_AGENT
from httpdyno.model import Count, Outcome, Verdict

__all__ = ["CLAUSES", "Breach", "Clause", "breaches_of", "is_cut_short"]

_NAMED: Final = 3
_UNCHECKED: Final = "with CHECK=json parse the content, and print CheckFailed unless its first numbers is 123123"
_TOLD_ELSEWHERE: Final = {"invalid_url"}
"""Causes that have a clause of their own."""
_STRICT_ROW: Final = re.compile(
    r".*,(?:[1-5][0-9]{2}|[A-Za-z][A-Za-z0-9_.-]*),"
    r"(?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{6,}(?:Z|[+-][0-9]{2}:[0-9]{2}),"
    r"[0-9]+\.[0-9]+,[0-9]+"
)
_CANNOT_HONOUR: Final = 127
_SHORT_SHARE: Final = 0.9
"""A timer may fire a little early, and a clock be read a little late."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What a client did otherwise than the contract says."""

    seen: str
    change: str
    """What has to change in it."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that the contract asks."""

    name: str
    crawl: str
    """The crawl that shows it (``contract.check``)."""
    breaches: Callable[[Crawled], Sequence[Breach]]
    endless: str = ""
    """What has to change where the crawl does not come to its end; empty: what ``_ENDS`` says."""

    @property
    def is_first(self) -> bool:
        """Whether it is the first of its crawl, under which people read how that ended."""
        return next(clause for clause in CLAUSES if clause.crawl == self.crawl) is self


def is_cut_short(crawled: Crawled, crawl: str) -> bool:
    """Return whether a crawl shows its first clause alone, by how it ended."""
    outcome = crawled.judged.trial.outcome
    is_whole = outcome is Outcome.OK or (outcome is Outcome.HUNG and bool(crawled.lines))
    return not is_whole and crawl != "unsupported"


def breaches_of(clause: Clause, crawled: Crawled) -> Sequence[Breach]:
    """Return how a crawl breaks a clause; one that is cut short breaks each."""
    trial = crawled.judged.trial
    if trial.outcome is Outcome.OK or clause.crawl == "unsupported":
        return clause.breaches(crawled)
    ended = Breach(f"{trial.outcome}: {trial.reason}", clause.endless or _ENDS.get(trial.outcome, _READS_ON))
    if is_cut_short(crawled, clause.crawl):
        return (ended,)
    return (*((ended,) if clause.is_first else ()), *clause.breaches(crawled))


_READS_ON: Final = "read lines until the end of the input, print a row for each, end with status 0"
_READS_LATE: Final = "read a line when there is a slot for it, print its row at once, and flush it"
_ENDS: Final = {
    Outcome.HUNG: "print a row for each line when it is done, whatever else waits; REQUEST_TIMEOUT bounds every stage",
    Outcome.GARBAGE: (
        "print nothing but rows to stdout, url,code,start_time,duration,body_length, and none for an empty line"
    ),
    Outcome.FOREIGN: "the first column is the line as it was read",
    Outcome.DUPLICATE: "print one row for each line",
    Outcome.MISSING: "print one row for each line",
}
_CHANGES: Final = {
    Verdict.WRONG_STATUS: "report the status of the last answer, ten redirects followed, from https to http too",
    Verdict.WRONG_LENGTH: "read all content whatever the status, and count its bytes after decoding",
    Verdict.LATE: "bound the whole stretch by REQUEST_TIMEOUT: names, connection, TLS, head, content, redirects",
    Verdict.FALSE_ERROR: "the web answers this URL: find out what the library minds",
    Verdict.MISSED_ERROR: "print an error's name: content cut short, a certificate that is not valid and an eleventh "
    "redirect are errors",
    Verdict.WRONG_TIME: "start_time is when the URL took its slot, duration goes on to the last byte of content",
}


def _answers(crawled: Crawled) -> Sequence[Breach]:
    """Return a breach for each way in which answers are wrong, with the first URLs."""
    if crawled.judged.trial.outcome is Outcome.OK and crawled.unanswered:
        seen = f"it was ended, since it had no row yet for {_listed(crawled.unanswered)}"
        return (Breach(seen, _ENDS[Outcome.HUNG]), *_told(crawled.wrong))
    return _told(crawled.wrong)


def _documents(crawled: Crawled) -> Sequence[Breach]:
    # Whether it was seen when it says is asked of the crawls that are made again with more time.
    return _told(row for row in crawled.wrong if row["verdict"] != Verdict.WRONG_TIME)


def _told(wrong: Iterable[Mapping[str, Any]]) -> Sequence[Breach]:
    found: dict[tuple[Verdict, str], list[str]] = {}
    for row in wrong:
        verdict, cause, words = Verdict(row["verdict"]), row["cause"], sample_words(row)
        if cause in _TOLD_ELSEWHERE or verdict is Verdict.NOT_REACHED:
            continue
        change = _UNCHECKED if cause == WRONG_CONTENT else _CHANGES.get(verdict, _READS_ON)
        why = f" ({cause})" if cause and cause not in words else ""
        found.setdefault((verdict, change), []).append(f"[{words}] {row['url']}{why}")
    return tuple(Breach(f"{verdict}: {_listed(which)}", change) for (verdict, change), which in found.items())


def _timeout(crawled: Crawled) -> Sequence[Breach]:
    # With more time a client that gives up too early is never late: this shows whose timeout is a constant.
    samples = crawled.judged.samples.filter(pl.col("url") == STALL)
    took_s = [duration / 1e9 for duration in samples["duration_ns"].drop_nulls()]
    if all(took >= _SHORT_SHARE * crawled.told.timeout_s for took in took_s):
        return ()
    change = "take the timeout from REQUEST_TIMEOUT, for all that a URL takes together"
    return (
        Breach(f"gave up {STALL} after {min(took_s):.2f} s, with REQUEST_TIMEOUT={crawled.told.timeout_s:g}", change),
    )


def _other_timeout(crawled: Crawled) -> Sequence[Breach]:
    return (*_answers(crawled), *_timeout(crawled))


def _rows(crawled: Crawled) -> Sequence[Breach]:
    broken = [line for line in crawled.lines if not _is_strict(line)]
    if not crawled.output.endswith("\n"):
        broken.append(f"{crawled.output[-80:]!r}, without a line end")
    change = (
        "print url,code,start_time,duration,body_length: an error's name of letters, digits and _.-, RFC 3339 with "
        "microseconds and offset, milliseconds with decimals"
    )
    return (Breach(_listed(broken), change),) if broken else ()


def _is_strict(line: str) -> bool:
    match = _STRICT_ROW.fullmatch(line)
    if match is None:
        return False
    try:
        datetime.fromisoformat(match["start"])
    except ValueError:
        return False
    return True


def _codings(crawled: Crawled) -> Sequence[Breach]:
    # /gzip is never sent plain, /brotli and /zstd come in that coding to whom offers it: the length tells.
    return _answered(crawled, CODINGS, "offer in Accept-Encoding what the library decodes, and decode it")


def _blanks(crawled: Crawled) -> Sequence[Breach]:
    if "" in crawled.lines or "" in crawled.codes:
        return (Breach("an empty line has a row", "skip empty lines"),)
    urls = [line.strip() for line in BLANKS if line.strip()]
    return _answered(crawled, urls, "strip blanks and CR around a URL before it is fetched")


def _answered(crawled: Crawled, urls: Sequence[str], change: str) -> Sequence[Breach]:
    not_so = [f"[{crawled.codes.get(url, 'no row')}] {url}" for url in urls if crawled.codes.get(url) != "200"]
    return (Breach(_listed(not_so), change),) if not_so else ()


def _at_once(crawled: Crawled) -> Sequence[Breach]:
    if crawled.peak == AT_ONCE:
        return ()
    change = "have as many URLs in flight as CONCURRENCY says, and start the next one when one is done"
    return (Breach(f"with CONCURRENCY={AT_ONCE} at most {crawled.peak} requests were in flight", change),)


def _one_at_a_time(crawled: Crawled) -> Sequence[Breach]:
    if crawled.peak == 1:
        return ()
    return (Breach(f"with CONCURRENCY=1 up to {crawled.peak} requests were in flight", "never exceed CONCURRENCY"),)


def _user_agent(crawled: Crawled) -> Sequence[Breach]:
    counters = crawled.judged.trial.counters
    if counters.user_agents == (Count(USER_AGENT, counters.requests or 0),):
        return ()
    sent = ", ".join(repr(count.name) for count in counters.user_agents or ()) or "none"
    return (Breach(f"asked for {USER_AGENT!r}, the origin saw {sent}", "send USER_AGENT with every request"),)


def _no_urls(crawled: Crawled) -> Sequence[Breach]:
    errors = {url for url, code in crawled.rows if not code.isdigit()}
    missed = [repr(line) for line in NO_URLS if line not in errors]
    change = "a line that is no absolute http or https URL is a row with an error's name, such as InvalidURL"
    return (Breach(f"no error for {_listed(missed)}", change),) if missed else ()


def _twice(crawled: Crawled) -> Sequence[Breach]:
    rows = sum(line.startswith(f"{TWICE},") for line in crawled.lines)
    # No honest answer redirects and none fails: each is a request, and there is no other.
    requests, due = crawled.judged.trial.counters.requests, sum(code.isdigit() for _, code in crawled.rows)
    if rows == TIMES and requests == due:
        return ()
    seen = f"{TWICE} was given {TIMES} times: {rows} rows; {requests} requests where {due} are due in all"
    return (Breach(seen, "fetch a URL as often as it is given, once each time: no cache, no request beside it"),)


def _streams(crawled: Crawled) -> Sequence[Breach]:
    # Each line comes when the one before it has been answered: who waits for more of them waits for ever.
    in_turn = [line.rsplit(",", 4)[0] for line in crawled.lines] == list(LATE)
    if in_turn and all(crawled.codes[url] == "200" for url in LATE):
        return ()
    return (Breach("a line that comes late was not fetched when it came", _READS_LATE),)


def _empty(crawled: Crawled) -> Sequence[Breach]:
    status = crawled.judged.trial.counters.exit_code
    if status == 0 and not crawled.output:
        return ()
    return (Breach(f"of an empty list: status {status}, {len(crawled.lines)} rows", _READS_ON),)


def _unsupported(crawled: Crawled) -> Sequence[Breach]:
    status, reason = crawled.judged.trial.counters.exit_code, crawled.judged.trial.reason or ""
    if status == _CANNOT_HONOUR and not crawled.output and "HTTP_VERSION" in reason:
        return ()
    change = "end with status 127 before a line is read, and one line on stderr that names the variable"
    return (Breach(f"HTTP_VERSION=nonsense: status {status}, {len(crawled.lines)} rows", change),)


def _listed(which: Sequence[str]) -> str:
    more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
    return "; ".join(which[:_NAMED]) + more


CLAUSES: Final = (
    Clause("an empty list", "empty", _empty, _READS_ON),
    Clause("honest answers", "plain", _answers),
    Clause("content codings", "plain", _codings),
    Clause("CONCURRENCY", "plain", _at_once),
    Clause("USER_AGENT", "plain", _user_agent),
    Clause("blanks and line ends", "plain", _blanks),
    Clause("lines that are no URL", "plain", _no_urls),
    Clause("a URL given twice", "plain", _twice),
    Clause("one at a time", "sequential", _one_at_a_time),
    Clause("documents", "sequential", _documents),
    Clause("streaming", "late", _streams, _READS_LATE),
    Clause("faults are told apart", "faults", _answers),
    Clause("form of the rows", "faults", _rows),
    Clause("REQUEST_TIMEOUT", "faults", _timeout),
    Clause("another REQUEST_TIMEOUT", "stall", _other_timeout),
    Clause("a setting that cannot be honoured", "unsupported", _unsupported),
)
"""All of them, crawl after crawl."""
