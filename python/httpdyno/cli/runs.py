"""``httpdyno runs``: what has been measured."""

from pathlib import Path

from httpdyno.cli.options import Format
from httpdyno.cli.run_argument import RunsFolder
from httpdyno.cli.tables import check_format, print_table
from httpdyno.cli.terminal import tell

__all__ = ["runs"]


def runs(runs: RunsFolder = Path("runs"), format: Format = "table") -> None:  # noqa: A002
    """List the runs of a folder, the newest first."""
    from httpdyno.runs.past import runs_table

    check_format(format)
    table, complaints = runs_table(runs)
    print_table(table, format)
    for complaint in complaints:
        tell(f"left out: {complaint}")
    if not table.rows:
        tell(f"{runs}: there are no runs in it; make one with: httpdyno bench")
