"""Holds a built client to its contract: a few crawls, each of which answers many questions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.errors import Interrupted
from httpdyno.lab.contract.clause import CLAUSES, Breach, Clause, breaches_of, is_cut_short
from httpdyno.lab.contract.crawl import CONTRACT_WEB, HONEST, Crawled, Room, urls_of
from httpdyno.lab.contract.escalation import DELAYS_MS, OTHER_TIMEOUTS_S, TIMEOUTS_S, first_done
from httpdyno.lab.contract.lists import (
    AT_ONCE,
    BLANKS,
    CODINGS,
    DOCUMENT_HOST,
    LATE,
    NO_DOCUMENTS,
    NO_URLS,
    STALL,
    TIMES,
    TWICE,
    USER_AGENT,
)
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Workload

__all__ = ["CRAWLS", "Checked", "Documents", "check_contract", "find_documents"]

_MOST_AT_ONCE: Final = 20
"""As many at once as a client is measured with, if that is fewer: a browser cannot open twenty pages in a second."""
_DOCUMENTS: Final = 3000


@dataclass(frozen=True, slots=True)
class Checked:
    """A clause, and how it is broken."""

    clause: Clause
    breaches: Sequence[Breach] | None
    """None: the crawl broke off before it could show that."""


@dataclass(frozen=True, slots=True)
class Documents:
    """URLs of the JSON document, and those of them that give it with a wrong number."""

    urls: Sequence[str]
    wrong: frozenset[str]


def check_contract(room: Room) -> Iterator[Checked]:
    """Crawl, one crawl after the other, and yield each clause as soon as its crawl has shown it.

    A client that prints nothing of an honest web is asked no more.
    """
    is_mute = False
    for name, crawl in CRAWLS.items():
        clauses = [clause for clause in CLAUSES if clause.crawl == name]
        if is_mute:
            yield from (Checked(clause, None) for clause in clauses)
            continue
        crawled = crawl(room)
        if room.interruption.requested:
            raise Interrupted(f"interrupted while {room.build.subject.id} was held to its contract")
        if is_cut_short(crawled, name):
            is_mute = name == "plain" and not crawled.lines
            yield Checked(clauses[0], breaches_of(clauses[0], crawled))
            yield from (Checked(clause, None) for clause in clauses[1:])
        else:
            yield from (Checked(clause, breaches_of(clause, crawled)) for clause in clauses)


def find_documents(engine: Engine) -> Documents:
    """Return a few of the right documents before each wrong one, and a few after it.

    What was read before must not be taken for it.
    """
    urls = [f"{DOCUMENT_HOST}/json?n={number}" for number in range(_DOCUMENTS)]
    with ScratchFile() as listed, ScratchFile() as answer:
        listed.file.write("\n".join(urls).encode())
        listed.file.flush()
        engine.expect(web="wrong-documents", seed=1, timeout_s=5, check="json", urls=listed.path, into=answer.file)
        rows = answer.read_text().splitlines()[1:]
    wrong = [number for number, row in enumerate(rows) if ",error,,,check_failed," in row]
    near = sorted({number + step for number in wrong for step in range(-3, 4)} & set(range(_DOCUMENTS)))
    return Documents([urls[number] for number in near], frozenset(urls[number] for number in wrong))


def _faults(room: Room) -> Crawled:
    """Crawl every fault, every honest oddity and what is no URL."""
    urls = [*urls_of(room.engine, CONTRACT_WEB, 10_000), *NO_URLS]
    concurrency = min(_MOST_AT_ONCE, room.build.subject.concurrency)

    def crawled(timeout_s: float) -> Crawled:
        return room.crawl(urls, web=CONTRACT_WEB, concurrency=concurrency, told=Workload((), timeout_s))

    return first_done(TIMEOUTS_S, crawled, lambda crawled: not crawled.wants_time)


def _stall(room: Room) -> Crawled:
    """Crawl what never answers, with a timeout that the crawl of the faults did not have."""

    def crawled(timeout_s: float) -> Crawled:
        return room.crawl([STALL], web=CONTRACT_WEB, told=Workload((), timeout_s))

    return first_done(OTHER_TIMEOUTS_S, crawled, lambda crawled: not crawled.wants_time)


def _plain(room: Room) -> Crawled:
    """Crawl honest answers alone, some of them held back until as many as it may have are in flight together."""

    def crawled(delay_ms: int) -> Crawled:
        held_back = [f"https://host{number}.test/delay/{delay_ms}" for number in range(3 * AT_ONCE)]
        # More hosts than that come and go meanwhile: whoever bounds its connections must leave alone what is in use.
        slow = f"https://slow.test/delay/{3 * delay_ms}"
        lines = [*BLANKS, *[TWICE] * TIMES, *CODINGS, slow, *held_back, *NO_URLS]
        return room.crawl(lines, concurrency=AT_ONCE, told=replace(HONEST, user_agent=USER_AGENT))

    peaks: list[int | None] = []

    def is_done(crawled: Crawled) -> bool:
        """Return whether there is nothing to be had from a longer delay; one that brought no more in flight says so."""
        in_vain = crawled.peak in peaks
        peaks.append(crawled.peak)
        return not crawled.wants_time and (crawled.peak == AT_ONCE or in_vain)

    return first_done(DELAYS_MS, crawled, is_done)


def _sequential(room: Room) -> Crawled:
    """Crawl one host's URLs one after another, and have the documents checked if it can."""
    check = "json" if "json" in room.build.subject.capabilities.check else ""
    lines = [*find_documents(room.engine).urls, *NO_DOCUMENTS]
    return room.crawl(lines, web="wrong-documents", concurrency=1, told=replace(HONEST, check=check))


def _late(room: Room) -> Crawled:
    """Crawl one host's URLs, each handed over when the one before it has been answered; apart if it can."""
    keepalive = False not in room.build.subject.capabilities.keepalive
    return room.crawl(LATE, batch=1, told=replace(HONEST, keepalive=keepalive))


def _empty(room: Room) -> Crawled:
    return room.crawl([])


def _unsupported(room: Room) -> Crawled:
    """Run it with a value that nobody who measures can give."""
    subject = room.build.subject
    told = replace(subject, environment={**subject.environment, "HTTP_VERSION": "nonsense"})
    return replace(room, build=replace(room.build, subject=told)).crawl(["https://a.test/plain"])


CRAWLS: Final[dict[str, Callable[[Room], Crawled]]] = {
    "empty": _empty,
    "plain": _plain,
    "sequential": _sequential,
    "late": _late,
    "faults": _faults,
    "stall": _stall,
    "unsupported": _unsupported,
}
"""The crawls by the names under which clauses speak of them."""
