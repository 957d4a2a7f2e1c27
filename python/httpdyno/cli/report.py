"""``httpdyno report`` and ``httpdyno judge``: print a run as a table, a page and charts; judge it again."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from httpdyno.cli.completion import offer_formats
from httpdyno.cli.options import COLUMNS, LATEST, Format, RunName, RunsFolder, known_format, open_named_run
from httpdyno.cli.terminal import ignore_closed_pipe, print_tables, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import UsageError
from httpdyno.experiments.option_fields import Option
from httpdyno.storage import storage_errors

if TYPE_CHECKING:
    from httpdyno.store import Run

_CHART_WIDTH: Final = 760
"""Width of a chart as a file, in pixels; a PNG has twice as many."""


@verb(
    "report",
    examples=(
        ("httpdyno report latest", "the table, and the page"),
        ("httpdyno report latest --charts charts", "the charts, as SVG and PNG"),
        ("httpdyno report previous --format markdown", "for a pull request"),
    ),
)
def report(
    run: RunName = LATEST,
    format: Annotated[  # noqa: A002
        str | None,
        Option(
            "--format FORMAT",
            "Print the table in this format and write no page. Default: table, and the page is written.",
            offers=offer_formats,
            check=known_format,
        ),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    html: Annotated[
        Path | None, Option("--html FILE", "Write the page there. Default: report.html in the run's folder.")
    ] = None,
    charts: Annotated[Path | None, Option("--charts DIR", "Write the charts there, as SVG and PNG.")] = None,
    schema: Annotated[
        bool, Option("--schema", "Print the JSON Schema of --format json for this run, and nothing else.")
    ] = False,
    matrix: Annotated[
        Path | None,
        Option("--matrix FILE", "Of a run of conform: write only its matrix, as a page (.html) or as data (.json)."),
    ] = None,
    together: Annotated[
        list[str] | None,
        Option("--with RUN", "Add a run to the matrix, which is used for clients that RUN lacks; repeatable."),
    ] = None,
    known_failures: Annotated[
        bool,
        Option("--known-failures", "Of a run of conform: print only the [[known_failure]] tables that clients lack."),
    ] = False,
    verbose: Annotated[bool, Option("--verbose", "Print all notes, not only the five most serious.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Print the table of a run and write its page: one HTML file that needs no network."""
    from httpdyno.cli.output import print_run, write_report
    from httpdyno.experiments.registry import definition_of
    from httpdyno.runs.showing import build_report, check_columns, shown_tables

    if together and matrix is None:
        raise UsageError("--with: it adds a run to the matrix; add --matrix FILE")
    opened = open_named_run(run, runs)
    if matrix is not None or known_failures:
        _report_conform(opened, matrix, [open_named_run(name, runs) for name in together or ()], known_failures)
        return
    definition = definition_of(opened.manifest.experiment)
    check_columns(definition, columns)
    if schema:
        from httpdyno.report.formats.json import experiment_schema

        (table,) = shown_tables(opened, "json")
        with ignore_closed_pipe():
            sys.stdout.write(experiment_schema(table.columns, opened.manifest.experiment))
            sys.stdout.flush()
        return
    print_run(opened, format or "table", columns, verbose=verbose)
    wants_page = html is not None or (format is None and charts is None)
    if not wants_page and charts is None:
        return
    page = None if charts is None else build_report(opened, definition)
    if wants_page:
        tell(f"report: {write_report(opened, html, page)}")
    if charts is not None and page is not None:
        from httpdyno.report.charts import png, svg
        from httpdyno.report.charts.canvas import LIGHT, Canvas

        drawn = {}
        for chart in page.charts:
            drawn[f"{chart.name}.svg"] = svg(chart, Canvas(_CHART_WIDTH, LIGHT)).encode()
            drawn[f"{chart.name}.png"] = png(chart, Canvas(_CHART_WIDTH, LIGHT))
        with storage_errors(
            f"{charts}: charts cannot be written", folder=charts, cure="name another folder: --charts DIR"
        ):
            charts.mkdir(parents=True, exist_ok=True)
            for name, content in drawn.items():
                (charts / name).write_bytes(content)
        tell(f"charts: {charts}")


def _report_conform(run: "Run", matrix: Path | None, others: "Sequence[Run]", known_failures: bool) -> None:
    """Write the matrix of a run of ``conform``, or print the known failures that its clients lack."""
    from httpdyno.cli.conform import write_matrix

    if matrix is not None:
        write_matrix(matrix, *others, run)
    if known_failures:
        _print_known_failures(run)


def _print_known_failures(run: "Run") -> None:
    """Print what the ``subject.toml`` of each client of a run of ``conform`` lacks."""
    from httpdyno.judge.scripted.summary import propose_known_failures
    from httpdyno.lab.conformance import results_of

    if "scripted_cases" not in run.manifest.settings:
        raise UsageError(f"--known-failures: {run.folder} has no scripted cases; make such a run: httpdyno conform")
    trials = run.records()
    with ignore_closed_pipe():
        for subject in run.manifest.subjects:
            own = results_of([trial for trial in trials if trial.subject == subject.id])
            if tables := propose_known_failures(own):
                sys.stdout.write(f"# {subject.folder}/subject.toml\n{tables}\n")
        sys.stdout.flush()


@verb(
    "judge",
    examples=(
        ("httpdyno judge latest", "compare with the rules of this version"),
        ("httpdyno judge previous --format json", "what changes, for programs"),
    ),
)
def judge(
    run: RunName = LATEST,
    format: Format = "table",  # noqa: A002
    write: Annotated[bool, Option("--write", "Replace the run's records by the new ones.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Judge a stored run again by the rules of this version, and print what changes.

    A run keeps the output of its trials (--artifacts) and the right answers; no new trial runs. Without --write the
    run does not change.
    """
    from httpdyno.lab.engine import Engine
    from httpdyno.model import counted
    from httpdyno.runs.artifacts import changes_table, judge_again, write_again
    from httpdyno.subjects.engine_program import find_engine

    opened = open_named_run(run, runs)
    judged = list(judge_again(opened, Engine(find_engine())))
    changes = changes_table(judged)
    if changes.rows or format in ("json", "csv"):
        print_tables([changes], format)
    changed = len({row[0] for row in changes.rows})
    kept = len(opened.trials) + len(opened.ceilings)
    without = f"; {counted(kept - len(judged), 'trial')} of the run left no artifacts" if kept > len(judged) else ""
    if write and changes.rows:
        write_again(opened, judged)
    written = "; the run now has the new records" if write and changes.rows else ""
    tell(f"{counted(len(judged), 'trial')} judged again: {changed or 'none'} changed{without}{written}")
