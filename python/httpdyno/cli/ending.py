"""Errors of a command as one line on stderr, and its exit code."""

from __future__ import annotations

import errno
import sys

import click

from httpdyno.cli.verb import UnknownVerb, spelled_name
from httpdyno.errors import HttpdynoError, Interrupted, StorageFull
from httpdyno.lab.interruption import interrupted_exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run_command(command: click.Command, words: Sequence[str]) -> int:
    """Run the command with these words; return its exit code.

    0: done, 1: a check or threshold failed, 2: usage, 3: nothing or too little was measured, 4: a disk is full,
    128 + N: ended by signal N.
    """
    try:
        with command.make_context("httpdyno", list(words)) as context:
            command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as way_out:
        return way_out.exit_code
    except click.ClickException as error:
        return _print_usage_error(error, words)
    except OSError as error:
        return _print_system_error(error)
    except HttpdynoError as error:
        from httpdyno.cli.terminal import tell  # heavy: imported only for errors

        tell(error.line)
        return interrupted_exit_code() if isinstance(error, Interrupted) else error.exit_code
    except KeyboardInterrupt:
        return Interrupted.exit_code
    return 0


def _print_system_error(error: OSError) -> int:
    """Print that a disk is full, end quietly when the reader of stdout has closed it, and raise all other errors."""
    from httpdyno.cli.terminal import silence, tell

    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE):
        raise error
    # Python must not try to write the remaining output again when the program ends.
    silence()
    if error.errno == errno.EPIPE:
        return 1
    tell(f"{error.filename or 'standard output'}: {error.strerror}; free some space")
    return StorageFull.exit_code


def _print_usage_error(error: click.ClickException, words: Sequence[str]) -> int:
    """Print an error in a command line, and the command that prints the help; without a verb print the help itself."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        try:
            click.echo(error.message)
        except OSError as failure:
            return _print_system_error(failure)
    else:
        from httpdyno.cli.terminal import tell

        if isinstance(error, click.UsageError) and error.ctx is not None:
            command = error.ctx.command_path
        else:
            verbs = words[:2] if words[:1] in (["subjects"], ["runs"]) else words[:1]
            command = " ".join(["httpdyno", *(word for word in verbs if not word.startswith("-"))])
        near = _suggested(error)
        tell(f"{_error_text(error)}; {f'did you mean {near}? See' if near else 'see'}: {command} -h")
    return error.exit_code


def _suggested(error: click.ClickException) -> str:
    """Return the known option or verb that is closest to an unknown one; empty without one."""
    if isinstance(error, click.NoSuchOption):
        return next(iter(error.possibilities or ()), "")
    return error.near if isinstance(error, UnknownVerb) else ""


def _error_text(error: click.ClickException) -> str:
    if isinstance(error, click.MissingParameter):
        assert error.param is not None, "Click names the parameter"
        return f"{spelled_name(error.param, error.ctx)} is missing"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{spelled_name(error.param, error.ctx)}: {error.message.rstrip('.')}"
    if isinstance(error, click.NoSuchOption):
        return f"{error.option_name}: unknown option"
    if isinstance(error, click.BadOptionUsage):
        options = error.ctx.command.params if error.ctx else []
        is_flag = any(getattr(one, "is_flag", False) for one in options if error.option_name in one.opts)
        return f"{error.option_name}: {'takes no value' if is_flag else 'its value is missing'}"
    return error.format_message().rstrip(".")
