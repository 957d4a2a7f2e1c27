"""What Typer says of a command line that it cannot read, in the manner of all other errors: one line."""

import re
from collections.abc import Sequence
from typing import Final

from typer._click.exceptions import (
    BadOptionUsage,
    BadParameter,
    ClickException,
    MissingParameter,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.core import TyperOption

__all__ = ["of_environment", "usage_line"]

_LONGEST: Final = 60
"""So much of what was typed is repeated."""


def usage_line(error: ClickException, words: Sequence[str]) -> str | None:
    """Describe what is wrong with a command line, and where it stands how it is written.

    ``words`` is what was typed, ``httpdyno`` first. None when all has been said: no verb asks for the help.
    """
    if isinstance(error, NoArgsIsHelpError):
        return None
    said = _said(error)
    return f"{said}{' See' if said.endswith('?') else '; see'}: {_command(error, words)} -h"


def of_environment(variable: str) -> str:
    """Name an option that nobody has typed: a variable of the environment has set it."""
    return f"{variable} (environment)"


def _said(error: ClickException) -> str:
    if isinstance(error, MissingParameter):
        return f"{_name(error)} is missing"
    if isinstance(error, BadParameter) and error.param is not None:
        return f"{_name(error)}: {_refused_value(error)}"
    if isinstance(error, NoSuchOption):
        return f"{error.option_name}: there is no such option{_meant(error.possibilities or ())}"
    if isinstance(error, BadOptionUsage):
        takes_one = "requires" in error.message
        return f"{error.option_name}: {'its value is missing' if takes_one else 'takes no value'}"
    message = error.format_message().rstrip(".")
    if extra := re.search(r"unexpected extra argument.* \((.*)\)$", message):
        return f"{extra[1]}: more than it takes"
    if unknown := re.match(r"No such command ('.*?')[.]?(?: Did you mean ('.*?')[?])?$", message, re.DOTALL):
        return f"{unknown[1]}: there is no such verb" + (f"; did you mean {unknown[2]}?" if unknown[2] else "")
    return message


def _name(error: BadParameter) -> str:
    """Name an option as it is typed, or the variable of the environment that has set it."""
    param = error.param
    assert param is not None, "Typer knows which one is wrong"
    source = error.ctx.get_parameter_source(param.name or "") if error.ctx else None
    if source is not None and source.name == "ENVIRONMENT":
        return of_environment(str(param.envvar))
    if isinstance(param, TyperOption):
        return next((opt for opt in param.opts if opt.startswith("--")), param.opts[0])
    return param.display_name_raw


def _refused_value(error: BadParameter) -> str:
    cause = error.__cause__
    errors = getattr(cause, "errors", None)
    if errors is None or not isinstance(error.param, TyperOption):
        return error.message.rstrip(".")
    (first, *_) = errors()
    least, most = error.param.min, error.param.max
    whole = str(first["type"]).startswith("int") or isinstance(least, int)
    bounds = "" if least is None else f" of {least} or more" if most is None else f" from {least} to {most}"
    return f"{str(first['input'])[:_LONGEST]!r} is no {'whole ' if whole else ''}number{bounds}"


def _meant(names: Sequence[str]) -> str:
    return f"; did you mean {names[0]}?" if names else ""


def _command(error: ClickException, words: Sequence[str]) -> str:
    """Name the command whose help says more: where Typer does not tell, the verb that was typed."""
    context = error.ctx if isinstance(error, UsageError) else None
    if context is not None:
        return context.command_path
    verbs = words[1:3] if words[1:2] in (["subjects"], ["runs"]) else words[1:2]
    return " ".join(["httpdyno", *(word for word in verbs if not word.startswith("-"))])
