"""What 10,000 documents cost: what is asked for, and what a trial spent on them, as figures of a trial."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from httpdyno.errors import InvalidValue
from httpdyno.model.record import FigureRecord, Recorded

__all__ = ["DOCUMENT_BYTES", "Coding", "CostPoint", "CostStep", "CostSummary", "RequestClock"]

DOCUMENT_BYTES: Final = 16_384
"""Content of the JSON document that every web and every server has at ``/json``."""


class Coding(StrEnum):
    """In which content coding documents are sent."""

    IDENTITY = "identity"
    """As they are, whatever the client accepts."""
    GZIP = "gzip"
    """Compressed, for a client that accepts it."""


class RequestClock(StrEnum):
    """Who says when requests began."""

    ORIGIN = "origin"
    """Our origin, which stamps their arrivals."""
    CLIENT = "client"
    """The client, by its own lines."""


@dataclass(frozen=True, slots=True)
class CostPoint(FigureRecord):
    """What is asked for: how many documents, in which coding."""

    prefix: ClassVar[str] = "cost_point_"

    documents: Annotated[int, Recorded("documents that are to be fetched, one after another")]
    coding: Annotated[Coding, Recorded("content coding in which they are offered")] = Coding.IDENTITY

    def __post_init__(self) -> None:
        """Refuse what no trial can be made of."""
        if self.documents < 1:
            raise InvalidValue(f"cost: there must be one document at least, not {self.documents}")


@dataclass(frozen=True, slots=True)
class CostStep:
    """A stretch of a trial, as long as it took for some documents."""

    documents: Annotated[int, Recorded("documents that had been asked for at its end")]
    cpu_ns: Annotated[float, Recorded("CPU time of the stretch for each of its documents", unit="ns")]


@dataclass(frozen=True, slots=True)
class CostSummary(FigureRecord):
    """What a trial spent, and on what. A figure that rests on nothing is None."""

    prefix: ClassVar[str] = "cost_"

    answered: Annotated[int, Recorded("documents that came: 2xx, or for a tool what it says and the server served")]
    verified: Annotated[
        int | None, Recorded("documents that came whole and whose value the client found right; null of a tool")
    ] = None
    caught: Annotated[
        int | None, Recorded("wrong documents that the web served and the client named as such; null of a tool")
    ] = None
    real_ns: Annotated[int | None, Recorded("from exec to the end of the process", unit="ns")] = None
    cpu_ns: Annotated[
        int | None, Recorded("CPU time of all of the subject's processes, user and system", unit="ns")
    ] = None
    per_s: Annotated[float | None, Recorded("documents that came, for each second of `cost_real_ns`", unit="1/s")] = (
        None
    )
    bytes_per_s: Annotated[
        float | None, Recorded("content of these documents after decoding, for each such second", unit="bytes/s")
    ] = None
    cpu_per_document_ns: Annotated[
        float | None,
        Recorded("CPU time for each verified document; of a tool, which verifies none, for each that came", unit="ns"),
    ] = None
    requests_timed_by: Annotated[
        RequestClock | None,
        Recorded("who says when requests began, on which the figures of start-up and steady state rest"),
    ] = None
    start_ns: Annotated[int | None, Recorded("from exec to the first request", unit="ns")] = None
    start_cpu_ns: Annotated[int | None, Recorded("CPU time until the first request", unit="ns")] = None
    warm_up_documents: Annotated[
        int | None, Recorded("documents before the cost of one had settled, as MSER-5 finds it")
    ] = None
    warm_up_cpu_ns: Annotated[
        float | None, Recorded("CPU time of those beyond what as many cost once it had settled", unit="ns")
    ] = None
    cold_cpu_per_document_ns: Annotated[
        float | None, Recorded("CPU time for each of the first hundredth of the documents", unit="ns")
    ] = None
    steady_cpu_per_document_ns: Annotated[
        float | None, Recorded("CPU time for each document once the cost of one had settled", unit="ns")
    ] = None
    drift: Annotated[
        float | None,
        Recorded("change of that cost from the first to the last third of the steady state, where it is no chance"),
    ] = None
    json_parser: Annotated[str | None, Recorded("what the client parses the documents with; null of a tool")] = None
    receive_steering: Annotated[
        bool | None, Recorded("whether the work of receiving packets was done on the receiver's own CPUs")
    ] = None
    receive_steering_reason: Annotated[str | None, Recorded("why it was not, though it was asked for")] = None
    claimed_answers: Annotated[int | None, Recorded("answers that a tool says it got; null of a client")] = None
    claimed_per_s: Annotated[float | None, Recorded("rate that a tool states itself; null of a client", unit="1/s")] = (
        None
    )
    steps: Annotated[
        tuple[CostStep, ...] | None, Recorded("the cost of a document over the trial, in stretches of equal length")
    ] = None
