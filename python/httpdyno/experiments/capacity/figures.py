"""A point in the space of the capacity question, and what was found there, as figures of a trial."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from httpdyno.errors import InvalidValue
from httpdyno.model.record import FigureRecord, Recorded
from httpdyno.model.subject import Loop

__all__ = ["CapacityPoint", "CapacitySummary"]


@dataclass(frozen=True, slots=True)
class CapacityPoint(FigureRecord):
    """One point of the grid: what is asked for, over which link, how much of it at once."""

    prefix: ClassVar[str] = "point_"

    size_bytes: Annotated[int, Recorded("content of each answer", unit="bytes")]
    delay_ns: Annotated[int, Recorded("how long the origin server waits before it answers", unit="ns")]
    round_trip_ns: Annotated[int, Recorded("round-trip time of the link", unit="ns")]
    rate_bits_per_s: Annotated[int | None, Recorded("rate of the link towards the subject; null: not limited")]
    queue_ns: Annotated[int | None, Recorded("longest time that a packet may wait for the rate", unit="ns")]
    concurrency: Annotated[int, Recorded("requests that may be in flight at once", type="int32")]
    loop: Annotated[Loop, Recorded("whether requests are sent on a schedule, or when an answer came")]
    target_per_s: Annotated[float | None, Recorded("right answers a second that are to be held", unit="1/s")]
    objective: Annotated[str | None, Recorded("what has to hold there beside the rate")] = field(
        default=None, compare=False
    )
    """The same everywhere in a run, so that points differ by the others."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be made of."""
        if min(self.size_bytes, self.delay_ns, self.round_trip_ns) < 0:
            raise InvalidValue("capacity: size, delay and round-trip time cannot be negative")
        if self.rate_bits_per_s is not None and self.rate_bits_per_s <= 0:
            raise InvalidValue(f"capacity: the rate of a link must be positive: {self.rate_bits_per_s} bit/s")
        if self.concurrency < 1:
            raise InvalidValue(f"capacity: concurrency must be 1 or more, not {self.concurrency}")
        if self.target_per_s is not None and not self.target_per_s > 0:
            raise InvalidValue(f"capacity: the rate must be more than 0 requests a second, not {self.target_per_s:g}")
        if self.loop is Loop.OPEN and self.target_per_s is None:
            raise InvalidValue("capacity: an open loop needs a rate")


@dataclass(frozen=True, slots=True)
class CapacitySummary(FigureRecord):
    """What a subject did at a point, over the steady stretch of the trial. A figure that rests on nothing is None."""

    prefix: ClassVar[str] = "capacity_"

    answers: Annotated[int, Recorded("right answers that ended in the steady stretch")]
    errors: Annotated[int, Recorded("requests of the steady stretch that got no right answer")]
    measured_ns: Annotated[int, Recorded("length of the steady stretch", unit="ns")]
    per_s: Annotated[
        float | None,
        Recorded("right answers for each second of it; closed loop: the slope of their count over time", unit="1/s"),
    ] = None
    service_mean_ns: Annotated[float | None, Recorded("mean time from the actual sending", unit="ns")] = None
    response_p50_ns: Annotated[
        float | None, Recorded("median time from the intended sending; closed loop: from the actual one", unit="ns")
    ] = None
    response_p99_ns: Annotated[float | None, Recorded("99th percentile of that time", unit="ns")] = None
    response_max_ns: Annotated[float | None, Recorded("longest such time", unit="ns")] = None
    errors_share: Annotated[float | None, Recorded("errors among all requests of the stretch, 0 to 1")] = None
    held: Annotated[bool | None, Recorded("whether the rate and every clause of the objective were kept")] = None
    why_not: Annotated[str | None, Recorded("which of them was not kept, with its figure")] = None
    limit: Annotated[
        str | None,
        Recorded("what limits the point: bandwidth, window, cpu, concurrency, origin, link or unknown"),
    ] = None
    limit_per_s: Annotated[float | None, Recorded("the most that this limit allows", unit="1/s")] = None
    limit_text: Annotated[str | None, Recorded("the limit in one sentence")] = None
    claimed_answers: Annotated[
        int | None, Recorded("answers that a tool says it got, over its whole run; null for a client")
    ] = None
    claimed_per_s: Annotated[
        float | None, Recorded("rate that a tool states itself, over its whole run; null for a client", unit="1/s")
    ] = None
