"""The line that tells how a load is doing, in a terminal; nothing anywhere else. Imports next to nothing."""

import os
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from httpdyno.experiments.load.progress import LoadProgress

__all__ = ["LoadLine"]

_CLEAR = "\r\x1b[2K"
_WIDTH = 80


class LoadLine:
    """Writes one line over and over; clears it at the end of the block."""

    def __init__(self, stream: IO[str], repeat: int = 1) -> None:
        self.shown = stream.isatty() and os.environ.get("TERM") != "dumb"
        """Whether there is a terminal to show it in."""
        self._stream = stream
        self._repeat = repeat
        self._place = ""
        self._last = ""

    def trial_begins(self, number: int) -> None:
        """Handle the number of the trial that begins, from 0."""
        self._place = f"{number + 1} of {self._repeat}: " if self._repeat > 1 else ""

    def load_progress(self, progress: "LoadProgress") -> None:
        """Show how far it is."""
        self._write(self._place + line_of(progress))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _write(self, text: str) -> None:
        try:
            width = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            width = _WIDTH
        # A line that is as wide as the terminal would begin another one.
        self._last = text[: max(width - 1, 0)]
        self._stream.write(_CLEAR + self._last)
        self._stream.flush()


def line_of(progress: "LoadProgress") -> str:
    """Describe in one line how a load is doing."""
    from httpdyno.model import format_time

    parts = [f"{progress.elapsed_s:.1f} s", f"{progress.requests_per_s:,.0f}/s", f"{progress.requests:,} answers"]
    if progress.errors:
        parts.append(f"{progress.errors:,} error{'' if progress.errors == 1 else 's'}")
    if progress.p50_ns is not None:
        parts.append(f"p50 {format_time(progress.p50_ns)}")
    if progress.p99_ns is not None:
        parts.append(f"p99 {format_time(progress.p99_ns)}")
    return ", ".join([*parts, f"{progress.open:,} open"])
