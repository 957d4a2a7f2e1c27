"""Errors of a command as one line on stderr, and its exit code."""

from __future__ import annotations

import errno
import sys

from httpdyno.errors import HttpdynoError, Interrupted, StorageFull
from httpdyno.lab.interruption import interrupted_exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer import Typer


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command; return its exit code.

    0 done, 1 a check or threshold failed, 2 usage, 3 nothing, or too little, was measured, 4 a disk is full, 128 + N
    signal N came.
    """
    try:
        ended = command()
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        from httpdyno.cli.terminal import silence, tell

        # What was not written is not tried again at the end of the program.
        silence()
        tell(f"{error.filename or 'standard output'}: {error.strerror}; free some space")
        return StorageFull.exit_code
    except HttpdynoError as error:
        from httpdyno.cli.terminal import tell  # heavy: imported only for errors

        tell(error.line)
        return interrupted_exit_code() if isinstance(error, Interrupted) else error.exit_code
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except RuntimeError as way_out:
        # Typer's own exit: only a command that has imported Typer can raise it.
        typer = sys.modules.get("typer")
        if typer is None or not isinstance(way_out, typer.Exit):
            raise
        return int(way_out.exit_code)
    return ended if isinstance(ended, int) else 0


def exit_code_of_typer(app: Typer, prog_name: str, words: Sequence[str]) -> int:
    """Run the command that Typer reads from words; return its exit code, with errors of usage in one line, too."""
    from typer._click.exceptions import ClickException

    from httpdyno.cli.terminal import tell
    from httpdyno.cli.verb import usage_line

    try:
        return exit_code_of(lambda: app(prog_name=prog_name, args=list(words), standalone_mode=False))
    except ClickException as error:
        if line := usage_line(error, [*prog_name.split(), *words]):
            tell(line)
        return error.exit_code
