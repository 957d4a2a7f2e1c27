"""The lines of a client as people read them: ``[200] https://example.org/ : 123ms``, coloured by status."""

from typing import Final

from rich.console import Console

from httpdyno.report.cell import without_controls

__all__ = ["ResultLines", "line_colour", "readable_line"]

_COMMAS: Final = 4
_COLOURS: Final = {"2": "green", "3": "yellow", "4": "yellow"}
_STATUS_DIGITS: Final = 3


def line_colour(code: str) -> str:
    """Return the colour of a code: green 2xx, yellow 3xx and 4xx, red 5xx, errors and anything else."""
    status = len(code) == _STATUS_DIGITS and code.isascii() and code.isdigit()
    return _COLOURS.get(code[0], "red") if status else "red"


def readable_line(line: str) -> tuple[str, str, str] | None:
    """Return code, URL and duration of a line of the client contract; None when it is no such line.

    The line is split at its last four commas, as a URL may contain commas.
    """
    fields = line.rsplit(",", _COMMAS)
    if len(fields) != _COMMAS + 1:
        return None
    url, code, _, duration, _ = (field.strip() for field in fields)
    try:
        milliseconds = f"{float(duration):.0f}ms"
    except ValueError:
        return None
    return without_controls(code), without_controls(url), milliseconds


class ResultLines:
    """Prints lines as they come in, whatever pieces they come in."""

    def __init__(self, console: Console, *, raw: bool) -> None:
        """Keep the console to print to; raw prints the client's lines as they are: what a program wants to read."""
        self._console = console
        self._raw = raw
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Handle a piece of output and print the lines that it completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._print(line.decode("utf-8", errors="replace").rstrip("\r"))

    def finish(self) -> None:
        """Print a last line that has no line end."""
        if self._rest:
            self.feed(b"\n")

    def _print(self, line: str) -> None:
        terminal = self._console.is_terminal
        if self._raw:
            try:
                self._console.file.write(f"{without_controls(line) if terminal else line}\n")
                self._console.file.flush()
            except BrokenPipeError:
                self._console.on_broken_pipe()
            return
        parts = readable_line(line)
        if parts is None:
            if line.strip():
                self._console.out(without_controls(line), style="red" if terminal else None, highlight=False)
            return
        code, url, duration = parts
        self._console.out(f"[{code}]", style=line_colour(code), highlight=False, end="")
        self._console.out(f" {url} : {duration}", highlight=False)
