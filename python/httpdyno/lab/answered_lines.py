"""Which URLs a client has answered, from whatever pieces its output comes in."""

from collections.abc import Callable
from typing import Final

__all__ = ["AnsweredLines"]

_COMMAS: Final = 4
_COMMAS_TRIED: Final = 16
_LONGEST: Final = 64 * 1024
"""A longer line is no result."""


class AnsweredLines:
    """Reads the URL of each line of output, and tells whoever waits for it.

    Parameters
    ----------
    answered : callable
        Gets a URL; says whether it was one that is waited for.
    """

    def __init__(self, answered: Callable[[bytes], bool]) -> None:
        self.rows = 0
        """Lines that were one."""
        self._answered = answered
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Handle a piece of output."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[: _LONGEST + 1]
        for line in lines:
            self.rows += self._is_answer(line)

    def _is_answer(self, line: bytes) -> bool:
        """Return of one line: its URL ends before the last four commas, or earlier when an error's text has commas."""
        fields = line.rsplit(b",", _COMMAS)
        if len(fields) <= _COMMAS or len(line) > _LONGEST:
            return False
        url = fields[0]
        for _ in range(_COMMAS_TRIED):
            if self._answered(url.strip()):
                return True
            url, comma, _ = url.rpartition(b",")
            if not comma:
                return False
        return False
