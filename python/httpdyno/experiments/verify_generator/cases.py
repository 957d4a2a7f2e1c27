"""The cases: a server with known behaviour, what is asked of it, and what must be reported."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from httpdyno.errors import UnknownName, suggestion
from httpdyno.judge.generator import Distribution, Queue, Server, ServerRecord, Stalling, replay
from httpdyno.model import Loop, ToolReport, format_exact

__all__ = ["CASES", "CONNECTIONS", "Case", "find_cases"]

CONNECTIONS: Final = {Loop.OPEN: 64, Loop.CLOSED: 16}
"""Of a closed loop so few that the server is never busy: then all that an answer takes is what the case says."""
_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_STALLED: Final = 8
"""One part in so many of the time is a stall: of eight seconds one."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What a correct generator reports."""

    times: Distribution
    expected: int | None = None
    """Requests that it sends, where it keeps a schedule."""


@dataclass(frozen=True, slots=True)
class Case:
    """One server with known behaviour."""

    name: str
    question: str
    rate_per_s: float
    """Of the open loop."""
    closed_per_s: float | None
    """What a closed loop makes of it, about: for tools that end after a number of requests. None: not asked for one."""
    behaviour: Callable[[float], tuple[str, ...]]
    """The calibrator's arguments, for a duration in seconds."""
    connecting_counts: bool = False
    """Whether it says nothing of a tool that opens a connection for each request: that costs more than an answer."""
    server: Callable[[float], Server] | None = field(default=None)
    """The same as a pure function; None where what it served is drawn from a law, and its record is the truth."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that it is run with."""
        return (Loop.OPEN,) if self.closed_per_s is None else (Loop.OPEN, Loop.CLOSED)

    def why_not_asked(self, record: ServerRecord) -> str | None:
        """Describe why this case says nothing of a tool; None when it does."""
        if self.connecting_counts and 2 * record.connections > record.requests:
            return "it opens a connection for each request, which takes longer than what is asked about"
        return None

    def requests(self, loop: Loop, duration_s: float) -> int:
        """Return how many requests take about that long."""
        rate_per_s = self.rate_per_s if loop is Loop.OPEN else self.closed_per_s or 0.0
        return max(1, math.ceil(rate_per_s * duration_s))

    def truth(
        self, loop: Loop, duration_s: float, *, record: ServerRecord, report: ToolReport, overhead_ns: int
    ) -> Truth:
        """Return what is right.

        A closed loop is held to service time, which the server has measured. An open loop is held to response time:
        that of its schedule, whatever the generator made of it.
        """
        if loop is Loop.CLOSED:
            return Truth(record.service.later(overhead_ns))
        if self.server is None:
            return Truth(record.service.later(overhead_ns), self.requests(loop, duration_s))
        schedule = replay(
            self.server(duration_s),
            rate_per_s=self.rate_per_s,
            duration_s=duration_s,
            # A tool that opens one for each request is limited by none.
            connections=max(CONNECTIONS[loop], record.connections),
            answered=report.requests,
        )
        return Truth(schedule.response.later(overhead_ns), schedule.sent)

    def waited_ns(self, share: float, duration_s: float) -> int | None:
        """Return a quantile of what users wait who come on a schedule; None where the law alone decides."""
        if self.server is None:
            return None
        schedule = replay(
            self.server(duration_s),
            rate_per_s=self.rate_per_s,
            duration_s=duration_s,
            connections=CONNECTIONS[Loop.OPEN],
        )
        return schedule.response.quantile_ns(share)


def _time(seconds: float) -> str:
    return f"{format_exact(seconds)}s"


CASES: Final = (
    Case(
        name="at-once",
        question="every request is answered at once; 10,000 come in a second",
        rate_per_s=10_000,
        closed_per_s=None,
        behaviour=lambda _: ("law", "--constant", "0"),
        connecting_counts=True,
    ),
    Case(
        name="law",
        question="service times follow a log-normal law: median 10 ms, sigma 0.5",
        rate_per_s=1_000,
        closed_per_s=CONNECTIONS[Loop.CLOSED] / 0.0113,
        behaviour=lambda _: ("law", "--log-normal", "10ms:0.5"),
    ),
    Case(
        name="stall",
        question="each request takes 5 ms, but for an eighth of the time nothing is answered",
        rate_per_s=1_000,
        closed_per_s=CONNECTIONS[Loop.CLOSED] / 0.005 * (1 - 1 / _STALLED),
        behaviour=lambda duration_s: (
            *("stall", "--constant", "5ms"),
            *("--at", _time(duration_s / 2), "--length", _time(duration_s / _STALLED)),
        ),
        server=lambda duration_s: Stalling(
            5 * _MS_NS, round(duration_s / 2 * _SECOND_NS), round(duration_s / _STALLED * _SECOND_NS)
        ),
    ),
    Case(
        name="rate",
        question="500 requests are served in a second, one after the other; 750 come",
        rate_per_s=750,
        closed_per_s=500,
        behaviour=lambda _: ("rate", "--per-second", "500"),
        server=lambda _: Queue(2 * _MS_NS),
    ),
)


def find_cases(names: Iterable[str]) -> tuple[Case, ...]:
    """Return the named cases, or all of them when none is named."""
    known = {case.name: case for case in CASES}
    wanted = tuple(dict.fromkeys(names)) or tuple(known)
    for name in wanted:
        if name not in known:
            raise UnknownName(f"--case: there is no case {name!r}; {suggestion(name, known)}")
    return tuple(known[name] for name in wanted)
