"""Observer of a running trial: its progress, a silent client, its output."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from httpdyno.judge import Expectations

_LONGEST: Final = 64 * 1024
"""Longest line of progress."""
_PATIENCE_S: Final = 30.0
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a trial, as counted by the origin."""

    phase: str
    """``preparing``, ``running`` or ``done``."""
    elapsed_ns: int
    """Time since the exec of the subject."""
    requests: int
    """Requests that have reached the origin, including redirects."""
    requests_expected: int | None
    """Requests that a correct client sends in all; None if unknown."""
    sent_bytes: int

    @property
    def requests_per_s(self) -> float | None:
        """Requests a second since the start; None before any time has passed."""
        return self.requests / self.elapsed_ns * 1e9 if self.elapsed_ns > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the expected requests are done at the current mean rate; None if unknown."""
        rate = self.requests_per_s
        if not rate or self.requests_expected is None:
            return None
        return max(self.requests_expected - self.requests, 0) / rate


_PROGRESS: Final = TypeAdapter(Progress)


class ProgressReader:
    """Reader of progress that joins the pieces from a pipe into lines; it skips any other line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[Progress]:
        """Add a piece; return the progress of the lines that it completes."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[: _LONGEST + 1]
        read = []
        for line in lines:
            with suppress(ValidationError):
                read.append(_PROGRESS.validate_json(line))
        return read


@dataclass(frozen=True, slots=True)
class Silence:
    """Silence of a client, which prints nothing."""

    silent_s: float
    printed: int
    """Number of lines before it."""
    given: int
    """Number of the client's URLs."""
    left_s: float
    """Time until its deadline."""


@dataclass(slots=True)
class SilenceWatch:
    """Detects silences of a client in the file that it prints into."""

    output: Path
    urls: Path
    """The list of the client."""
    deadline_s: float
    _started_s: float | None = None
    _size: int = 0
    _since_s: float = 0.0
    _reported: bool = False

    def look(self, now_s: float) -> Silence | None:
        """Return a silence of half a minute, once, until a line ends it."""
        size = self.output.stat().st_size
        if self._started_s is None:
            self._started_s = self._since_s = now_s
        if size != self._size:
            self._size, self._since_s, self._reported = size, now_s, False
        silent_s = now_s - self._since_s
        if self._reported or silent_s < _PATIENCE_S:
            return None
        self._reported = True
        left_s = max(self.deadline_s - (now_s - self._started_s), 0.0)
        return Silence(silent_s, _count_lines(self.output), _count_lines(self.urls), left_s)


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE), b""))


class Observer(Protocol):
    """Observer of a running trial; must be quick, because it runs on the CPUs of the engine."""

    @property
    def wants_output(self) -> bool:
        """Whether it receives the subject's output during the trial."""

    def expected(self, expectations: Expectations) -> None:
        """Handle the expected answers of a client, before it starts."""

    def progress(self, progress: Progress) -> None:
        """Handle the progress of the trial."""

    def output(self, piece: bytes) -> None:
        """Handle a piece of the subject's output."""

    def silent(self, silence: Silence) -> None:
        """Handle the silence of a client."""
