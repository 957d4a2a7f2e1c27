"""The report of hey 0.1."""

import re

from httpdyno.judge.tool_reports.figures import count_answers, counts, find, find_number, latency_of
from httpdyno.model import ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of hey.

    Its rate includes failed requests, its data is content without heads, and its times are tenths of milliseconds.
    """
    duration = find(r"^ +Total:\s+([0-9.]+) secs$", text, what="line 'Total'")
    stated = find(r"^ +Requests/sec:\s+([0-9.]+)$", text, what="line 'Requests/sec'")
    find(r"^Status code distribution:$", text, what="'Status code distribution'")
    statuses = re.findall(r"^ +\[([0-9]+)\]\s+([0-9]+) responses$", text, re.MULTILINE)
    answered, non_2xx = count_answers(statuses)
    _, _, failures = text.partition("\nError distribution:\n")
    errors = re.findall(r"^ +\[([0-9]+)\]\s+(.+)$", failures, re.MULTILINE)
    latency = None
    if answered:
        mean, least, most = (
            find(rf"^ +{name}:\s+([0-9.]+) secs$", text, what=f"line '{name}'")[1]
            for name in ("Average", "Fastest", "Slowest")
        )
        percentiles = re.findall(r"^ +([0-9]+)% in ([0-9.]+) secs$", text, re.MULTILINE)
        latency = latency_of(1e9, mean, least=least, most=most, percentiles=percentiles)
    return ToolReport(
        requests=answered,
        duration_ns=round(float(duration[1]) * 1e9),
        stated_per_s=float(stated[1]),
        # The URL, or an address, precedes the last part of an error.
        errors=counts((message.rsplit(": ", 1)[-1], int(count)) for count, message in errors),
        non_2xx=non_2xx,
        # The line is missing if all content was empty.
        received_bytes=find_number(r"^ +Total data:\s+([0-9]+) bytes$", text),
        latency=latency,
    )
