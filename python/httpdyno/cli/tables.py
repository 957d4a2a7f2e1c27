"""Tables on stdout, in the format that is asked for."""

import sys
from collections.abc import Iterable

from httpdyno.cli.terminal import reader_may_leave
from httpdyno.errors import UnknownName, suggestion
from httpdyno.model import Table
from httpdyno.report.formats import Surface, format_names, render

__all__ = ["check_format", "print_table", "print_tables"]


def check_format(name: str) -> None:
    """Refuse a format that no report has, before anything is measured."""
    known = format_names()
    if name not in known:
        raise UnknownName(f"--format: {name!r} is not known; {suggestion(name, known)}")


def print_table(table: Table, format_name: str) -> None:
    """Write a table to stdout."""
    print_tables([table], format_name)


def print_tables(tables: Iterable[Table], format_name: str, *, first_line: str = "") -> None:
    """Write tables to stdout, an empty line between them, and before them a first line if there is one."""
    surface = Surface.of(sys.stdout)
    texts = [render(table, format_name, surface) for table in tables]
    with reader_may_leave():
        sys.stdout.write((f"{first_line}\n\n" if first_line else "") + "\n".join(texts))
        sys.stdout.flush()
