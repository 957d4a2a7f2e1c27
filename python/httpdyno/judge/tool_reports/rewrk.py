"""The report of rewrk 0.3, printed with ``--json``."""

from httpdyno.judge.tool_reports.figures import document, number
from httpdyno.model import ToolLatency, ToolReport

__all__ = ["parse"]


def parse(text: str) -> ToolReport:
    """Read a report of rewrk.

    It says nothing of statuses, errors and percentiles, and states its rate instead of its duration. A request that
    failed counts among the others.
    """
    found = document(text)
    requests, rate = int(number(found, "requests_total")), number(found, "requests_avg")
    return ToolReport(
        requests=requests,
        duration_ns=round(requests * 1e9 / rate) if rate else 0,
        stated_per_s=rate,
        received_bytes=int(number(found, "transfer_total")),
        latency=ToolLatency(
            mean_ns=_ms_ns(number(found, "latency_avg")),
            stdev_ns=_ms_ns(number(found, "latency_std_deviation")),
            min_ns=_ms_ns(number(found, "latency_min")),
            max_ns=_ms_ns(number(found, "latency_max")),
        )
        if requests
        else None,
    )


def _ms_ns(ms: float) -> int:
    return round(ms * 1e6)
