"""``httpdyno try``: run one client, show each URL as it completes, then the figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from httpdyno.cli.completion import naming
from httpdyno.cli.experiment_verb import option_parameters, verb_of
from httpdyno.cli.options import Columns, Cpus, Format, SubjectFolders
from httpdyno.cli.terminal import check_format, messages, results, tell
from httpdyno.experiments.crawl.options import NAME, BenchOptions, CrawlOptions
from httpdyno.experiments.options import read_options
from httpdyno.lab.interruption import Interruption
from httpdyno.model import SubjectKind


def _try(_: typer.Context, typed: Mapping[str, Any]) -> None:
    from httpdyno.cli.display import ResultLines, Spectator
    from httpdyno.cli.output import close_run, print_reserved
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.cli.running import begin_agreed
    from httpdyno.experiments.beginning import Beginning
    from httpdyno.experiments.crawl.beginning import begin_crawl
    from httpdyno.experiments.registry import definition_of
    from httpdyno.report.sections.reservation import memory_reservations
    from httpdyno.runs.run import measure
    from httpdyno.runs.showing import check_columns, reserved, tables_of

    format_name = typed["format"]
    check_format(format_name)
    definition = definition_of(NAME)
    check_columns(definition, typed["columns"])
    catalogue, ids = read_named_subjects([typed["names"]], typed["subjects"])
    chosen = catalogue.select_of_kind(ids, SubjectKind.CLIENT)
    options = BenchOptions(**read_options(CrawlOptions, typed), repeat=1, no_again=True)
    place, interruption = make_place(typed["cpus"], None), Interruption()
    begun = begin_crawl(Beginning(catalogue, place, interruption, tell), chosen, options, piped=True)
    # Machine-readable figures must not be mixed with lines.
    lines = ResultLines(results(), raw=format_name == "plain") if format_name in {"plain", "table"} else None
    with (
        interruption,
        begin_agreed(begun, place, interruption, agreed=options.yes, runs_if_stopped=Path("runs")) as run,
        Spectator(messages(), lines) as spectator,
    ):
        measured = measure(run, spectator, interruption)
        if lines:
            lines.finish()
    notes = memory_reservations(measured.trials)
    if format_name == "plain":
        for note in notes:
            tell(note.text)
    else:
        tables = tables_of(definition, measured.trials, {}, format_name, typed["columns"])
        print_reserved(reserved(tables, notes, format_name), notes, format_name)
    close_run(measured)


_name = typer.Argument(
    metavar="SUBJECT",
    help="A client: its name, such as go-net-http, or the path of its folder.",
    autocompletion=naming([SubjectKind.CLIENT]),
)
try_subject = verb_of(
    _try,
    [
        ("names", Annotated[str, _name], ...),
        *option_parameters(CrawlOptions),
        ("cpus", Cpus, None),
        ("format", Format, "table"),
        ("columns", Columns, None),
        ("subjects", SubjectFolders, None),
    ],
    help="""Run one client and print a line for each URL as it completes, then the figures.

    URLs come from --urls, else from what is piped in, else from the web; --limit takes the first of them. With --format
    plain the client's own lines are printed and nothing else.
    """,
)
