"""The summary of k6 1, printed as JSON by subjects/tools/k6/load.js."""

from typing import Any

from httpdyno.judge.tool_reports.figures import counts, document, latency_of, number, numbers
from httpdyno.model import ToolReport

_ERROR = "error_"
_ANSWERED = "http_req_duration{expected_response:true}"
"""Metric with the times of answered requests: load.js expects every status."""


def parse(text: str) -> ToolReport:
    """Read a summary of k6.

    Its rate includes failed requests. Times count from the sending of a request: waiting for a connection, and opening
    one, are separate figures of k6.
    """
    found = document(text)
    failed = int(number(found, "metrics", "http_req_failed", "values", "passes"))
    metrics = found["metrics"]
    errors = {name: _count(metrics, name) for name in sorted(metrics) if name.startswith(_ERROR)}
    latency = None
    if _ANSWERED in metrics:
        values = numbers(found, "metrics", _ANSWERED, "values")
        shares = {float(name[2:-1]): time for name, time in values.items() if name.startswith("p(")}
        if "med" in values:
            shares[50.0] = values["med"]
        times = {"least": values.get("min"), "most": values.get("max")}
        latency = latency_of(1e6, values.get("avg"), **times, percentiles=sorted(shares.items()))
    return ToolReport(
        requests=int(number(found, "metrics", "http_reqs", "values", "count")) - failed,
        duration_ns=round(number(found, "state", "testRunDurationMs") * 1e6),
        stated_per_s=number(found, "metrics", "http_reqs", "values", "rate"),
        errors=counts((name.removeprefix(_ERROR), count) for name, count in errors.items()),
        non_2xx=_count(metrics, "non_2xx"),
        received_bytes=_count(metrics, "data_received"),
        latency=latency,
    )


def _count(metrics: dict[str, Any], name: str) -> int:
    """Return the value of a counter; k6 leaves out counters that were never incremented."""
    return int(number(metrics, name, "values", "count")) if name in metrics else 0
