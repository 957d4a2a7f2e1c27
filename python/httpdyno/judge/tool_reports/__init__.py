"""The reports of load tools, converted to one form; docs/reference/tools.md explains each figure."""

from collections.abc import Callable
from importlib import import_module

from httpdyno.errors import UnreadableReport
from httpdyno.model import ToolReport


def read_tool_report(parser: str, text: str) -> ToolReport:
    """Read the standard output of a tool.

    ``parser`` is one of ``model.REPORT_PARSERS``, each of which is a module here. Raises ``UnreadableReport`` with the
    missing part if the text is not such a report, or is incomplete.
    """
    parse: Callable[[str], ToolReport] = import_module(f"{__name__}.{parser.replace('-', '_')}").parse
    try:
        return parse(text)
    except UnreadableReport as error:
        what = "it is empty" if not text.strip() else str(error)
        raise UnreadableReport(f"the report of {parser} cannot be read: {what}") from error
