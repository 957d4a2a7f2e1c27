"""The report of rewrk 0.3: JSON with ``--json``, else text, which has more than means."""

import re
from typing import Final

from httpdyno.judge.tool_reports.figures import counts, document, find, latency_of, number, size_bytes, span_ns
from httpdyno.model import ToolLatency, ToolReport

_SPAN: Final = r"([0-9.]+(?:us|ms|s))"
_LATENCIES: Final = rf"^ +{_SPAN} +{_SPAN} +{_SPAN} +{_SPAN} *$"
_REQUESTS: Final = r"^ +Total: +([0-9]+) +Req/Sec: +([0-9.]+)"
_TRANSFER: Final = r"Total: +([0-9.]+) ([KMGT]?B) Transfer Rate"
_SLOWEST: Final = re.compile(rf"^\| +([0-9.]+)% +\| +{_SPAN} +\|", re.MULTILINE)
_ERRORS: Final = re.compile(r"^([0-9]+) Errors: (.+)$", re.MULTILINE)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_NONE_DONE: Final = "No requests completed successfully"


def parse(text: str) -> ToolReport:
    """Read a report of rewrk.

    rewrk reports its rate instead of its duration, and no statuses; only its text has errors. Failed requests are
    included in the others. The percentiles of its table are means of the slowest share.
    """
    return _json(text) if text.lstrip().startswith("{") or not text.strip() else _text(_COLOUR.sub("", text))


def _json(text: str) -> ToolReport:
    found = document(text)
    requests, rate = int(number(found, "requests_total")), number(found, "requests_avg")
    latency = None
    if requests:
        mean, least, most = (number(found, f"latency_{name}") for name in ("avg", "min", "max"))
        latency = latency_of(1e6, mean, least=least, most=most)
    return ToolReport(
        requests=requests,
        duration_ns=round(requests * 1e9 / rate) if rate else 0,
        stated_per_s=rate,
        received_bytes=int(number(found, "transfer_total")),
        latency=latency,
    )


def _text(text: str) -> ToolReport:
    if _NONE_DONE in text:
        return ToolReport(requests=0, duration_ns=0)
    total = find(_REQUESTS, text, what="line of requests")
    requests, rate = int(total[1]), float(total[2])
    transfer = find(_TRANSFER, text, what="line of the transfer")
    mean, _, least, most = find(_LATENCIES, text, what="line of latencies").groups()
    return ToolReport(
        requests=requests,
        duration_ns=round(requests * 1e9 / rate) if rate else 0,
        stated_per_s=rate,
        errors=counts((name.strip(), int(count)) for count, name in _ERRORS.findall(text)),
        received_bytes=size_bytes("".join(transfer.groups())),
        latency=ToolLatency(
            mean_ns=span_ns(mean),
            min_ns=span_ns(least),
            max_ns=span_ns(most),
            slowest_means_ns={round(100 - float(rank), 6): span_ns(span) for rank, span in _SLOWEST.findall(text)},
        ),
    )
