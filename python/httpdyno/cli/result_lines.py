"""The lines of a client as people read them: ``[200] https://example.org/ : 123ms``, coloured by status.

One that is wrong is red, and says what the web has served: ``[200, 16383 B; served 16384] https://example.org/ : 9ms``.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import Console

from httpdyno.judge import Expectations
from httpdyno.judge.served import wrong_words
from httpdyno.report.cell import without_controls

__all__ = ["ReadableLine", "ResultLines", "line_colour", "readable_line"]

_COMMAS: Final = 4
_COLOURS: Final = {"2": "green", "3": "yellow", "4": "yellow"}
_STATUS_DIGITS: Final = 3


def line_colour(code: str) -> str:
    """Return the colour of a code: green 2xx, yellow 3xx and 4xx, red 5xx, errors and anything else."""
    status = len(code) == _STATUS_DIGITS and code.isascii() and code.isdigit()
    return _COLOURS.get(code[0], "red") if status else "red"


class ReadableLine(NamedTuple):
    """What people read of a line."""

    code: str
    url: str
    milliseconds: str
    length: int | None


def readable_line(line: str) -> ReadableLine | None:
    """Read a line of the client contract; None when it is no such line.

    The line is split at its last four commas, as a URL may contain commas.
    """
    fields = line.rsplit(",", _COMMAS)
    if len(fields) != _COMMAS + 1:
        return None
    url, code, _, duration, length = (field.strip() for field in fields)
    try:
        milliseconds = f"{float(duration):.0f}ms"
    except ValueError:
        return None
    return ReadableLine(code, url, milliseconds, int(length) if length.isascii() and length.isdigit() else None)


class ResultLines:
    """Prints lines as they come in, whatever pieces they come in."""

    def __init__(self, console: Console, *, raw: bool) -> None:
        """Keep the console to print to; raw prints the client's lines as they are: what a program wants to read."""
        self._console = console
        self._raw = raw
        self._rest = b""
        self._expectations: Expectations | None = None

    def expect(self, expectations: Expectations) -> None:
        """Hold lines against what must be reported."""
        self._expectations = expectations

    def feed(self, piece: bytes) -> None:
        """Handle a piece of output and print the lines that it completes."""
        *ended, self._rest = (self._rest + piece).split(b"\n")
        lines = [line.decode("utf-8", errors="replace").rstrip("\r") for line in ended]
        if self._raw:
            for line in lines:
                self._print_raw(line)
            return
        read = list(map(readable_line, lines))
        for line, parts, wrong in zip(lines, read, self._wrong(read), strict=True):
            self._print(line, parts, wrong)

    def finish(self) -> None:
        """Print a last line that has no line end."""
        if self._rest:
            self.feed(b"\n")

    def _wrong(self, lines: Sequence[ReadableLine | None]) -> list[str | None]:
        """Describe of each line what is wrong with it; None: nothing, or nobody knows."""
        if self._expectations is None:
            return [None] * len(lines)
        served = self._expectations.served([line.url if line else "" for line in lines])
        return [
            wrong_words(line.code, line.length, due) if line and due else None
            for line, due in zip(lines, served, strict=True)
        ]

    def _print_raw(self, line: str) -> None:
        try:
            self._console.file.write(f"{without_controls(line) if self._console.is_terminal else line}\n")
            self._console.file.flush()
        except BrokenPipeError:
            self._console.on_broken_pipe()

    def _print(self, line: str, parts: ReadableLine | None, wrong: str | None) -> None:
        if parts is None:
            if line.strip():
                red = "red" if self._console.is_terminal else None
                self._console.out(without_controls(line), style=red, highlight=False)
            return
        said, rest = (
            f"[{without_controls(wrong or parts.code)}]",
            f" {without_controls(parts.url)} : {parts.milliseconds}",
        )
        if wrong:
            self._console.out(said + rest, style="red", highlight=False)
            return
        self._console.out(said, style=line_colour(parts.code), highlight=False, end="")
        self._console.out(rest, highlight=False)
