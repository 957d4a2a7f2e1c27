"""The report of hey 0.1."""

import re

from httpdyno.judge.tool_reports.figures import counts, find, find_number
from httpdyno.model import ToolLatency, ToolReport


def parse(text: str) -> ToolReport:
    """Read a report of hey.

    Its rate counts requests that failed, its data is content without heads, and its times are tenths of milliseconds.
    """
    duration = find(r"^ +Total:\s+([0-9.]+) secs$", text, what="line 'Total'")
    stated = find(r"^ +Requests/sec:\s+([0-9.]+)$", text, what="line 'Requests/sec'")
    find(r"^Status code distribution:$", text, what="'Status code distribution'")
    statuses = re.findall(r"^ +\[([0-9]+)\]\s+([0-9]+) responses$", text, re.MULTILINE)
    answered = sum(int(count) for _, count in statuses)
    _, _, failures = text.partition("\nError distribution:\n")
    errors = re.findall(r"^ +\[([0-9]+)\]\s+(.+)$", failures, re.MULTILINE)
    return ToolReport(
        requests=answered,
        duration_ns=_seconds_ns(duration[1]),
        stated_per_s=float(stated[1]),
        errors=counts((_kind(message), int(count)) for count, message in errors),
        non_2xx=sum(int(count) for status, count in statuses if not status.startswith("2")),
        # The line is left out when all content was empty.
        received_bytes=find_number(r"^ +Total data:\s+([0-9]+) bytes$", text),
        latency=_latency(text) if answered else None,
    )


def _kind(message: str) -> str:
    """Name an error by its last part: what comes before is the URL, or an address."""
    return message.rsplit(": ", 1)[-1]


def _latency(text: str) -> ToolLatency:
    mean = find(r"^ +Average:\s+([0-9.]+) secs$", text, what="line 'Average'")
    shortest = find(r"^ +Fastest:\s+([0-9.]+) secs$", text, what="line 'Fastest'")
    longest = find(r"^ +Slowest:\s+([0-9.]+) secs$", text, what="line 'Slowest'")
    percentiles = re.findall(r"^ +([0-9]+)% in ([0-9.]+) secs$", text, re.MULTILINE)
    return ToolLatency(
        mean_ns=_seconds_ns(mean[1]),
        min_ns=_seconds_ns(shortest[1]),
        max_ns=_seconds_ns(longest[1]),
        percentiles_ns={float(percent): _seconds_ns(span) for percent, span in percentiles},
    )


def _seconds_ns(text: str) -> int:
    return round(float(text) * 1e9)
