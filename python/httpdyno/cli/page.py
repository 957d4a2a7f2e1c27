"""Writes the page of a run: one HTML file that needs no network."""

from pathlib import Path

from httpdyno.cli.terminal import tell
from httpdyno.errors import HttpdynoError
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Report
from httpdyno.runs.report import build_report
from httpdyno.storage import storage_errors
from httpdyno.store import Run
from httpdyno.store.files import write_whole
from httpdyno.store.folder import REPORT

__all__ = ["leave_page", "report_of", "write_page", "write_report"]


def leave_page(run: "Run") -> None:
    """Write the page of a run that has ended, and say where it is; that it cannot be is no failure of measuring."""
    try:
        tell(f"report: {write_report(run)}")
    except HttpdynoError as error:
        tell(error.line)


def write_report(run: "Run") -> Path:
    """Write the page of a run into its folder; return its path."""
    return write_page(report_of(run), run.folder / REPORT)


def report_of(run: Run) -> Report:
    """Return what a run says."""
    return build_report(run, definition_of(run.manifest.experiment))


def write_page(told: Report, path: Path) -> Path:
    """Write the page of a report; return its path."""
    from httpdyno.report.html import page  # heavy: only who writes a page pays for its charts

    text = page(told).encode()
    with storage_errors(f"{path}: the report cannot be written", folder=path.parent, cure="name another: --html FILE"):
        write_whole(path, lambda file: file.write(text))
    return path
