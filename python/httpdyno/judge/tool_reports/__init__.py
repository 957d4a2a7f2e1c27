"""The reports of load tools, read into one form; docs/reference/tools.md says what each figure means."""

from httpdyno.judge.tool_reports.registry import PARSERS, read_tool_report

__all__ = ["PARSERS", "read_tool_report"]
