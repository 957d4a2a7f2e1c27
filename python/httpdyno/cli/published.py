"""``httpdyno published``: figures that others have published, on their own or beside a run."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import complete_published, complete_runs
from httpdyno.cli.options import Format
from httpdyno.cli.run_argument import RUN_HELP, RunsFolder, open_named_run
from httpdyno.cli.tables import check_format, print_table
from httpdyno.errors import UsageError

__all__ = ["published"]


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
