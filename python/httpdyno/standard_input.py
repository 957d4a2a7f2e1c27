"""Standard input, which may be closed."""

import sys
from typing import TextIO

from httpdyno.errors import UsageError


def standard_input() -> TextIO:
    """Return standard input; ``UsageError`` where there is none."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("standard input is closed, and it was to be read; leave it open, or name a file")
    return sys.stdin
