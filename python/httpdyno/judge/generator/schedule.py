"""What an open loop sees of a server with known behaviour: its schedule is followed request by request."""

import heapq
import math
from dataclasses import dataclass, field
from typing import Protocol

from httpdyno.errors import InvalidValue
from httpdyno.judge.generator.distribution import Distribution, distribution_of

__all__ = ["Queue", "Replay", "Server", "Stalling", "replay"]

_SECOND_NS = 1_000_000_000


class Server(Protocol):
    """A server as a pure function; moments are nanoseconds from the first request's arrival."""

    def due_ns(self, arrived_ns: int) -> int:
        """Return when the answer to a request is due; arrivals must be told in their order."""


@dataclass(frozen=True, slots=True)
class Stalling:
    """Serves each request for the same time, any number at once; what comes due in its one stall comes at its end."""

    service_ns: int
    at_ns: int
    length_ns: int

    def due_ns(self, arrived_ns: int) -> int:
        """Return when an answer is due."""
        due_ns = arrived_ns + self.service_ns
        end_ns = self.at_ns + self.length_ns
        return end_ns if self.at_ns <= due_ns < end_ns else due_ns


@dataclass(slots=True)
class Queue:
    """Serves one request after the other, each for the same time: the D/1 of queueing theory."""

    service_ns: int
    _free_ns: int = field(default=0, init=False)

    def due_ns(self, arrived_ns: int) -> int:
        """Return when an answer is due; the next one is due later."""
        self._free_ns = max(arrived_ns, self._free_ns) + self.service_ns
        return self._free_ns


@dataclass(frozen=True, slots=True)
class Replay:
    """What a generator that keeps its schedule sees."""

    response: Distribution
    """Of the requests that count, from the intended send."""
    sent: int
    """Requests that found a connection before the schedule's end."""


def replay(
    server: Server, *, rate_per_s: float, duration_s: float, connections: int, answered: int | None = None
) -> Replay:
    """Follow a schedule of constant gaps over a number of connections, one request at a time on each.

    A request whose moment has come takes a free connection, or waits for one; its response time counts from its moment
    all the same. ``server`` is fresh: it is told every arrival.

    ``answered`` is how many answers the generator counts, which may wait for those that are under way at the end, or
    not: between those that are due before the end and all of the schedule its own number is taken. None: those before
    the end.
    """
    planned = math.ceil(rate_per_s * duration_s - 1e-9)
    if planned < 1 or connections < 1:
        raise InvalidValue("a schedule needs one request and one connection at least")
    end_ns = round(duration_s * _SECOND_NS)
    free = [0] * connections
    answers: list[tuple[int, int]] = []
    sent = 0
    for number in range(planned):
        intended_ns = round(number * _SECOND_NS / rate_per_s)
        sent_ns = max(intended_ns, free[0])
        due_ns = server.due_ns(sent_ns)
        heapq.heapreplace(free, due_ns)
        sent += sent_ns < end_ns
        answers.append((due_ns, due_ns - intended_ns))
    answers.sort()
    in_time = sum(due_ns <= end_ns for due_ns, _ in answers)
    counted = max(1, in_time, min(answered or 0, planned))
    return Replay(distribution_of(response_ns for _, response_ns in answers[:counted]), sent)
