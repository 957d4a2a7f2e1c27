"""The report of fortio 1, printed with ``-json -``."""

from httpdyno.judge.tool_reports.figures import count_answers, counts, document, latency_of, number, numbers
from httpdyno.model import ToolReport

_NO_ANSWER = "-1"


def parse(text: str) -> ToolReport:
    """Read a report of fortio.

    fortio has one code for all failures below HTTP, and includes their times in the latencies.
    """
    found = document(text)
    codes = numbers(found, "RetCodes")
    failed = int(codes.pop(_NO_ANSWER, 0))
    answered, non_2xx = count_answers(codes.items())
    latency = None
    if answered:
        least, mean, most = (number(found, "DurationHistogram", name) for name in ("Min", "Avg", "Max"))
        parts = found["DurationHistogram"].get("Percentiles") or []
        percentiles = [(number(part, "Percentile"), number(part, "Value")) for part in parts]
        latency = latency_of(1e9, mean, least=least, most=most, percentiles=percentiles)
    return ToolReport(
        requests=answered,
        duration_ns=int(number(found, "ActualDuration")),
        stated_per_s=number(found, "ActualQPS"),
        errors=counts((("no answer", failed),)),
        non_2xx=non_2xx,
        received_bytes=int(number(found, "Sizes", "Sum")),
        latency=latency,
    )
