"""The report of httpdyno's own generator, and the columns of its samples."""

from typing import Final

import polars as pl

from httpdyno.judge.tool_reports.figures import count_answers, counts, document, latency_of, number, numbers
from httpdyno.model import ToolReport

SAMPLE_COLUMNS: Final = {
    "intended_ns": pl.Int64(),
    "sent_ns": pl.Int64(),
    "first_byte_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "status_or_error": pl.String(),
    "content_bytes": pl.Int64(),
    "connection": pl.Int64(),
    "url": pl.String(),
}
"""Columns of ``load --samples``, in order; times count from the start of the load."""


_PERCENTILES: Final = {50.0: "p50_ns", 75.0: "p75_ns", 90.0: "p90_ns", 95.0: "p95_ns", 99.0: "p99_ns", 99.9: "p99_9_ns"}


def parse(text: str) -> ToolReport:
    """Read a report of ``httpdyno load``: response times of an open loop, service times of a closed one."""
    found = document(text)
    plan = found.get("plan")
    times = "response_time" if isinstance(plan, dict) and plan.get("rate_per_s") is not None else "service_time"
    _, non_2xx = count_answers(numbers(found, "statuses").items())
    errors = numbers(found, "errors")
    requests = int(number(found, "requests"))
    latency = None
    if requests:
        mean, least, most = (number(found, times, f"{name}_ns") for name in ("mean", "min", "max"))
        percentiles = [(percent, number(found, times, name)) for percent, name in _PERCENTILES.items()]
        latency = latency_of(1, mean, least=least, most=most, percentiles=percentiles)
    return ToolReport(
        requests=requests,
        duration_ns=round(number(found, "elapsed_s") * 1e9),
        stated_per_s=number(found, "rps"),
        errors=counts((name, int(count)) for name, count in errors.items()),
        non_2xx=non_2xx,
        received_bytes=int(number(found, "wire", "received_bytes")),
        latency=latency,
    )
