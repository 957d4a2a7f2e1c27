"""The program under measurement, as its ``subject.toml`` describes it, and the causes of known failures."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
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
"""Values of ``report.parser`` in a tool's ``subject.toml``."""
WITHOUT_P99: Final = frozenset({"h2load", "httperf", "rewrk"})
"""Parsers of tools that print no 99th percentile."""
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
    "disallowed",
    "check_failed",
    "without_http2",
)
"""Other reasons for which the engine expects an error."""
HAZARDS: Final = ("interim_response", "goaway_after_answer")
"""Correct answers that some clients handle wrongly: a 103 before the final answer, an orderly end over HTTP/2."""
WHOLE_TIMEOUTS: Final = ("dripping_head", "slow_redirects")
"""Answers whose parts are each within the timeout, and which are later than it as a whole."""
JUDGED_CAUSES: Final = ("timeout_when_saturated", "timeout_over_link")
"""Causes that only the judge can find, in the files of a trial."""
CLAIMS: Final = (
    "http 1.1",
    "http 2",
    "keepalive on",
    "keepalive off",
    "check json",
    "harness timeit",
    "method post",
    "method head",
)
"""Claims of a client's ``[capabilities]`` that the probe tests."""
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
"""Claims of a server's ``[capabilities]`` that the probe tests."""
HABITS: Final = ("memory_growth",)
"""Failures that only a long crawl shows: memory that grows with the URLs visited."""
CASES: Final = (*FAULTS, *WEB_CAUSES, *HAZARDS, *WHOLE_TIMEOUTS, *JUDGED_CAUSES, *CLAIMS, *SERVER_CLAIMS, *HABITS)
"""All cases that may be known failures."""
_LISTED: Final = "docs/concepts/web.md and subjects/CONTRACT.md list those that there are"
_IDENTIFIER: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class ToolLatency:
    """Response times by the tool's own clock (docs/reference/tools.md); None: not reported."""

    mean_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    percentiles_ns: Mapping[float, int] = field(default_factory=dict)
    """By percent: ``{50.0: 1_200_000, 99.9: ...}``; empty without answers, or if the tool prints none."""
    slowest_means_ns: Mapping[float, int] = field(default_factory=dict)
    """Means of the slowest answers, by their share in percent: ``{5.0: ...}`` is the mean of the slowest 5 %."""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """Figures of one run of a tool; None if it does not report one."""

    requests: int
    """Requests that were answered, whatever the status."""
    duration_ns: int
    """Duration that the tool reports, else its requests divided by its rate."""
    stated_per_s: float | None = None
    """Rate that the tool reports; some tools count failed requests, unlike ``requests_per_s``."""
    errors: tuple[Count, ...] = ()
    """Failed requests and connections, by the tool's name for the kind of failure."""
    non_2xx: int | None = None
    """Answers with a status outside 200 to 299; some tools do not count 3xx."""
    received_bytes: int | None = None
    """Bytes read, with heads if the tool counts them."""
    latency: ToolLatency | None = None

    @property
    def requests_per_s(self) -> float | None:
        """Answers per second, with the same definition for all tools; None for a run without duration."""
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
    """After an answer."""
    OPEN = "open"
    """On a schedule, independent of answers."""


def parse_loop(text: str, *, name: str) -> Loop:
    """Read ``open`` or ``closed``; ``name`` begins the message about any other text."""
    try:
        return Loop(text)
    except ValueError as error:
        raise InvalidValue(f"{text[:60]!r} is unknown; choose from: {', '.join(Loop)}", option=name) from error


@dataclass(frozen=True, slots=True)
class Need:
    """Requirement of a subject's build: ``go``, ``>=1.22``."""

    program: str
    """A program, or a library with its kind: ``gem:curb``, ``pkg-config:libcurl``."""
    version: str = ""
    """A constraint such as ``>=1.22``; empty: any version."""


_SCRIPTED_CASE: Final = re.compile(r"[a-z0-9]+/[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A case that a subject is known to get wrong: tables show it, and do not count it as wrong."""

    case: str
    """One of ``CASES``, ``stall_tls``, ``keepalive off``; or a case of ``conform``, ``framing/folded-field``."""
    reason: str
    issue: str = ""
    """URL of its discussion, or empty."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an unknown case."""
        if self.case not in CASES and not self.is_scripted:
            remedy = suggestion(self.case, CASES, otherwise=_LISTED)
            raise InvalidValue(f"known_failure.case: unknown case {self.case!r}; {remedy}")

    @property
    def is_scripted(self) -> bool:
        """Whether the case is one of ``conform``, ``GROUP/NAME``; another layer knows which exist."""
        return _SCRIPTED_CASE.fullmatch(self.case) is not None


@dataclass(frozen=True, slots=True)
class Profile:
    """Another command of a client, for ``conform``: the same program with other settings."""

    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Claims of a subject; the probe tests each claim before the subject is measured."""

    http: tuple[str, ...] = ()
    keepalive: tuple[bool, ...] = ()
    check: tuple[str, ...] = ()
    harness: tuple[str, ...] = ()
    """How it can time its own calls: ``timeit`` or nothing."""
    methods: bool = False
    """Whether a client sends the method and the content that it is given."""
    endpoints: tuple[str, ...] = ()
    """Endpoints of a server: ``plain``, ``json``, ``workloads``; ``timeout``: it stops late workloads."""
    threads: str = ""
    """Numbers of threads that a server accepts: ``any``, ``one``, or empty for none."""
    workers: str = ""
    """Numbers of processes that a server accepts, in the same words."""


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
    """Reason why it is available on no machine; else empty."""
    report_parser: str = ""
    """Parser of a tool's report, one of ``REPORT_PARSERS``; empty for clients and servers."""
    content_argv: tuple[str, ...] = ()
    """Command of a tool that sends content with its requests, in a closed loop; empty: not possible."""
    open_argv: tuple[str, ...] = ()
    """Command of a tool that sends at a rate, if it differs from ``run_argv``; else empty."""
    open_counts_from_due: bool = False
    """Whether a tool then measures from the time when a request was due; most measure from its sending."""
    sequence_argv: tuple[str, ...] = ()
    """Command of a tool that sends requests one after another on one connection; empty: not possible."""
    sequence_close_argv: tuple[str, ...] = ()
    """The same, with a new connection for each request."""
    json_parser: str = ""
    """The JSON parser of a client that checks JSON: ``json (standard library)``; empty when unknown."""
    profiles: tuple[Profile, ...] = ()
    """Further settings of a client, each a column of ``conform``."""
    request_ms: float | None = None
    """Own time of a request, if far longer than that of a library: used for the first estimate of a run's time."""

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

    def in_profiles(self) -> "tuple[Subject, ...]":
        """Return the subject of each profile, ``native-tolerant``; it has no known failures of its own."""
        return tuple(
            replace(
                self,
                id=f"{self.id}-{profile.name}",
                method=f"{self.method} ({profile.name})",
                run_argv=profile.argv,
                known_failures=(),
                profiles=(),
            )
            for profile in self.profiles
        )

    def known_failure(self, case: str) -> KnownFailure | None:
        """Find the known failure of that case; None when there is none."""
        return next((failure for failure in self.known_failures if failure.case == case), None)
