"""The report of a load tool on its own run, in one form for all tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class ToolLatency:
    """Response times by the tool's own clock; None for what it does not report.

    docs/reference/tools.md tells for each tool from when to when it measures.
    """

    mean_ns: int | None = None
    stdev_ns: int | None = None
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


def check_parser(name: str) -> None:
    """Raise ``InvalidValue`` for an unknown parser."""
    if name not in REPORT_PARSERS:
        raise InvalidValue(f"report.parser: unknown parser {name!r}; {suggestion(name, REPORT_PARSERS)}")
