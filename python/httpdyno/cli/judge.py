"""``httpdyno judge``: judges a run again, from what its trials wrote."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.options import LATEST, Format, RunName, RunsFolder, open_named_run
from httpdyno.cli.terminal import check_format, print_table, tell

__all__ = ["judge"]


def judge(
    run: RunName = LATEST,
    format: Format = "table",  # noqa: A002
    write: Annotated[bool, typer.Option("--write", help="Replace the run's records by the new ones.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Judge a stored run again by the rules of this version, and print what changes.

    A run keeps what its trials wrote (--artifacts), and the truth that they were judged by. Nothing is measured. The
    run stays as it is without --write.
    """
    from httpdyno.lab.engine import Engine
    from httpdyno.lab.location import find_engine
    from httpdyno.model import counted
    from httpdyno.runs.artifacts import changes_table, judge_again, write_again

    check_format(format)
    opened = open_named_run(run, runs)
    judged = list(judge_again(opened, Engine(find_engine())))
    changes = changes_table(judged)
    if changes.rows or format in ("json", "csv"):
        print_table(changes, format)
    changed = len({row[0] for row in changes.rows})
    kept = len(opened.trials) + len(opened.ceilings)
    without = f"; {counted(kept - len(judged), 'trial')} of the run left no artifacts" if kept > len(judged) else ""
    if write and changes.rows:
        write_again(opened, judged)
    written = "; the run has the new records" if write and changes.rows else ""
    tell(f"{counted(len(judged), 'trial')} judged again: {changed or 'none'} changed{without}{written}")
