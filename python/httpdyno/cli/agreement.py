"""Asks a user before something is done that cannot be taken back."""

import sys
from collections.abc import Sequence

from httpdyno.cli.terminal import tell
from httpdyno.errors import Interrupted, UsageError
from httpdyno.lab.interruption import Interruption

__all__ = ["ask"]


def ask(
    lines: Sequence[str],
    interruption: Interruption,
    *,
    agreed: bool,
    asks: str = "--web live asks before it starts",
    declined: str = "not begun: nothing was sent",
) -> None:
    """Print what will be done, and ask whether it may; without a terminal it must be agreed to already."""
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
