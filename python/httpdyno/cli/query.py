"""``httpdyno query``: SQL over all stored runs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from httpdyno.cli.completion import offer_runs
from httpdyno.cli.options import RUN_HELP, Format, RunsFolder
from httpdyno.cli.terminal import ignore_closed_pipe, print_tables, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import UnreadableRun, UsageError
from httpdyno.experiments.option_fields import Option
from httpdyno.standard_input import standard_input

if TYPE_CHECKING:
    from httpdyno.store import Run
    from httpdyno.store.query import Answer


MOST_SHOWN: Final = 10_000
"""Most rows of a table in text formats, which need all rows to align the columns."""


@verb(
    "query",
    examples=(
        ("httpdyno query 'select subject, right_per_s from trials'", "all runs"),
        ("httpdyno query 'select * from samples' --run latest --format csv", "each URL of the latest"),
        ("httpdyno query - < question.sql", "from a file"),
    ),
)
def query(
    sql: Annotated[
        str | None,
        Option("SQL", "A query over the tables runs, trials, ceilings and samples; - reads it from standard input."),
    ] = None,
    columns: Annotated[
        bool, Option("--columns", "List the tables and their columns, with type, unit and meaning.")
    ] = False,
    run: Annotated[list[str] | None, Option("--run RUN", f"Only this run: {RUN_HELP}.", offers=offer_runs)] = None,
    runs: RunsFolder = Path("runs"),
    format: Format = "table",  # noqa: A002
) -> None:
    """Query all runs in a folder with SQL.

    The tables trials and samples have the columns of the records and, before them, run; trials has the figures of a
    table too, such as right_per_s or cpu_per_right_ms. --columns lists them all. Unreadable runs are named on
    stderr and left out; with --run they are an error.
    """
    from httpdyno.experiments.registry import figure_columns
    from httpdyno.report.stream import STREAMED, stream
    from httpdyno.runs.query_columns import trial_figures
    from httpdyno.store import polars_types
    from httpdyno.store.query import ask

    if columns:
        if sql is not None:
            raise UsageError("--columns conflicts with a query; leave out one of the two")
        from httpdyno.runs.query_columns import columns_table

        print_tables([columns_table(_open_runs(run, runs))], format)
        return
    opened = _open_runs(run, runs)
    answer = ask(opened, _text(sql), polars_types(figure_columns().values()), trial_figures())
    if not opened:
        tell(f"{runs}: no runs in this folder; make one with: httpdyno bench")
    with ignore_closed_pipe():
        for piece in stream(answer.columns, answer.batches, format) if format in STREAMED else _table(answer, format):
            sys.stdout.write(piece)
        sys.stdout.flush()


def _open_runs(names: list[str] | None, runs: Path) -> "dict[str, Run]":
    from httpdyno.store import find_run, run_folders
    from httpdyno.store.folder import foreign_folders
    from httpdyno.store.query import open_runs

    def refuse(error: UnreadableRun) -> None:
        raise error

    if names:
        return open_runs([find_run(name, runs) for name in dict.fromkeys(names)], refuse)
    folders = [*reversed(run_folders(runs)), *foreign_folders(runs)]
    return open_runs(folders, lambda error: tell(f"left out: {error.line}"))


def _text(sql: str | None) -> str:
    if sql is None and standard_input().isatty():
        raise UsageError("query: missing; write it like: httpdyno query 'select subject, right_per_s from trials'")
    if sql not in {None, "-"}:
        return str(sql)
    try:
        return standard_input().read()
    except UnicodeDecodeError as error:
        raise UsageError("the query on standard input is not UTF-8 text; encode it as UTF-8") from error


def _table(answer: "Answer", format_name: str) -> Iterator[str]:
    import polars as pl

    from httpdyno.report.formats import Surface, render
    from httpdyno.report.stream import frame_table

    frame = pl.DataFrame(schema=answer.columns)
    for batch in answer.batches:
        frame = pl.concat([frame, batch])
        if len(frame) > MOST_SHOWN:
            break
    notes = (f"the first {MOST_SHOWN:,} rows; --format csv or json gives all",) if len(frame) > MOST_SHOWN else ()
    yield render(frame_table(frame.head(MOST_SHOWN), notes), format_name, Surface.of(sys.stdout))
