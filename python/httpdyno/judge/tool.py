"""What a trial of a load tool left, and how it ended: in one word, in one line, and by its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge.outcome import Ending
from httpdyno.judge.tool_reports.registry import read_tool_report
from httpdyno.model import Outcome, ToolReport, TrialPlan

__all__ = ["ToolArtifacts", "tool_ending"]

_SAID: Final = 200


@dataclass(frozen=True, slots=True)
class ToolArtifacts:
    """What a trial of a tool left."""

    report: Mapping[str, Any]
    """The engine's, version 1, parsed from JSON."""
    text: str
    """What the tool printed to standard output: its report."""
    stderr: str
    arrivals: pl.DataFrame
    """As ``read_arrivals`` gives them."""


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
