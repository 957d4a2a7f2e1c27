"""The program under measurement, as its ``subject.toml`` describes it, and the causes of known failures."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue, suggestion
from httpdyno.model.counters import Count

REPORT_PARSERS: Final = (
    "ab",
    "fortio",
    "h2load",
    "hey",
    "httpdyno-load",
    "httperf",
    "k6",
    "oha",
    "rewrk",
    "vegeta",
    "wrk",
)
"""Names of the parsers that ``report.parser`` of a tool's ``subject.toml`` may have."""
WITHOUT_P99: Final = frozenset({"h2load", "httperf", "rewrk"})
"""Those of tools that print no 99th percentile."""
FAULTS: Final = (
    "nxdomain",
    "servfail",
    "refused",
    "blackhole",
    "stall_after_accept",
    "reset_after_accept",
    "stall_tls",
    "expired_certificate",
    "wrong_host",
    "self_signed",
    "tls_alert",
    "stall_headers",
    "empty_reply",
    "reset_before_headers",
    "garbage_head",
    "redirect_loop",
    "goaway",
    "stall_body",
    "drip_body",
    "reset_mid_body",
    "stream_reset",
    "short_body",
    "short_chunked",
)
"""The faults of a web's hosts, as the engine names them."""
WEB_CAUSES: Final = (
    "too_many_redirects",
    "timeout",
    "invalid_url",
    "invalid_name",
    "unreachable",
    "elsewhere",
    "check_failed",
    "without_http2",
)
"""What else makes the engine expect an error."""
HAZARDS: Final = ("interim_response", "goaway_after_answer")
"""What of an honest answer some clients get wrong: a 103 taken for the final answer, an orderly end over HTTP/2."""
JUDGED_CAUSES: Final = ("timeout_when_saturated", "timeout_over_link")
"""Causes that only the judge can name, from what a trial left."""
CLAIMS: Final = ("http 1.1", "http 2", "keepalive on", "keepalive off", "check json", "harness timeit")
"""Claims of a client's ``[capabilities]`` that the probe puts to the test."""
SERVER_CLAIMS: Final = (
    "endpoint plain",
    "endpoint json",
    "endpoint workloads",
    "endpoint timeout",
    "threads one",
    "threads any",
    "workers one",
    "workers any",
)
"""Claims of a server's, alike."""
HABITS: Final = ("memory_growth",)
"""What shows in a long crawl and in no single answer: memory that grows with the URLs visited."""
CASES: Final = (*FAULTS, *WEB_CAUSES, *HAZARDS, *JUDGED_CAUSES, *CLAIMS, *SERVER_CLAIMS, *HABITS)
"""All of them."""
_LISTED: Final = "docs/concepts/web.md and subjects/CONTRACT.md list those that there are"
INSTALL_WITH: Final = "install it with"
"""Stands before what installs a missing need, in the reason of a subject that is not available."""
_IDENTIFIER: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class ToolLatency:
    """Response times by the tool's own clock; None for what it does not report.

    docs/reference/tools.md tells for each tool from when to when it measures.
    """

    mean_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    percentiles_ns: Mapping[float, int] = field(default_factory=dict)
    """By percent: ``{50.0: 1_200_000, 99.9: ...}``; empty when the tool has none, or had no answer to measure."""
    slowest_means_ns: Mapping[float, int] = field(default_factory=dict)
    """Means of the slowest, by the percentage that they are of all: ``{5.0: ...}`` of the slowest 5 %."""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """Figures of one run of a tool; None for what it does not report."""

    requests: int
    """Requests that were answered, whatever the status."""
    duration_ns: int
    """How long the tool says it ran; of a tool that does not say it, what its rate makes of its requests."""
    stated_per_s: float | None = None
    """The rate that the tool itself states: some count requests that failed, see ``requests_per_s``."""
    errors: tuple[Count, ...] = ()
    """Requests and connections that failed, by the tool's name for the kind; a kind that never happened is left out."""
    non_2xx: int | None = None
    """Answers with another status than 200 to 299; some tools count 3xx among the good ones."""
    received_bytes: int | None = None
    """What was read, heads included where the tool counts them."""
    latency: ToolLatency | None = None

    @property
    def requests_per_s(self) -> float | None:
        """Answers a second, counted alike for all tools; None for a run that took no time."""
        return self.requests * 1e9 / self.duration_ns if self.duration_ns else None

    @property
    def error_count(self) -> int:
        """All errors together."""
        return sum(error.count for error in self.errors)


class SubjectKind(StrEnum):
    """Kind of a subject, which decides its contract and its experiments."""

    CLIENT = "client"
    TOOL = "tool"
    SERVER = "server"


class Loop(StrEnum):
    """When a load generator sends."""

    CLOSED = "closed"
    """When an answer came."""
    OPEN = "open"
    """On a schedule, whatever came."""


def parse_loop(text: str, *, name: str) -> Loop:
    """Read when a load generator sends, ``open`` or ``closed``; ``name`` begins the message about anything else."""
    try:
        return Loop(text)
    except ValueError as error:
        raise InvalidValue(f"{name}: {text[:60]!r} is unknown; choose from: {', '.join(Loop)}") from error


@dataclass(frozen=True, slots=True)
class Need:
    """What must be there before a subject can be built: ``go``, ``>=1.22``."""

    program: str
    """A program, or a library with its kind: ``gem:curb``, ``pkg-config:libcurl``."""
    version: str = ""
    """A constraint such as ``>=1.22``; empty when any version will do."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A case that a subject is known to get wrong: shown in the table, never hidden, and not counted as wrong."""

    case: str
    """One of ``cause.CASES``: ``stall_tls``, ``keepalive off``."""
    reason: str
    issue: str = ""
    """Where the failure is discussed; empty when nowhere."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an unknown case."""
        if self.case not in CASES:
            remedy = suggestion(self.case, CASES, otherwise=_LISTED)
            raise InvalidValue(f"known_failure.case: unknown case {self.case!r}; {remedy}")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Claims of a subject; the probe proves each claim before the subject is measured."""

    http: tuple[str, ...] = ()
    keepalive: tuple[bool, ...] = ()
    check: tuple[str, ...] = ()
    harness: tuple[str, ...] = ()
    """How it can measure its own calls, in its own process: ``timeit`` or nothing."""
    endpoints: tuple[str, ...] = ()
    """What a server answers: ``plain``, ``json``, ``workloads``; with ``timeout`` it gives the last up in time."""
    threads: str = ""
    """Which numbers of threads a server accepts: ``any``, ``one``, or empty for none."""
    workers: str = ""
    """Which numbers of processes, alike."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A client, tool or server under measurement."""

    id: str
    kind: SubjectKind
    language: str
    method: str
    folder: Path
    run_argv: tuple[str, ...]
    concurrency: int = 10
    needs: tuple[Need, ...] = ()
    build_argv: tuple[str, ...] = ()
    version_argv: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    known_failures: tuple[KnownFailure, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    unavailable: str = ""
    """Why it is available nowhere; empty when it is available."""
    report_parser: str = ""
    """Which parser reads the report of a tool, one of ``REPORT_PARSERS``; empty for clients and servers."""
    content_argv: tuple[str, ...] = ()
    """How a tool is started to send content with its requests, in a closed loop; empty when it cannot."""
    open_argv: tuple[str, ...] = ()
    """How a tool is started to send at a rate, where that differs from ``run_argv``; else empty."""
    open_counts_from_due: bool = False
    """Whether a tool then reports response times, from when a request was due; most report service times."""
    sequence_argv: tuple[str, ...] = ()
    """How a tool is started to send a number of requests one after another on one connection; empty: it cannot."""
    sequence_close_argv: tuple[str, ...] = ()
    """Likewise, each on a connection of its own."""
    json_parser: str = ""
    """The JSON parser of a client that checks JSON: ``json (standard library)``; empty when unknown."""
    request_ms: float | None = None
    """What a request takes it itself, where that is far beyond a library's: for the first estimate of a run's time."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for impossible fields."""
        if not _IDENTIFIER.fullmatch(self.id):
            raise InvalidValue(f"subject {self.id!r}: the name must be lower-case letters and digits joined by hyphens")
        for mistake in (*self._mistakes(), *self._mistaken_claims()):
            raise InvalidValue(f"subject {self.id}: {mistake}")

    def _mistakes(self) -> Iterator[str]:
        if not self.run_argv and not self.unavailable:
            yield "the command to run is empty; set argv under [run]"
        if self.concurrency < 1:
            yield f"concurrency must be 1 or more, not {self.concurrency}"
        if self.kind is not SubjectKind.TOOL:
            parts = {"report": self.report_parser, "sequence": self.sequence_argv, "open": self.open_argv}
            for name in [name for name, part in {**parts, "content": self.content_argv}.items() if part]:
                yield f"only a tool has [{name}]; a {self.kind} must not have it"
        elif not self.unavailable and not self.report_parser:
            yield "a tool needs a parser for its report; set it under [report]"
        elif not self.unavailable and self.report_parser not in REPORT_PARSERS:
            remedy = suggestion(self.report_parser, REPORT_PARSERS)
            yield f"report.parser: unknown parser {self.report_parser!r}; {remedy}"
        if self.request_ms is not None and not self.request_ms > 0:
            yield f"request_ms must be above 0, not {self.request_ms:g}"

    def _mistaken_claims(self) -> Iterator[str]:
        claims = self.capabilities
        if self.json_parser and "json" not in claims.check:
            yield 'json_parser is for clients that check JSON; claim check = ["json"], or leave it out'
        if self.kind is not SubjectKind.SERVER and (claims.endpoints or claims.threads or claims.workers):
            yield "only a server has endpoints, threads and workers to claim; leave them out"
        if "timeout" in claims.endpoints and "workloads" not in claims.endpoints:
            yield "a timeout is that of workloads; claim that endpoint, too"

    def known_failure(self, case: str) -> KnownFailure | None:
        """Find the known failure of that case; None when there is none."""
        return next((failure for failure in self.known_failures if failure.case == case), None)
