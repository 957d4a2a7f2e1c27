"""What is written to a terminal: consoles for results and for messages, and lines of our own."""

import sys

from rich.console import Console

from httpdyno.report.cell import without_controls

__all__ = ["messages", "results", "tell"]


def results() -> Console:
    """Give the console on stdout: colour only when it is a terminal, nothing folded or highlighted."""
    return Console(highlight=False, soft_wrap=True, emoji=False, markup=False)


def messages() -> Console:
    """Give the console on stderr, for progress and messages."""
    return Console(stderr=True, highlight=False, emoji=False, markup=False)


def tell(line: str) -> None:
    """Write one line of our own to stderr; what it quotes of strangers cannot command the terminal."""
    sys.stderr.write(f"httpdyno: {without_controls(line)}\n")
    sys.stderr.flush()
