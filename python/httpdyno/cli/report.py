"""``httpdyno report``: what a run says, as a table, as a page, as charts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_formats
from httpdyno.cli.run_argument import RunName, RunsFolder, open_named_run

if TYPE_CHECKING:
    from httpdyno.model import Report, Table
    from httpdyno.store import Run

__all__ = ["report", "write_report"]

_CHART_WIDTH: Final = 760
"""Of a chart as a file, in pixels; a PNG has two for each of them."""


def report(
    run: RunName,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Print the table in this format and write no page. Default: table, and the page is written.",
            autocompletion=complete_formats,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the page there. Default: report.html in the run's folder."),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIR", help="Write the charts there, as SVG and PNG.")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of --format json for this run, and do nothing else.")
    ] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Print the table of a run and write its page: one HTML file that needs no network."""
    from httpdyno.cli.output import check_format, print_table
    from httpdyno.cli.terminal import tell

    check_format(format or "table")
    opened = open_named_run(run, runs)
    if schema:
        _print_schema(opened)
        return
    print_table(_table(opened), format or "table")
    wants_page = html is not None or (format is None and charts is None)
    if not wants_page and charts is None:
        return
    told = _built(opened)
    if wants_page:
        tell(f"report: {_write_page(told, html or opened.folder / _name())}")
    if charts is not None:
        tell(f"charts: {_write_charts(told, charts)}")


def write_report(folder: Path) -> Path:
    """Write the page of a run into its folder.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    UnreadableRun
        If the run is damaged, or of an experiment that this version does not know.
    StorageFailed
        If the folder cannot be written.
    """
    from httpdyno.store import open_run

    return _write_page(_built(open_run(folder)), folder / _name())


def _name() -> str:
    from httpdyno.store.layout import REPORT

    return REPORT


def _built(run: "Run") -> "Report":
    from httpdyno.experiments.registry import definition_of
    from httpdyno.experiments.report import build_report

    return build_report(run, definition_of(run.manifest.experiment))


def _table(run: "Run") -> "Table":
    from httpdyno.experiments.reservation import reserved_table

    return reserved_table(run.manifest, run.records())


def _print_schema(run: "Run") -> None:
    import sys

    from httpdyno.cli.terminal import reader_may_leave
    from httpdyno.report.json_schema import experiment_schema

    with reader_may_leave():
        sys.stdout.write(experiment_schema(_table(run).columns, run.manifest.experiment))
        sys.stdout.flush()


def _write_page(told: "Report", path: Path) -> Path:
    from httpdyno.report.html.page import page
    from httpdyno.storage import storage_errors
    from httpdyno.store.files import write_whole

    text = page(told).encode()
    with storage_errors(f"{path}: the report cannot be written", folder=path.parent, cure="name another: --html FILE"):
        write_whole(path, lambda file: file.write(text))
    return path


def _write_charts(told: "Report", folder: Path) -> Path:
    from httpdyno.report.charts.canvas import Canvas
    from httpdyno.report.charts.drawing import png, svg
    from httpdyno.report.charts.theme import LIGHT
    from httpdyno.storage import storage_errors

    drawn = {}
    for chart in told.charts:
        drawn[f"{chart.name}.svg"] = svg(chart, Canvas(_CHART_WIDTH, LIGHT)).encode()
        drawn[f"{chart.name}.png"] = png(chart, Canvas(_CHART_WIDTH, LIGHT))
    with storage_errors(f"{folder}: charts cannot be written", folder=folder, cure="name another folder: --charts DIR"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in drawn.items():
            (folder / name).write_bytes(content)
    return folder
