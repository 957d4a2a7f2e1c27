"""What is written to a terminal: consoles for results and for messages, and lines of our own."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from httpdyno.report.cell import without_controls

__all__ = ["messages", "reader_may_leave", "results", "silence", "tell"]


class _Results(Console):
    def on_broken_pipe(self) -> None:
        """End the command quietly: whoever read the lines has seen enough."""
        silence()
        raise SystemExit(0)


def results() -> Console:
    """Return the console on stdout: colour only when it is a terminal, nothing folded or highlighted."""
    return _Results(highlight=False, soft_wrap=True, emoji=False, markup=False)


def messages() -> Console:
    """Return the console on stderr, for progress and messages."""
    return Console(stderr=True, highlight=False, emoji=False, markup=False)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Let whoever reads stdout leave before the end, as in ``httpdyno urls plain | head -1``: that is no error."""
    try:
        yield
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Write to stdout no more."""
    # Not closed: Python flushes stdout once more at its end, which must not fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def tell(line: str) -> None:
    """Write one line of our own to stderr; what it quotes of strangers cannot command the terminal."""
    sys.stderr.write(f"httpdyno: {without_controls(line)}\n")
    sys.stderr.flush()
