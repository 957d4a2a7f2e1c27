"""The report of httperf 0.9.0."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, latency_of
from httpdyno.model import ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of httperf.

    httperf reports only the mean for single requests: its other times are those of connections.
    """
    total = find(r"^Total: .* replies ([0-9]+) test-duration ([0-9.]+) s$", text, what="line 'Total'")
    size = find(r"^Reply size \[B\]: .*\(total ([0-9.]+)\)$", text, what="line 'Reply size'")
    status = find(r"^Reply status: 1xx=[0-9]+ 2xx=([0-9]+) ", text, what="line 'Reply status'")
    lines = re.findall(r"^Errors: (?:total [0-9]+ )?(.+)$", text, re.MULTILINE)
    errors = re.findall(r"([a-z-]+) ([0-9]+)", " ".join(lines))
    replies = int(total[1])
    latency = None
    if replies:
        spans = find(r"^Reply time \[ms\]: response ([0-9.]+) transfer ([0-9.]+)$", text, what="line 'Reply time'")
        latency = latency_of(1e6, float(spans[1]) + float(spans[2]))
    return ToolReport(
        requests=replies,
        duration_ns=round(float(total[2]) * 1e9),
        errors=counts((name, int(count)) for name, count in errors),
        non_2xx=replies - int(status[1]),
        received_bytes=round(replies * float(size[1])),
        latency=latency,
    )
