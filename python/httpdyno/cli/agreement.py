"""Asks a user before something is sent to the real internet."""

import sys
from collections.abc import Sequence

from httpdyno.cli.terminal import tell
from httpdyno.errors import Interrupted, UsageError
from httpdyno.lab.interruption import Interruption

__all__ = ["ask"]


def ask(lines: Sequence[str], interruption: Interruption, *, agreed: bool) -> None:
    """Print what will be sent, and ask whether it may; without a terminal it must be agreed to already."""
    if not agreed and not (sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()):
        raise UsageError("--web live asks before it starts, and there is no terminal to ask at; give --yes to agree")
    for line in lines:
        tell(line)
    if agreed:
        return
    with interruption.at_once("the question was open"):
        sys.stderr.write("Continue? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in {"y", "yes"}:
        raise Interrupted("not begun: nothing was sent")
