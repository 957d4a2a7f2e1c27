"""The report of ab 2.3, the ApacheBench of httpd 2.4."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, find_number
from httpdyno.model import ToolLatency, ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of ab.

    It counts a request that failed among the complete ones, and may count one failure twice, as an exception too. Its
    times are whole milliseconds but for its mean, which is connections times duration by requests.
    """
    complete = int(find(r"^Complete requests: +([0-9]+)$", text, what="line 'Complete requests'")[1])
    duration = find(r"^Time taken for tests: +([0-9.]+) seconds$", text, what="line 'Time taken for tests'")
    stated = find(r"^Requests per second: +([0-9.]+) ", text, what="line 'Requests per second'")
    received = find(r"^Total transferred: +([0-9]+) bytes$", text, what="line 'Total transferred'")
    # The line is there only when something went wrong; a length that varies is no error.
    failed = re.search(r"^ +\(Connect: ([0-9]+), Receive: ([0-9]+), .*Exceptions: ([0-9]+)\)$", text, re.MULTILINE)
    connect, receive, exceptions = (int(part) for part in failed.groups()) if failed else (0, 0, 0)
    answered = max(0, complete - max(connect + receive, exceptions))
    return ToolReport(
        requests=answered,
        duration_ns=round(float(duration[1]) * 1e9),
        stated_per_s=float(stated[1]),
        errors=counts((("connect", connect), ("receive", receive), ("exceptions", exceptions))),
        non_2xx=find_number(r"^Non-2xx responses: +([0-9]+)$", text),
        received_bytes=int(received[1]),
        latency=_latency(text) if answered else None,
    )


def _latency(text: str) -> ToolLatency:
    mean = find(r"^Time per request: +([0-9.]+) \[ms\] \(mean\)$", text, what="line 'Time per request'")
    total = find(r"^Total: +([0-9]+) +[0-9]+ +([0-9.]+) +[0-9]+ +([0-9]+)$", text, what="line 'Total'")
    percentiles = re.findall(r"^ +([0-9]+)% +([0-9]+)\b", text, re.MULTILINE)
    return ToolLatency(
        mean_ns=_ms_ns(mean[1]),
        stdev_ns=_ms_ns(total[2]),
        min_ns=_ms_ns(total[1]),
        max_ns=_ms_ns(total[3]),
        percentiles_ns={float(percent): _ms_ns(span) for percent, span in percentiles if percent != "100"},
    )


def _ms_ns(text: str) -> int:
    return round(float(text) * 1e6)
