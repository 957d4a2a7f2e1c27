"""The report of ab 2.3, the ApacheBench of httpd 2.4."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, find_number, latency_of
from httpdyno.model import ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of ab.

    ab counts failed requests as complete, and may count one failure twice, as an exception too. Its times are whole
    milliseconds, except its mean, which is connections times duration divided by requests.
    """
    complete = int(find(r"^Complete requests: +([0-9]+)$", text, what="line 'Complete requests'")[1])
    duration = find(r"^Time taken for tests: +([0-9.]+) seconds$", text, what="line 'Time taken for tests'")
    stated = find(r"^Requests per second: +([0-9.]+) ", text, what="line 'Requests per second'")
    received = find(r"^Total transferred: +([0-9]+) bytes$", text, what="line 'Total transferred'")
    # The line exists only if something failed; a varying length is not an error.
    failed = re.search(r"^ +\(Connect: ([0-9]+), Receive: ([0-9]+), .*Exceptions: ([0-9]+)\)$", text, re.MULTILINE)
    connect, receive, exceptions = (int(part) for part in failed.groups()) if failed else (0, 0, 0)
    answered = max(0, complete - max(connect + receive, exceptions))
    latency = None
    if answered:
        mean = find(r"^Time per request: +([0-9.]+) \[ms\] \(mean\)$", text, what="line 'Time per request'")
        total = find(r"^Total: +([0-9]+) +[0-9]+ +[0-9.]+ +[0-9]+ +([0-9]+)$", text, what="line 'Total'")
        least, most = total.groups()
        shares = re.findall(r"^ +([0-9]+)% +([0-9]+)\b", text, re.MULTILINE)
        percentiles = [(percent, span) for percent, span in shares if percent != "100"]
        latency = latency_of(1e6, mean[1], least=least, most=most, percentiles=percentiles)
    return ToolReport(
        requests=answered,
        duration_ns=round(float(duration[1]) * 1e9),
        stated_per_s=float(stated[1]),
        errors=counts((("connect", connect), ("receive", receive), ("exceptions", exceptions))),
        non_2xx=find_number(r"^Non-2xx responses: +([0-9]+)$", text),
        received_bytes=int(received[1]),
        latency=latency,
    )
