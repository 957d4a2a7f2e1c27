"""``httpdyno runs``: what has been measured."""

from pathlib import Path

from httpdyno.cli.options import Format, OutputFolder

__all__ = ["runs"]


def runs(out: OutputFolder = Path("runs"), format: Format = "table") -> None:  # noqa: A002
    """List the runs of a folder, the newest first."""
    from httpdyno.cli.output import check_format, print_table
    from httpdyno.experiments.past import runs_table

    check_format(format)
    print_table(runs_table(out), format)
