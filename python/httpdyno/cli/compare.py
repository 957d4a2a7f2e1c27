"""``httpdyno compare`` and ``httpdyno published``: compare runs with each other, and with published figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from click.exceptions import Exit

from httpdyno.cli.completion import offer_metrics, offer_published, offer_run_subjects, offer_runs
from httpdyno.cli.options import LATEST, RUN_HELP, Format, RunsFolder, open_named_run
from httpdyno.cli.terminal import print_tables, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import CheckFailed, NothingMeasured, UsageError
from httpdyno.experiments.option_fields import Option


@verb(
    "compare",
    examples=(
        ("httpdyno compare previous latest", "what changed, and how sure that is"),
        ("httpdyno compare latest --baseline go-net-http", "all against one"),
        ("httpdyno compare previous latest --fail-if 'right_per_s < -5%'", "for CI: exit code 1 if slower"),
    ),
)
def compare(
    first: Annotated[str, Option("RUN_A", f"The run to compare with: {RUN_HELP}.", offers=offer_runs)] = LATEST,
    second: Annotated[
        str | None,
        Option(
            "RUN_B", "The run to compare. Default: compare the subjects of RUN_A with each other.", offers=offer_runs
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        Option(
            "--metric METRIC",
            "Compare by this figure; repeatable. Default: the figures by which the experiment compares.",
            offers=offer_metrics,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        Option(
            "--fail-if CHANGE",
            "Exit with 1 when the whole interval of a change is beyond this, as 'right_per_s < -5%'; may be"
            " given several times.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        Option(
            "--baseline SUBJECT", "Within one run: compare all other subjects with this one.", offers=offer_run_subjects
        ),
    ] = None,
    anyway: Annotated[
        bool, Option("--anyway", "Compare runs even if their machines, webs or settings differ.")
    ] = False,
    runs: RunsFolder = Path("runs"),
    format: Format = "table",  # noqa: A002
) -> None:
    """Print what changed from run A to run B, or how the subjects of one run differ, and how sure that is.

    Without a run it compares the subjects of the latest one. The first line is the verdict in words.
    """
    from httpdyno.experiments.registry import definition_of
    from httpdyno.judge.comparison import find_rankable, parse_threshold
    from httpdyno.runs.comparison import compare_two_runs, compare_within_run
    from httpdyno.runs.showing import read_by_programs

    if second is not None and baseline is not None:
        raise UsageError(
            "--baseline conflicts with a second run: of two runs the first is the baseline; leave out one of the two"
        )
    a = open_named_run(first, runs)
    b = None if second is None else open_named_run(second, runs)
    presentation = definition_of(a.manifest.experiment).presentation
    with _name_option("--fail-if"):
        thresholds = [parse_threshold(change, presentation.metrics) for change in fail_if or ()]
    with _name_option("--metric"):
        found = [find_rankable(presentation.metrics, name) for name in metric or ()]
    found += [threshold.metric for threshold in thresholds]
    metrics = list({one.name: one for one in found or presentation.compared_metrics}.values())
    if b is None:
        compared = compare_within_run(a, metrics, thresholds, baseline=baseline)
    else:
        compared = compare_two_runs(a, b, metrics, thresholds, anyway=anyway)
    if read_by_programs(format):
        print_tables([compared.table], format)
    else:
        # Tables in this format have no titles.
        print_tables(compared.views, format, first_line=compared.verdict if format == "plain" else "")
    for line in (*compared.failures, *(compared.unjudged if thresholds else ())):
        tell(line)
    if compared.failures:
        raise Exit(CheckFailed.exit_code)
    for threshold in thresholds:
        if threshold.metric.name not in compared.judged:
            raise NothingMeasured(f"--fail-if {threshold.text!r}: no comparison can be judged by it; see the verdicts")


@contextmanager
def _name_option(option: str) -> Iterator[None]:
    """Name the option in messages about its value."""
    try:
        yield
    except UsageError as error:
        raise type(error)(error.line, option=option) from error


@verb(
    "published",
    examples=(
        ("httpdyno published", "list the tables"),
        ("httpdyno published crawl", "one table, with its source and machine"),
        ("httpdyno published crawl --compare latest", "a run compared with it"),
    ),
)
def published(
    name: Annotated[str | None, Option("NAME", "A table. Default: list them.", offers=offer_published)] = None,
    compared: Annotated[
        str | None, Option("--compare RUN", f"Compare this run with the table: {RUN_HELP}.", offers=offer_runs)
    ] = None,
    format: Format = "table",  # noqa: A002
    runs: RunsFolder = Path("runs"),
    beside: Annotated[str | None, Option("--beside RUN", "The former name of --compare.", hidden=True)] = None,
) -> None:
    """List published tables; print one with its source, or compare a run with it."""
    from httpdyno.cli.output import print_reserved
    from httpdyno.published import published_listing, published_table

    compared = compared or beside
    if name is None:
        if compared is not None:
            raise UsageError("--compare requires the name of a table; `httpdyno published` lists them")
        print_tables([published_listing()], format)
    elif compared is None:
        print_tables([published_table(name).as_table()], format)
    else:
        from httpdyno.experiments.published import compare_run
        from httpdyno.experiments.registry import definition_of
        from httpdyno.report.sections.reservation import table_reservations
        from httpdyno.runs.showing import read_by_programs, reserved

        table, run = published_table(name), open_named_run(compared, runs)
        definition = definition_of(run.manifest.experiment).for_run(run.manifest.settings)
        comparison = compare_run(run, definition, table, for_programs=read_by_programs(format))
        notes = table_reservations(run.manifest, run.records())
        print_reserved(reserved((comparison,), notes, format), lambda: notes, format)
