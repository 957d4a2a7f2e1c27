"""Lines on stderr: on a terminal, the line of a running command is replaced by the next one."""

import sys


def show_line(text: str, *, is_kept: bool = False) -> None:
    """Print a line to stderr; on a terminal, the next one replaces it unless it is kept."""
    from httpdyno.report.cell import without_controls

    is_screen = sys.stderr.isatty()
    begin, end = ("\r\x1b[K", "\n" if is_kept else "") if is_screen else ("", "\n")
    sys.stderr.write(f"{begin}httpdyno: {without_controls(text)}{end}")
    sys.stderr.flush()
