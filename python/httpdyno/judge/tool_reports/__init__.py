"""The reports of load tools, read into one form; docs/reference/tools.md says what each figure means."""

from collections.abc import Callable, Mapping
from typing import Final

from httpdyno.errors import UnreadableReport
from httpdyno.judge.tool_reports import ab, fortio, h2load, hey, httpdyno_load, httperf, k6, oha, rewrk, vegeta, wrk
from httpdyno.model import ToolReport

PARSERS: Final[Mapping[str, Callable[[str], ToolReport]]] = {
    "ab": ab.parse,
    "fortio": fortio.parse,
    "h2load": h2load.parse,
    "hey": hey.parse,
    "httpdyno-load": httpdyno_load.parse,
    "httperf": httperf.parse,
    "k6": k6.parse,
    "oha": oha.parse,
    "rewrk": rewrk.parse,
    "vegeta": vegeta.parse,
    "wrk": wrk.parse,
}
"""By the name that ``report.parser`` of a ``subject.toml`` has: the names of ``model.REPORT_PARSERS``."""


def read_tool_report(parser: str, text: str) -> ToolReport:
    """Read what a tool printed to standard output; ``parser`` is one of ``model.REPORT_PARSERS``.

    What is no such report, or ends before its figures, is an ``UnreadableReport`` that says what is missing.
    """
    try:
        return PARSERS[parser](text)
    except UnreadableReport as error:
        what = "it is empty" if not text.strip() else str(error)
        raise UnreadableReport(f"the report of {parser} cannot be read: {what}") from error
