"""The report of wrk 4, printed with ``--latency``."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, find_number, latency_of, size_bytes, span_ns
from httpdyno.model import ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of wrk.

    A request counts when its answer arrived, even after ``--timeout``; such an answer is also among the errors, and its
    time in no latency. wrk adds computed times to the measured ones, to correct for coordinated omission.
    """
    done = find(r"^ *([0-9]+) requests in ([0-9.]+\w+), ([0-9.]+\w+) read$", text, what="line '... requests in ...'")
    stated = find(r"^Requests/sec: +([0-9.]+)$", text, what="line 'Requests/sec'")
    # The line exists only if something failed.
    socket = re.search(r"^ +Socket errors: (.+)$", text, re.MULTILINE)
    errors = re.findall(r"(\w+) ([0-9]+)", socket[1]) if socket else []
    line = find(r"^ +Latency +([0-9.]+\w+) +\S+ +([0-9.]+\w+) ", text, what="line 'Latency'")
    percentiles = re.findall(r"^ +([0-9.]+)% +([0-9.]+[a-z]+)$", text, re.MULTILINE)
    latency = latency_of(
        1,
        span_ns(line[1]),
        most=span_ns(line[2]),
        percentiles=[(percent, span_ns(span)) for percent, span in percentiles],
    )
    return ToolReport(
        requests=int(done[1]),
        duration_ns=span_ns(done[2]),
        stated_per_s=float(stated[1]),
        errors=counts((name, int(count)) for name, count in errors),
        non_2xx=find_number(r"^ +Non-2xx or 3xx responses: ([0-9]+)$", text),
        received_bytes=size_bytes(done[3]),
        latency=latency if latency.max_ns else None,
    )
