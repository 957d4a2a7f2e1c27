"""The report of httpdyno's own generator, when it is measured like any other tool."""

from httpdyno.judge.tool_reports.figures import document
from httpdyno.judge.tool_reports.load_report import read_load_report
from httpdyno.model import Loop, ToolReport

__all__ = ["parse"]


def parse(text: str) -> ToolReport:
    """Read a report of ``httpdyno load``: response times of an open loop, service times of a closed one.

    It says itself which loop it was.
    """
    plan = document(text).get("plan")
    on_schedule = isinstance(plan, dict) and plan.get("rate_per_s") is not None
    return read_load_report(text, Loop.OPEN if on_schedule else Loop.CLOSED)
