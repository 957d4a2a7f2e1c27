"""Observers of a running trial: its progress, a silent client, its output."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from httpdyno.judge import Expectations

_Parsed = TypeVar("_Parsed")
_LONGEST: Final = 64 * 1024
"""Longest line of progress."""
_PATIENCE_S: Final = 30.0
_PIECE: Final = 1 << 20


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
    """Requests that a correct client sends in all; None if unknown."""
    sent_bytes: int

    @property
    def share(self) -> float | None:
        """The share that is done, 0 to 1; None if unknown."""
        if not self.requests_expected:
            return None
        return min(self.requests / self.requests_expected, 1.0)

    @property
    def requests_per_s(self) -> float | None:
        """Requests a second since the start; None before any time has passed."""
        return self.requests / self.elapsed_ns * 1e9 if self.elapsed_ns > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the expected requests are done at the rate so far; None if unknown."""
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


class ProgressReader(Generic[_Parsed]):
    """Reader of progress that joins the pieces of a pipe to lines."""

    def __init__(self, parse: Callable[[bytes], _Parsed | None]) -> None:
        """Keep the parser of one line, which returns None when the line is no progress."""
        self._parse = parse
        self._rest = b""

    def feed(self, piece: bytes) -> list[_Parsed]:
        """Add a piece; return the progress of the lines that it completes."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[: _LONGEST + 1]
        return [progress for progress in map(self._parse, lines) if progress is not None]


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
    """Watch of the file that a client prints into, for silences."""

    def __init__(self, output: Path, urls: Path, deadline_s: float) -> None:
        """Keep the file it prints into, the list of URLs, and the deadline."""
        self._output = output
        self._urls = urls
        self._deadline_s = deadline_s
        self._started_s: float | None = None
        self._size = 0
        self._since_s = 0.0
        self._reported = False

    def look(self, now_s: float) -> Silence | None:
        """Look at a moment; return a silence of half a minute, once, until a line breaks it."""
        size = self._output.stat().st_size
        if self._started_s is None:
            self._started_s = self._since_s = now_s
        if size != self._size:
            self._size, self._since_s, self._reported = size, now_s, False
        silent_s = now_s - self._since_s
        if self._reported or silent_s < _PATIENCE_S:
            return None
        self._reported = True
        left_s = max(self._deadline_s - (now_s - self._started_s), 0.0)
        return Silence(silent_s, _lines(self._output), _lines(self._urls), left_s)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE), b""))


class Observer(Protocol):
    """Observer of a running trial; must be quick, because it runs on the CPUs of the engine."""

    @property
    def wants_output(self) -> bool:
        """Whether the subject's output is read while it runs."""

    def expected(self, expectations: Expectations) -> None:
        """Handle the expected answers of a client, before it starts."""

    def progress(self, progress: Progress) -> None:
        """Handle news of how far the trial is."""

    def output(self, piece: bytes) -> None:
        """Handle a piece of the subject's output."""

    def silent(self, silence: Silence) -> None:
        """Handle a client that has not printed a line for a while."""


@dataclass(slots=True)
class KeptOutput:
    """Observer that keeps the output of the subject, and ignores everything else."""

    printed: bytearray = field(default_factory=bytearray)
    wants_output: bool = True

    @property
    def text(self) -> str:
        """What was printed; bytes that are no UTF-8 are replaced."""
        return self.printed.decode(errors="replace")

    def expected(self, expectations: Expectations) -> None:
        """Ignore it."""

    def progress(self, progress: Progress) -> None:
        """Ignore it."""

    def output(self, piece: bytes) -> None:
        """Keep the piece."""
        self.printed += piece

    def silent(self, silence: Silence) -> None:
        """Ignore it: the trial has a deadline."""
