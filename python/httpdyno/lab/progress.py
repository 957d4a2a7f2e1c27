"""What the engine tells while a trial runs: one JSON object a line, about five a second."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

__all__ = ["Progress", "ProgressReader", "parse_progress"]

_Told = TypeVar("_Told")
_LONGEST: Final = 64 * 1024
"""What is longer is no line of progress."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is, as the origin sees it."""

    phase: str
    """``preparing``, ``running`` or ``done``."""
    elapsed_ns: int
    """Since the exec of the subject."""
    requests: int
    """Requests that have reached the origin, redirects included."""
    requests_expected: int | None
    """Requests that a correct client sends in all; None when nobody knows."""
    sent_bytes: int

    @property
    def share(self) -> float | None:
        """How much is done, 0 to 1; None when nobody knows."""
        if not self.requests_expected:
            return None
        return min(self.requests / self.requests_expected, 1.0)

    @property
    def requests_per_s(self) -> float | None:
        """Requests a second since the start; None before any time has passed."""
        return self.requests / self.elapsed_ns * 1e9 if self.elapsed_ns > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the expected requests are done at the rate so far; None when nobody can tell."""
        rate = self.requests_per_s
        if not rate or self.requests_expected is None:
            return None
        return max(self.requests_expected - self.requests, 0) / rate


def parse_progress(line: bytes) -> Progress | None:
    """Read one line; None when it is no progress, as progress must never stop a trial."""
    try:
        values = json.loads(line)
        expected = values["requests_expected"]
        return Progress(
            phase=str(values["phase"]),
            elapsed_ns=int(values["elapsed_ns"]),
            requests=int(values["requests"]),
            requests_expected=None if expected is None else int(expected),
            sent_bytes=int(values["sent_bytes"]),
        )
    except (ValueError, TypeError, KeyError):
        return None


class ProgressReader(Generic[_Told]):
    """Puts lines together from whatever pieces the pipe delivers."""

    def __init__(self, parse: Callable[[bytes], _Told | None]) -> None:
        """Keep what reads one line, which gives None for what is no progress."""
        self._parse = parse
        self._rest = b""

    def feed(self, piece: bytes) -> list[_Told]:
        """Handle a piece; give the progress of the lines that it completes."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[: _LONGEST + 1]
        return [progress for progress in map(self._parse, lines) if progress is not None]
