"""The report of vegeta 12, printed with ``report -type json``."""

from typing import Final

from httpdyno.judge.tool_reports.figures import count_answers, counts, document, latency_of, number, numbers
from httpdyno.model import ToolReport

_NO_ANSWER: Final = "0"
_PERCENTILES: Final = {50.0: "50th", 90.0: "90th", 95.0: "95th", 99.0: "99th"}


def parse(text: str) -> ToolReport:
    """Read a report of vegeta.

    vegeta has one status for all failures below HTTP, and includes their times in the latencies. Its duration is from
    the first send to the last; the wait for the last answer is a separate field, and is added here.
    """
    found = document(text)
    codes = numbers(found, "status_codes")
    failed = int(codes.pop(_NO_ANSWER, 0))
    answered, non_2xx = count_answers(codes.items())
    latency = None
    if answered:
        mean, least, most = (number(found, "latencies", name) for name in ("mean", "min", "max"))
        percentiles = [(rank, number(found, "latencies", name)) for rank, name in _PERCENTILES.items()]
        latency = latency_of(1, mean, least=least, most=most, percentiles=percentiles)
    return ToolReport(
        requests=answered,
        duration_ns=int(number(found, "duration") + number(found, "wait")),
        stated_per_s=number(found, "rate"),
        errors=counts((("no answer", failed),)),
        non_2xx=non_2xx,
        received_bytes=int(number(found, "bytes_in", "total")),
        latency=latency,
    )
