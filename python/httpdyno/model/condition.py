"""Plans of trials: purpose, workload, condition, and place in the run."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from httpdyno.errors import InvalidValue
from httpdyno.model.link import Link
from httpdyno.model.record import FigureRecord
from httpdyno.model.subject import Subject
from httpdyno.model.units import format_exact

CEILING_TRIAL: Final = -1
"""Number of the trial that measures the ceiling. It comes before the first trial of a subject, which has number 0."""


class Purpose(StrEnum):
    """Purpose of a trial."""

    SUBJECT = "subject"
    CEILING = "ceiling"


class CeilingLimit(StrEnum):
    """What limited the fetcher on a web."""

    WEB = "web"
    """The planned delays of the web, at this concurrency."""
    FETCHER = "fetcher"
    """Its own CPU time."""
    ORIGIN = "origin"
    """The origin's CPU time."""
    LINK = "link"
    """The link: its rate, its distance or its losses."""
    INSTRUMENT = "instrument"
    """None of the others: something in the room or the kernel that is not measured."""
    MACHINE = "machine"
    """Other programs: the real ceiling is higher than the measured one."""


_Point = TypeVar("_Point", bound=FigureRecord)
LIVE: Final = "live"
"""Name of the real internet among the webs."""

MOST_URLS: Final = 10_000_000
"""Largest number of URLs in a generated list; the records of all of them are kept in memory."""
_TOKEN: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
"""A method, as RFC 9110 defines it."""
_NO_TEXT: Final = frozenset({"Cc", "Cs"})
"""Unicode's control characters, and lone surrogates, which Python reads from invalid UTF-8."""


@dataclass(frozen=True, slots=True)
class UrlSeries:
    """URLs that differ only in their number: ``http://example.org/bytes/1024?n=0`` and so on."""

    prefix: str
    """Text before the number."""
    count: int

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an empty series, or a prefix that is not a URL."""
        if self.count < 1:
            raise InvalidValue(f"a list needs at least one URL, not {self.count}")
        if not self.prefix or any(character.isspace() for character in self.prefix):
            raise InvalidValue(f"a URL must not be empty or contain spaces: {self.prefix[:60]!r}")

    def __iter__(self) -> Iterator[str]:
        """Yield the URLs: there may be millions."""
        return (f"{self.prefix}{number}" for number in range(self.count))


@dataclass(frozen=True, slots=True)
class Workload:
    """Input of a client: its URLs and the settings of the client contract."""

    urls: tuple[str, ...] | Path | UrlSeries
    """URLs, a file with one URL a line that all conditions share, or a generated list of this condition."""
    timeout_s: float = 5.0
    user_agent: str = ""
    """Empty: the client's own user agent."""
    keepalive: bool = True
    check: str = ""
    http_version: str = ""
    """Empty: the client's default."""
    harness: str = ""
    """``timeit``: the client times its own calls; empty: it prints a line per URL."""
    method: str = "GET"
    body: str = ""
    """Content of the first request for each URL; empty: none, as for GET."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an impossible timeout, or a user agent that no header can contain."""
        if not self.timeout_s > 0:
            raise InvalidValue(f"{self.timeout_s:g} is not a timeout; write it like 5s or 800ms", option="--timeout")
        if any(unicodedata.category(character) in _NO_TEXT for character in self.user_agent):
            raise InvalidValue(
                f"{self.user_agent[:60]!r}: no header can contain it; leave out control characters",
                option="--user-agent",
            )
        if not _TOKEN.fullmatch(self.method):
            raise InvalidValue(f"{self.method[:60]!r} is not a method; write it like POST")
        if self.body and self.method == "GET":
            raise InvalidValue("a GET has no content; set a method such as POST")

    def environment(self, concurrency: int) -> dict[str, str]:
        """Return the environment variables that carry the workload to a client (``subjects/CONTRACT.md``)."""
        variables = {
            "CONCURRENCY": str(concurrency),
            "REQUEST_TIMEOUT": format_exact(self.timeout_s),
            "KEEPALIVE": "1" if self.keepalive else "0",
            "CHECK": self.check,
            "HTTP_VERSION": self.http_version,
        }
        method = "" if self.method == "GET" else self.method
        optional = {"USER_AGENT": self.user_agent, "HARNESS": self.harness, "METHOD": method, "BODY": self.body}
        return variables | {name: text for name, text in optional.items() if text}


@dataclass(frozen=True, slots=True)
class Condition:
    """One point of an experiment's grid."""

    experiment: str
    web: str
    """Name of a built-in web, the path of a model, or ``live``."""
    workload: Workload
    seed: int = 1
    concurrency: int | None = None
    """None: each subject's own concurrency."""
    link: Link = field(default_factory=Link)
    link_seed: int = 1
    """Seed of the packet losses."""
    against: str | None = None
    """The URL of an origin on another machine, ``http://other:8080``; None: the web is in the room."""
    deadline_s: float = 600.0
    memory_bytes: int | None = None
    rate_per_s: float | None = None
    """Open loop: URLs a second. None: closed loop."""
    grace_s: float | None = None
    """Open loop: time from the last due URL to the end of the trial; None: until the deadline."""
    per_host: int = 1
    """Most URLs of one host in flight on the real internet; other webs are not limited."""
    per_host_interval_s: float = 0.0
    """Shortest time between two URLs of one host on the real internet."""
    name: str = ""
    """Name of the point in its grid; empty if it is the only one."""
    send_s: float | None = None
    """Sending time of a load tool; None for clients, which get a list."""
    foreseen_s: float | None = None
    """Expected duration of a trial; None: the time that the web plans for its list."""
    point: FigureRecord | None = None
    """The experiment's own settings at this condition, if any."""
    peer: str | None = None
    """Id of the server subject that is the peer; None: our origin."""
    batch: int | None = None
    """URLs that a client gets at a time; it gets the next after it printed a line for each. None: all at once."""
    times_wire: bool = False
    """Whether a packet's round trip is measured in a separate room, which gives the share of the wire."""
    receive_steering: bool = False
    """Whether packets are processed on the CPUs of their receiver."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a deadline of 0, or an emulated link to another machine."""
        for mistake in self._mistakes():
            raise mistake

    def _mistakes(self) -> Iterator[InvalidValue]:
        if not self.deadline_s > 0:
            yield InvalidValue(f"{self.deadline_s:g} is not a duration; write it like 10m or 30s", option="--duration")
        if not 0 <= self.link_seed < 2**64:
            yield InvalidValue(f"a number of 64 bits, not {self.link_seed}", option="--link-seed")
        if self.batch is not None and (self.batch < 1 or self.rate_per_s is not None):
            yield InvalidValue(f"batches of {self.batch}: they need 1 URL or more, and no schedule")
        if self.per_host < 1 or not self.per_host_interval_s >= 0:
            yield InvalidValue(f"a host cannot get {self.per_host} URLs every {self.per_host_interval_s} s")
        if self.against is None:
            return
        if not self.link.direct:
            yield InvalidValue(f"the path to {self.against} is real and is not emulated; leave it out", option="--link")
        if self.workload.http_version == "2":
            yield InvalidValue(
                f"{self.against} is used without TLS, which negotiates the version; leave it out",
                option="--http-version",
            )
        if self.live:
            yield InvalidValue(
                "it cannot serve the real internet; choose another --web", option=f"--against {self.against}"
            )
        if self.peer is not None:
            yield InvalidValue("--against names another peer; leave one of them out", option=f"--peer {self.peer}")

    def __getitem__(self, kind: type[_Point]) -> _Point:
        """Return the point, which must be one of that kind: else ``KeyError``."""
        if not isinstance(self.point, kind):
            raise KeyError(kind.__name__)
        return self.point

    def get(self, kind: type[_Point]) -> _Point | None:
        """Return the point, if it is one of that kind."""
        return self.point if isinstance(self.point, kind) else None

    @property
    def live(self) -> bool:
        """Whether the web is the real internet, where no answer can be checked."""
        return self.web == LIVE

    @property
    def link_name(self) -> str:
        """The path between subject and peer: the link, or ``against http://other:8080``."""
        return str(self.link) if self.against is None else f"against {self.against}"


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """A planned trial: a subject under a condition, and its place in the run; comparisons within a block are paired."""

    number: int
    """Counts the trials of a run from 0."""
    block: int
    position: int
    """Place within the block, from 0."""
    subject: Subject
    condition: Condition
    why: str = ""
    """Reason for the trial, if it depends on earlier trials; else empty."""
    purpose: Purpose = Purpose.SUBJECT
    added: bool = False
    """Whether the trial was added after the run began."""

    @property
    def concurrency(self) -> int:
        """The condition's, else the subject's own."""
        return self.subject.concurrency if self.condition.concurrency is None else self.condition.concurrency
