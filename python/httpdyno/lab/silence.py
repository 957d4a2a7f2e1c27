"""Notices while a trial runs that its client has not printed a line for a while."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Silence", "SilenceWatch"]

_PATIENCE_S: Final = 30.0
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Silence:
    """A client that prints nothing."""

    silent_s: float
    printed: int
    """Lines until then."""
    given: int
    """URLs that it was given."""
    left_s: float
    """Until its deadline."""


class SilenceWatch:
    """Looks at the file that a client prints into, from its start on."""

    def __init__(self, output: Path, urls: Path, deadline_s: float) -> None:
        """Keep where it prints, what it was given, and how long it may take."""
        self._output = output
        self._urls = urls
        self._deadline_s = deadline_s
        self._started_s: float | None = None
        self._size = 0
        self._since_s = 0.0
        self._told = False

    def look(self, now_s: float) -> Silence | None:
        """Look at a moment; return a silence of half a minute, once, until a line breaks it."""
        size = self._output.stat().st_size
        if self._started_s is None:
            self._started_s = self._since_s = now_s
        if size != self._size:
            self._size, self._since_s, self._told = size, now_s, False
        silent_s = now_s - self._since_s
        if self._told or silent_s < _PATIENCE_S:
            return None
        self._told = True
        left_s = max(self._deadline_s - (now_s - self._started_s), 0.0)
        return Silence(silent_s, _lines(self._output), _lines(self._urls), left_s)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE), b""))
