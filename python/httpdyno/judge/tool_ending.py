"""How a trial of a load tool ended, in one word and one line, and the report that it left."""

from typing import Final

from httpdyno.errors import UnreadableReport
from httpdyno.judge.outcome import Ending
from httpdyno.judge.tool_reports.registry import read_tool_report
from httpdyno.model import Outcome, ToolReport, TrialPlan

__all__ = ["tool_ending"]

_SAID: Final = 200


def tool_ending(plan: TrialPlan, ending: Ending, text: str) -> tuple[Outcome, str | None, ToolReport | None]:
    """Name how a tool ended, and why in one line where that is not ``ok``; with its report where it is."""
    if ending.kind == "interrupted":
        return Outcome.INTERRUPTED, ending.reason or "stopped before it was done", None
    if ending.kind == "deadline":
        return Outcome.HUNG, "did not end before the deadline", None
    if ending.kind != "exited":
        return Outcome.CRASHED, ending.reason or f"ended by signal {ending.signal}", None
    try:
        return Outcome.OK, None, read_tool_report(plan.subject.report_parser, text)
    except UnreadableReport as error:
        said = " ".join(ending.stderr.split())[-_SAID:]
        if ending.exit_code:
            return Outcome.CRASHED, f"exited with {ending.exit_code}: {said or 'it says nothing'}", None
        return Outcome.GARBAGE, error.line, None
