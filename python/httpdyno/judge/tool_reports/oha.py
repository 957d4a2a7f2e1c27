"""The report of oha 1, printed with ``--output-format json``."""

from httpdyno.judge.tool_reports.figures import counts, document, number, numbers, seconds_ns
from httpdyno.model import ToolLatency, ToolReport

_CUT = "aborted due to deadline"
"""What oha calls requests that were under way when its time was over: they did not fail."""


def parse(text: str) -> ToolReport:
    """Read a report of oha.

    Its rate counts requests that failed, and its data is content without heads.
    """
    found = document(text)
    statuses = numbers(found, "statusCodeDistribution")
    answered = int(sum(statuses.values()))
    errors = numbers(found, "errorDistribution")
    summary = numbers(found, "summary")
    percentiles = numbers(found, "latencyPercentiles")
    return ToolReport(
        requests=answered,
        duration_ns=round(number(found, "summary", "total") * 1e9),
        stated_per_s=number(found, "summary", "requestsPerSec"),
        errors=counts((name, int(count)) for name, count in errors.items() if name != _CUT),
        non_2xx=int(sum(count for status, count in statuses.items() if not status.startswith("2"))),
        received_bytes=int(number(found, "summary", "totalData")),
        latency=ToolLatency(
            mean_ns=seconds_ns(summary.get("average")),
            min_ns=seconds_ns(summary.get("fastest")),
            max_ns=seconds_ns(summary.get("slowest")),
            percentiles_ns={float(name.removeprefix("p")): round(s * 1e9) for name, s in percentiles.items()},
        )
        if answered
        else None,
    )
