"""A point of the latency question, and what one call cost there, as figures of a trial."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from httpdyno.errors import InvalidValue
from httpdyno.model.record import FigureRecord, Recorded

__all__ = ["Content", "LatencyPoint", "LatencyRun", "LatencySummary"]


class Content(StrEnum):
    """What one call fetches."""

    PLAIN = "plain"
    """13 bytes of text."""
    JSON = "json"
    """A document of 16 KiB."""


@dataclass(frozen=True, slots=True)
class LatencyPoint(FigureRecord):
    """One point of the grid; whether connections are kept stands in the trial, as does who times the calls."""

    prefix: ClassVar[str] = "latency_point_"

    workload: Annotated[Content, Recorded("what is fetched")]
    parallel: Annotated[
        int, Recorded("calls started at once: a loop has so many, and ends with the last", type="int32")
    ]

    def __post_init__(self) -> None:
        """Refuse a loop without a call."""
        if self.parallel < 1:
            raise InvalidValue(f"latency: a loop has 1 call or more, not {self.parallel}")


@dataclass(frozen=True, slots=True)
class LatencyRun:
    """One of the runs that make up a figure such as timeit's."""

    loop_ns: Annotated[float, Recorded("mean time of its loops", unit="ns")]


@dataclass(frozen=True, slots=True)
class LatencySummary(FigureRecord):
    """What a call cost in a warm process. A figure that rests on nothing is None."""

    prefix: ClassVar[str] = "latency_"

    calls: Annotated[int, Recorded("calls of the warm process that the figures of single calls rest on")]
    loops: Annotated[int | None, Recorded("loops of each run; null when there were too few for seven runs")] = None
    runs: Annotated[tuple[LatencyRun, ...], Recorded("the runs")] = ()
    mean_ns: Annotated[float | None, Recorded("mean time of a loop over the runs", unit="ns")] = None
    deviation_ns: Annotated[
        float | None, Recorded("standard deviation of the runs, of a population as timeit has it", unit="ns")
    ] = None
    call_ns: Annotated[
        float | None, Recorded("mean duration of a call; null where only loops were timed", unit="ns")
    ] = None
    p50_ns: Annotated[int | None, Recorded("median duration of a call", unit="ns")] = None
    p99_ns: Annotated[int | None, Recorded("99th percentile of that duration", unit="ns")] = None
    p999_ns: Annotated[int | None, Recorded("99.9th percentile; null for fewer than 1,000 calls", unit="ns")] = None
    max_ns: Annotated[int | None, Recorded("longest duration", unit="ns")] = None
    first_ns: Annotated[int | None, Recorded("duration of the first call of the cold process", unit="ns")] = None
    cpu_per_call_ns: Annotated[float | None, Recorded("CPU time of the subject for each call", unit="ns")] = None
    server_ns: Annotated[
        float | None, Recorded("mean time from a request's arrival at the origin to the end of its answer", unit="ns")
    ] = None
    wire_ns: Annotated[
        float | None, Recorded("time of a call's round trips through the bare network, as measured", unit="ns")
    ] = None
    client_ns: Annotated[float | None, Recorded("what is left of a call's duration: the client's own", unit="ns")] = (
        None
    )
