"""The report of h2load, of nghttp2 1.52."""

import re

from httpdyno.judge.tool_reports.figures import count_answers, counts, find, latency_of, span_ns
from httpdyno.model import ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of h2load.

    A run with a duration does not report refused connections: all its figures are then 0.
    """
    finished = find(r"^finished in ([0-9.]+\w+), ([0-9.]+) req/s, ", text, what="line 'finished in'")
    requests = find(r"^requests: .* ([0-9]+) errored, ([0-9]+) timeout$", text, what="line 'requests'")
    codes = find(r"^status codes: (.+)$", text, what="line 'status codes'")
    traffic = find(r"^traffic: \S+ \(([0-9]+)\) total", text, what="line 'traffic'")
    answered, non_2xx = count_answers((name, count) for count, name in re.findall(r"([0-9]+) ([2-5]xx)", codes[1]))
    latency = None
    if answered:
        spans = find(r"^time for request: +(\S+) +(\S+) +(\S+)", text, what="line 'time for request'")
        least, most, mean = map(span_ns, spans.groups())
        latency = latency_of(1, mean, least=least, most=most)
    return ToolReport(
        requests=answered,
        duration_ns=span_ns(finished[1]),
        stated_per_s=float(finished[2]),
        errors=counts((("errored", int(requests[1])), ("timeout", int(requests[2])))),
        non_2xx=non_2xx,
        received_bytes=int(traffic[1]),
        latency=latency,
    )
