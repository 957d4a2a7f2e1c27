"""The reports of load tools, read into one form; docs/reference/tools.md explains each figure."""

from collections.abc import Callable
from importlib import import_module

from httpdyno.errors import UnreadableReport
from httpdyno.model import ToolReport


def read_tool_report(parser: str, text: str) -> ToolReport:
    """Read what a tool printed to standard output.

    ``parser`` is one of ``model.REPORT_PARSERS``: each is a module here. A text that is no such report, or ends
    before its figures, raises ``UnreadableReport``, which names the missing part.
    """
    parse: Callable[[str], ToolReport] = import_module(f"{__name__}.{parser.replace('-', '_')}").parse
    try:
        return parse(text)
    except UnreadableReport as error:
        what = "it is empty" if not text.strip() else str(error)
        raise UnreadableReport(f"the report of {parser} cannot be read: {what}") from error
