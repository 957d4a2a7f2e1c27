"""The columns of ``samples.parquet``: one row for each line of a client, and one for each URL that has none."""

from dataclasses import dataclass
from typing import Annotated

from httpdyno.model.record import Recorded
from httpdyno.model.verdict import Verdict

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One request of a trial as its client reported it, with its verdict.

    The class documents and types the columns; samples are handled by the million as columns, not as instances.
    """

    trial: Annotated[int, Recorded("number of the trial in its run, from 0", type="int32")]
    line: Annotated[
        int | None, Recorded("line of the client's output, from 1; null when the URL has no line", type="int32")
    ]
    url: Annotated[str, Recorded("the URL as it was given to the client")]
    code: Annotated[str | None, Recorded("the second field of the line as the client printed it")]
    status: Annotated[int | None, Recorded("status code, when the code is one", type="int16")]
    error: Annotated[str | None, Recorded("error name, when the code is no status code")]
    start_ns: Annotated[
        int | None, Recorded("when the client says that it took the slot, since the Unix epoch", unit="ns")
    ]
    duration_ns: Annotated[int | None, Recorded("how long the client says that it took, redirects included", unit="ns")]
    body_length: Annotated[int | None, Recorded("content after decoding content codings", unit="bytes")]
    cause: Annotated[str | None, Recorded("the fault of the web that decides the answer; null for an honest answer")]
    verdict: Annotated[Verdict, Recorded("what the line is worth beside what the web serves")]
    served_status: Annotated[
        int | None, Recorded("status that was due; null where neither code nor length is wrong", type="int16")
    ]
    served_body_length: Annotated[
        int | None, Recorded("length that was due; null where neither code nor length is wrong", unit="bytes")
    ]
    explained: Annotated[
        bool, Recorded("true when the verdict is wrong and a known failure of the subject explains it")
    ]
