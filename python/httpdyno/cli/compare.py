"""``httpdyno compare`` and ``httpdyno published``: runs against each other, and against published figures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_metrics, complete_published, complete_run_subjects, complete_runs
from httpdyno.cli.options import LATEST, RUN_HELP, Format, RunsFolder, open_named_run
from httpdyno.cli.terminal import check_format, print_table, print_tables, tell
from httpdyno.errors import CheckFailed, NothingMeasured, UsageError
from httpdyno.model import Metric

if TYPE_CHECKING:
    from httpdyno.experiments.definition import Definition
    from httpdyno.judge.comparison import Threshold

_UNTITLED: Final = frozenset({"plain"})
"""Formats that print no title of a table."""


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="RUN_A", help=f"The run to compare with: {RUN_HELP}.", autocompletion=complete_runs),
    ] = LATEST,
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_B",
            help="The run that is compared with it. Default: compare the subjects of RUN_A with each other.",
            autocompletion=complete_runs,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Compare by this figure; may be given several times. Default: what the experiment is compared by.",
            autocompletion=complete_metrics,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CHANGE",
            help="Exit with 1 when the whole interval of a change is beyond this, as 'right_per_s < -5%'; may be"
            " given several times.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="SUBJECT",
            help="Inside one run: compare all others with this one.",
            autocompletion=complete_run_subjects,
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs also when their machines, webs or settings differ.")
    ] = False,
    runs: RunsFolder = Path("runs"),
    format: Format = "table",  # noqa: A002
) -> None:
    """Print what changed from run A to run B, or how the subjects of one run differ, and how sure that is.

    Without a run it compares the subjects of the latest one. The first line is the verdict in words.
    """
    from httpdyno.experiments.registry import definition_of
    from httpdyno.runs.pair_comparison import compare_within_run
    from httpdyno.runs.run_comparison import compare_two_runs
    from httpdyno.runs.showing import read_by_programs

    check_format(format)
    if second is not None and baseline is not None:
        raise UsageError(
            "--baseline conflicts with a second run: of two runs the first is the baseline; leave out one of the two"
        )
    a = open_named_run(first, runs)
    b = None if second is None else open_named_run(second, runs)
    metrics, thresholds = _requested(definition_of(a.manifest.experiment), metric or (), fail_if or ())
    if b is None:
        compared = compare_within_run(a, metrics, thresholds, baseline=baseline)
    else:
        compared = compare_two_runs(a, b, metrics, thresholds, anyway=anyway)
    if read_by_programs(format):
        print_tables([compared.table], format)
    else:
        print_tables(compared.views, format, first_line=compared.verdict if format in _UNTITLED else "")
    for line in (*compared.failures, *(compared.unjudged if thresholds else ())):
        tell(line)
    if compared.failures:
        raise typer.Exit(CheckFailed.exit_code)
    for threshold in thresholds:
        if threshold.metric.name not in compared.judged:
            raise NothingMeasured(f"--fail-if {threshold.text!r}: nothing could be held against it; see the verdicts")


def _requested(
    definition: "Definition", names: "Sequence[str]", changes: "Sequence[str]"
) -> "tuple[list[Metric], list[Threshold]]":
    """Return the metrics that are asked for, those of thresholds included, and the thresholds."""
    from httpdyno.judge.comparison import find_rankable, parse_threshold

    with _name_option("--fail-if"):
        thresholds = [parse_threshold(change, definition.metrics) for change in changes]
    with _name_option("--metric"):
        named = [find_rankable(definition.metrics, name) for name in names]
    found = named + [threshold.metric for threshold in thresholds]
    return list({metric.name: metric for metric in found or definition.compared_metrics}.values()), thresholds


@contextmanager
def _name_option(option: str) -> Iterator[None]:
    """Name the option in the message of what is wrong with its value."""
    try:
        yield
    except UsageError as error:
        raise type(error)(f"{option}: {error.line}") from error


def published(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A table. Default: list them.", autocompletion=complete_published),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside", metavar="RUN", help=f"Print a run beside it: {RUN_HELP}.", autocompletion=complete_runs
        ),
    ] = None,
    format: Format = "table",  # noqa: A002
    runs: RunsFolder = Path("runs"),
) -> None:
    """List the tables that others have published; print one with its source, or with a run beside it."""
    from httpdyno.cli.output import print_reserved
    from httpdyno.published import published_listing, published_table

    check_format(format)
    if name is None:
        if beside is not None:
            raise UsageError("--beside: name the table, too; `httpdyno published` lists them")
        print_table(published_listing(), format)
    elif beside is None:
        print_table(published_table(name).as_table(), format)
    else:
        from httpdyno.experiments.published import run_beside
        from httpdyno.experiments.registry import definition_of
        from httpdyno.report.sections.reservation import table_reservations
        from httpdyno.runs.showing import read_by_programs, reserved

        table, run = published_table(name), open_named_run(beside, runs)
        definition = definition_of(run.manifest.experiment).for_run(run.manifest.settings)
        both = run_beside(run, definition, table, for_programs=read_by_programs(format))
        notes = table_reservations(run.manifest, run.records())
        print_reserved(reserved((both,), notes, format), notes, format)
