"""The report of h2load, of nghttp2 1.52."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, span_ns
from httpdyno.model import ToolLatency, ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of h2load.

    In a run with a duration it says nothing of connections that were refused: all its figures are 0 then.
    """
    finished = find(r"^finished in ([0-9.]+\w+), ([0-9.]+) req/s, ", text, what="line 'finished in'")
    requests = find(r"^requests: .* ([0-9]+) errored, ([0-9]+) timeout$", text, what="line 'requests'")
    codes = find(r"^status codes: (.+)$", text, what="line 'status codes'")
    traffic = find(r"^traffic: \S+ \(([0-9]+)\) total", text, what="line 'traffic'")
    statuses = {name: int(count) for count, name in re.findall(r"([0-9]+) ([2-5]xx)", codes[1])}
    answered = sum(statuses.values())
    return ToolReport(
        requests=answered,
        duration_ns=span_ns(finished[1]),
        stated_per_s=float(finished[2]),
        errors=counts((("errored", int(requests[1])), ("timeout", int(requests[2])))),
        non_2xx=answered - statuses.get("2xx", 0),
        received_bytes=int(traffic[1]),
        latency=_latency(text) if answered else None,
    )


def _latency(text: str) -> ToolLatency:
    spans = find(r"^time for request: +(\S+) +(\S+) +(\S+) +(\S+)", text, what="line 'time for request'")
    shortest, longest, mean, deviation = (span_ns(span) for span in spans.groups())
    return ToolLatency(mean_ns=mean, stdev_ns=deviation, min_ns=shortest, max_ns=longest)
