"""The cases: a server with known behaviour, the load, and the right report."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import UnknownName, suggestion
from httpdyno.judge.generator import Server, ServerRecord, Truth, queueing_server, replay, stalling_server
from httpdyno.model import Loop, ToolReport, format_exact

CONNECTIONS: Final = {Loop.OPEN: 64, Loop.CLOSED: 16}
"""Connections of each loop. A closed loop has so few that the server is never saturated: a service time is the
case's."""
_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_STALLED: Final = 8
"""One in this many parts of the time is a stall: one of eight seconds."""


@dataclass(frozen=True, slots=True)
class Case:
    """One server with known behaviour."""

    name: str
    rate_per_s: float
    """Rate of the open loop."""
    closed_per_s: float | None
    """Approximate rate of a closed loop, for tools that end after a number of requests. None: no closed loop."""
    behaviour: Callable[[float], tuple[str, ...]]
    """Return the calibrator's arguments for a duration in seconds."""
    connecting_counts: bool = False
    """Whether tools that open a connection for each request are excluded, because that takes longer than an answer."""
    server: Callable[[float], Server] | None = None
    """The behaviour as a pure function; None if service times are random, and the server's record is the truth."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of its runs."""
        return (Loop.OPEN,) if self.closed_per_s is None else (Loop.OPEN, Loop.CLOSED)

    def why_excluded(self, record: ServerRecord) -> str | None:
        """Describe why the case does not apply to a tool; None if it does."""
        if self.connecting_counts and 2 * record.connections > record.requests:
            return "it opens a connection for each request, which takes longer than the measured answer"
        return None

    def requests(self, loop: Loop, duration_s: float) -> int:
        """Return the number of requests that take about this long."""
        rate_per_s = self.rate_per_s if loop is Loop.OPEN else self.closed_per_s or 0.0
        return max(1, math.ceil(rate_per_s * duration_s))

    def truth(
        self, loop: Loop, duration_s: float, *, record: ServerRecord, report: ToolReport, overhead_ns: int
    ) -> Truth:
        """Return the right report.

        A closed loop is compared with the service time, which the server has measured. An open loop is compared with
        the response time on its schedule, even if the generator was late.
        """
        served = record.service.later(overhead_ns)
        if loop is Loop.CLOSED:
            return Truth(served)
        # A tool that opens a connection for each request is not limited by the number of connections.
        connections = max(CONNECTIONS[loop], record.connections)
        schedule = self._replay(duration_s, connections, answered=report.requests)
        if schedule is None:
            return Truth(served, self.requests(loop, duration_s))
        return Truth(schedule.times.later(overhead_ns), schedule.expected)

    def waited_ns(self, share: float, duration_s: float) -> int | None:
        """Return a quantile of the wait of users who arrive on a schedule; None if service times are random."""
        schedule = self._replay(duration_s, CONNECTIONS[Loop.OPEN])
        return None if schedule is None else schedule.times.quantile_ns(share)

    def _replay(self, duration_s: float, connections: int, *, answered: int | None = None) -> Truth | None:
        if self.server is None:
            return None
        server, rate_per_s = self.server(duration_s), self.rate_per_s
        return replay(server, rate_per_s=rate_per_s, duration_s=duration_s, connections=connections, answered=answered)


CASES: Final = (
    # Every request is answered at once, at 10,000 a second.
    Case(
        name="at-once",
        rate_per_s=10_000,
        closed_per_s=None,
        behaviour=lambda _: ("law", "--constant", "0"),
        connecting_counts=True,
    ),
    # Service times have a log-normal distribution: median 10 ms, sigma 0.5.
    Case(
        name="law",
        rate_per_s=1_000,
        closed_per_s=CONNECTIONS[Loop.CLOSED] / 0.0113,
        behaviour=lambda _: ("law", "--log-normal", "10ms:0.5"),
    ),
    # Each request takes 5 ms, except that for an eighth of the time nothing is answered.
    Case(
        name="stall",
        rate_per_s=1_000,
        closed_per_s=CONNECTIONS[Loop.CLOSED] / 0.005 * (1 - 1 / _STALLED),
        behaviour=lambda duration_s: (
            *("stall", "--constant", "5ms"),
            *("--at", f"{format_exact(duration_s / 2)}s", "--length", f"{format_exact(duration_s / _STALLED)}s"),
        ),
        server=lambda duration_s: stalling_server(
            5 * _MS_NS, round(duration_s / 2 * _SECOND_NS), round(duration_s / _STALLED * _SECOND_NS)
        ),
    ),
    # The server answers 500 requests a second, one after another; 750 arrive.
    Case(
        name="rate",
        rate_per_s=750,
        closed_per_s=500,
        behaviour=lambda _: ("rate", "--per-second", "500"),
        server=lambda _: queueing_server(2 * _MS_NS),
    ),
)


def find_cases(names: Iterable[str]) -> tuple[Case, ...]:
    """Return the named cases, or all cases if there are no names."""
    known = {case.name: case for case in CASES}
    wanted = tuple(dict.fromkeys(names)) or tuple(known)
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"--case: there is no case {unknown[0]!r}; {suggestion(unknown[0], known)}")
    return tuple(known[name] for name in wanted)
