"""The report of fortio 1, printed with ``-json -``."""

from typing import Any

from httpdyno.errors import UnreadableReport
from httpdyno.judge.tool_reports.figures import counts, document, number, numbers
from httpdyno.model import ToolLatency, ToolReport

_NO_ANSWER = "-1"


def parse(text: str) -> ToolReport:
    """Read a report of fortio.

    What went wrong below HTTP has one code for all kinds, and the time it took is among the latencies.
    """
    found = document(text)
    codes = numbers(found, "RetCodes")
    failed = int(codes.pop(_NO_ANSWER, 0))
    answered = int(sum(codes.values()))
    return ToolReport(
        requests=answered,
        duration_ns=int(number(found, "ActualDuration")),
        stated_per_s=number(found, "ActualQPS"),
        errors=counts((("no answer", failed),)),
        non_2xx=int(sum(count for status, count in codes.items() if not status.startswith("2"))),
        received_bytes=int(number(found, "Sizes", "Sum")),
        latency=_latency(found) if answered else None,
    )


def _latency(found: dict[str, Any]) -> ToolLatency:
    histogram = found.get("DurationHistogram")
    if not isinstance(histogram, dict):
        raise UnreadableReport("there is no DurationHistogram")
    percentiles = histogram.get("Percentiles") or []
    return ToolLatency(
        mean_ns=round(number(histogram, "Avg") * 1e9),
        stdev_ns=round(number(histogram, "StdDev") * 1e9),
        min_ns=round(number(histogram, "Min") * 1e9),
        max_ns=round(number(histogram, "Max") * 1e9),
        percentiles_ns={float(number(part, "Percentile")): round(number(part, "Value") * 1e9) for part in percentiles},
    )
