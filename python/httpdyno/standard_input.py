"""Standard input, which may be closed."""

import sys
from typing import TextIO

from httpdyno.errors import UsageError


def standard_input() -> TextIO:
    """Return standard input; raise ``UsageError`` if it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("standard input is closed, but must be read; leave it open, or name a file")
    return sys.stdin
