"""``httpdyno report``: what a run says, as a table, as a page, as charts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_formats
from httpdyno.cli.options import LATEST, Columns, RunName, RunsFolder, open_named_run
from httpdyno.cli.terminal import check_format, ignore_closed_pipe, tell
from httpdyno.model import Report
from httpdyno.storage import storage_errors

if TYPE_CHECKING:
    from httpdyno.store import Run


_CHART_WIDTH: Final = 760
"""Of a chart as a file, in pixels; a PNG has two for each of them."""


def report(
    run: RunName = LATEST,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Print the table in this format and write no page. Default: table, and the page is written.",
            autocompletion=complete_formats,
        ),
    ] = None,
    columns: Columns = None,
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
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every note, not only the gravest five.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Print the table of a run and write its page: one HTML file that needs no network."""
    from httpdyno.cli.output import print_run, report_of, write_page
    from httpdyno.experiments.registry import definition_of
    from httpdyno.runs.showing import check_columns
    from httpdyno.store.folder import REPORT

    check_format(format or "table")
    opened = open_named_run(run, runs)
    check_columns(definition_of(opened.manifest.experiment), columns)
    if schema:
        _print_schema(opened)
        return
    print_run(opened, format or "table", columns, verbose=verbose)
    wants_page = html is not None or (format is None and charts is None)
    if not wants_page and charts is None:
        return
    page = report_of(opened)
    if wants_page:
        tell(f"report: {write_page(page, html or opened.folder / REPORT)}")
    if charts is not None:
        tell(f"charts: {_write_charts(page, charts)}")


def _print_schema(run: "Run") -> None:
    from httpdyno.report.formats.json import experiment_schema
    from httpdyno.runs.showing import shown_tables

    (table,) = shown_tables(run, "json")
    with ignore_closed_pipe():
        sys.stdout.write(experiment_schema(table.columns, run.manifest.experiment))
        sys.stdout.flush()


def _write_charts(page: Report, folder: Path) -> Path:
    from httpdyno.report.charts import png, svg
    from httpdyno.report.charts.canvas import LIGHT, Canvas

    drawn = {}
    for chart in page.charts:
        drawn[f"{chart.name}.svg"] = svg(chart, Canvas(_CHART_WIDTH, LIGHT)).encode()
        drawn[f"{chart.name}.png"] = png(chart, Canvas(_CHART_WIDTH, LIGHT))
    with storage_errors(f"{folder}: charts cannot be written", folder=folder, cure="name another folder: --charts DIR"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in drawn.items():
            (folder / name).write_bytes(content)
    return folder
