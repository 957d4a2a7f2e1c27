"""What the engine's calibrator says it did: the truth of the answers that it gave."""

import json
from dataclasses import dataclass
from typing import Any

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.generator.distribution import Distribution

__all__ = ["ServerRecord", "read_server_record"]


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """One run of a server with known behaviour, by its own clock."""

    requests: int
    answers: int
    answers_span_ns: int
    """From the first arrival to the last answer."""
    connections: int
    """How many were opened to it."""
    arrived_in_stall: int
    service: Distribution
    """From the end of a request's arrival to its answer."""
    planned_p99_ns: int
    """From a request's arrival to the moment at which its answer was due."""
    lateness_p50_ns: int
    lateness_p99_ns: int
    """From the moment an answer was due to the moment it was given."""
    waiting_ns: int
    """Time in which something else had its CPU, or the host of a virtual machine."""


def read_server_record(text: str) -> ServerRecord:
    """Read the report of ``httpdyno-engine calibrator``."""
    try:
        found = json.loads(text)["calibrator"]
        return ServerRecord(
            requests=int(found["requests"]),
            answers=int(found["answers"]),
            answers_span_ns=int(found["answers_span_ns"]),
            connections=int(found["connections"]),
            arrived_in_stall=int(found["arrived_in_stall"]),
            service=_distribution(found["service"]),
            planned_p99_ns=int(found["planned"]["p99_ns"]),
            lateness_p50_ns=int(found["lateness"]["p50_ns"]),
            lateness_p99_ns=int(found["lateness"]["p99_ns"]),
            waiting_ns=int(found["waiting_ns"]),
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EngineFailed(f"the calibrator's report cannot be read: {error!r}; {RENEW_ENGINE}") from error


def _distribution(found: dict[str, Any]) -> Distribution:
    steps = found["steps"]
    return Distribution(
        tuple(int(time_ns) for time_ns, _ in steps), tuple(int(count) for _, count in steps), float(found["mean_ns"])
    )
