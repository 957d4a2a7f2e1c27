"""The report of vegeta 12, printed with ``report -type json``."""

from typing import Any, Final

from httpdyno.errors import UnreadableReport
from httpdyno.judge.tool_reports.figures import counts, document, number, numbers
from httpdyno.model import ToolLatency, ToolReport

_NO_ANSWER: Final = "0"
_PERCENTILES: Final = {50.0: "50th", 90.0: "90th", 95.0: "95th", 99.0: "99th"}


def parse(text: str) -> ToolReport:
    """Read a report of vegeta.

    What went wrong below HTTP has one status for all kinds, and the time it took is among the latencies. Its duration
    is from the first send to the last one; the wait for the last answer is a field of its own, and is added here.
    """
    found = document(text)
    codes = numbers(found, "status_codes")
    failed = int(codes.pop(_NO_ANSWER, 0))
    answered = int(sum(codes.values()))
    return ToolReport(
        requests=answered,
        duration_ns=int(number(found, "duration") + number(found, "wait")),
        stated_per_s=number(found, "rate"),
        errors=counts((("no answer", failed),)),
        non_2xx=int(sum(count for status, count in codes.items() if not status.startswith("2"))),
        received_bytes=int(number(found, "bytes_in", "total")),
        latency=_latency(found) if answered else None,
    )


def _latency(found: dict[str, Any]) -> ToolLatency:
    latencies = found.get("latencies")
    if not isinstance(latencies, dict):
        raise UnreadableReport("there are no latencies")
    return ToolLatency(
        mean_ns=int(number(latencies, "mean")),
        min_ns=int(number(latencies, "min")),
        max_ns=int(number(latencies, "max")),
        percentiles_ns={rank: int(number(latencies, name)) for rank, name in _PERCENTILES.items()},
    )
