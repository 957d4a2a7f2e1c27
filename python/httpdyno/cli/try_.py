"""``httpdyno try``: run one client, show each URL as it completes, then the figures."""

from pathlib import Path
from typing import Any, Final

from httpdyno.cli.completion import offering_kinds
from httpdyno.cli.options import GROUPS, RunOptions
from httpdyno.cli.terminal import messages, results, tell
from httpdyno.cli.verb import REQUIRED, VerbCommand, make_parameter, option_parameters
from httpdyno.experiments.crawl.options import NAME, BenchOptions, CrawlOptions
from httpdyno.experiments.option_fields import Option, read_options
from httpdyno.lab.interruption import Interruption
from httpdyno.model import SubjectKind


def _try(**typed: Any) -> None:  # noqa: ANN401
    from httpdyno.cli.display import Display, ResultLines
    from httpdyno.cli.output import close_run, print_reserved
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.cli.running import begin_agreed
    from httpdyno.experiments.crawl.plan import begin_crawl
    from httpdyno.experiments.experiment import Beginning
    from httpdyno.experiments.registry import definition_of
    from httpdyno.judge.notes import unlimited_notes
    from httpdyno.model import Note
    from httpdyno.runs.run import measure
    from httpdyno.runs.showing import check_columns, reserved, tables_of

    format_name = typed["format"]
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
        Display(messages(), quiet=True, lines=lines) as display,
    ):
        measured = measure(run, display, interruption)
        if lines:
            lines.finish()
    notes = tuple(map(Note, unlimited_notes(measured.trials)))
    if format_name == "plain":
        for note in notes:
            tell(note.text)
    else:
        tables = tables_of(definition, measured.trials, {}, format_name, typed["columns"])
        print_reserved(reserved(tables, notes, format_name), lambda: notes, format_name)
    close_run(measured)


_NAME: Final = Option(
    "SUBJECT",
    "A client: its name, such as go-net-http, or the path of its folder.",
    offers=offering_kinds([SubjectKind.CLIENT]),
)
try_subject = VerbCommand(
    "try",
    _try,
    [
        make_parameter("names", str, _NAME, REQUIRED),
        *option_parameters(CrawlOptions),
        *option_parameters(RunOptions, "cpus", "format", "columns", "subjects"),
    ],
    """Run one client and print a line for each URL as it completes, then the figures.

    URLs come from --urls, else from standard input, else from the web; --limit takes the first of them. With --format
    plain the client's own lines are printed and nothing else.
    """,
    examples=(
        ("httpdyno try go-net-http --limit 500", "a line for each URL as it ends"),
        ("cat urls.txt | httpdyno try python-aiohttp", "a list of your own"),
        ("httpdyno try node-fetch --limit 500 --format plain", "the client's own output"),
    ),
    groups=GROUPS,
)
