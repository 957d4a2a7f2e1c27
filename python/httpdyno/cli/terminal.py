"""Output on a terminal and questions to its user: consoles, messages, tables.

Help and completion import this module: the printing code is imported only to print.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from httpdyno.errors import Interrupted, UsageError
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from rich.console import Console

    from httpdyno.model import Table


def results() -> "Console":
    """Return the console on stdout: colour only on a terminal, no folded lines, no highlights."""
    from rich.console import Console

    class Results(Console):
        def on_broken_pipe(self) -> None:
            """End the command quietly when the reader of stdout has closed it."""
            silence()
            raise SystemExit(0)

    return Results(highlight=False, soft_wrap=True, emoji=False, markup=False)


def messages() -> "Console":
    """Return the console on stderr, for progress and messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False, markup=False)


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """Ignore that the reader closes stdout early, as in ``httpdyno urls plain | head -1``."""
    try:
        yield
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Discard all further output to stdout."""
    # stdout stays open: Python flushes it once more when it ends, which must not fail.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def tell(line: str) -> None:
    """Write one line to stderr, with control characters escaped."""
    from httpdyno.report.cell import without_controls

    sys.stderr.write(f"httpdyno: {without_controls(line)}\n")
    sys.stderr.flush()


def print_marked(mark: str, text: str, colour: str | None = None) -> None:
    """Write a text to stdout behind a coloured mark, with control characters escaped."""
    from httpdyno.report.cell import without_controls

    console = results()
    console.out(f"{mark:<8}", style=colour, end="")
    console.out(without_controls(text))


def print_tables(tables: Iterable["Table"], format_name: str, *, first_line: str = "") -> None:
    """Write ``first_line``, if any, and tables to stdout, with an empty line between tables."""
    from httpdyno.report.formats import Surface, render

    surface = Surface.of(sys.stdout)
    texts = [render(table, format_name, surface) for table in tables]
    with ignore_closed_pipe():
        sys.stdout.write((f"{first_line}\n\n" if first_line else "") + "\n".join(texts))
        sys.stdout.flush()


def ask(
    lines: Sequence[str],
    interruption: Interruption,
    *,
    agreed: bool,
    asks: str = "--web live asks before it starts",
    declined: str = "not started: nothing was sent",
) -> None:
    """Print what will be done and ask for consent; without a terminal, ``--yes`` must have given it."""
    if not agreed and not (sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()):
        raise UsageError(f"{asks}, and there is no terminal to ask at; give --yes to agree")
    for line in lines:
        tell(line)
    if agreed:
        return
    with interruption.at_once("the question was open"):
        sys.stderr.write("Continue? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in {"y", "yes"}:
        raise Interrupted(declined)
