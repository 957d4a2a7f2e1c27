"""The report of oha 1, printed with ``--output-format json``."""

from httpdyno.judge.tool_reports.figures import count_answers, counts, document, latency_of, number, numbers
from httpdyno.model import ToolReport

_CUT = "aborted due to deadline"
"""Name that oha gives to requests in flight when its time was over; they did not fail."""


def parse(text: str) -> ToolReport:
    """Read a report of oha.

    Its rate includes failed requests, and its data is content without heads.
    """
    found = document(text)
    answered, non_2xx = count_answers(numbers(found, "statusCodeDistribution").items())
    errors = numbers(found, "errorDistribution")
    summary = numbers(found, "summary")
    percentiles = numbers(found, "latencyPercentiles")
    return ToolReport(
        requests=answered,
        duration_ns=round(number(found, "summary", "total") * 1e9),
        stated_per_s=number(found, "summary", "requestsPerSec"),
        errors=counts((name, int(count)) for name, count in errors.items() if name != _CUT),
        non_2xx=non_2xx,
        received_bytes=int(number(found, "summary", "totalData")),
        latency=latency_of(
            1e9,
            summary.get("average"),
            least=summary.get("fastest"),
            most=summary.get("slowest"),
            percentiles=[(name.removeprefix("p"), time) for name, time in percentiles.items()],
        )
        if answered
        else None,
    )
