"""The reference page of the command line, generated from the commands themselves."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer.main

from httpdyno.cli.app import app
from httpdyno.cli.verb import examples_text

__all__ = ["ENGINE_VERBS", "command_line_page"]

ENGINE_VERBS: Final = ("room", "origin", "load", "fetch", "link")
"""Verbs that describe themselves: the engine's."""

_INTRODUCTION: Final = """# Command line

How it gets into `PATH`: [installing](../guide/install.md). This page is generated from the commands (`make docs`).

Results go to stdout, progress and messages to stderr; there are no colours and no bars when it is no terminal.

Exit codes: 0 done, 1 a check or threshold failed, 2 usage, 3 nothing, or too little, was measured, 4 a disk is full,
128 + N signal N came.
`room` ends with the status of its command: 128 + N when signal N ended it, 124 at its deadline, 125 when the engine
itself failed.

`HTTPDYNO_ENGINE` names another engine, `XDG_CACHE_HOME` another place for the builds of subjects, `NO_COLOR` turns
colours off. A variable beside an option does what the option does; a verb without that option ignores it, as `cost`
does `HTTP_VERSION`.
"""


def command_line_page(engine_help: Mapping[str, str]) -> str:
    """Write ``docs/reference/command-line.md``.

    Parameters
    ----------
    engine_help : mapping
        What the engine prints for ``--help`` of each of ``ENGINE_VERBS``.
    """
    sections = [_section(name, command, engine_help) for name, command in _commands(typer.main.get_command(app))]
    return "\n".join([_INTRODUCTION, *sections])


def _commands(group: Any, path: str = "httpdyno") -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # click's, untyped
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield f"{path} {name}", command
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _section(name: str, command: Any, engine_help: Mapping[str, str]) -> str:  # noqa: ANN401
    lines = [f"## {name}", "", " ".join((command.help or "").split()), ""]
    verb = name.rpartition(" ")[2]
    if verb in engine_help:
        return "\n".join([*lines, "```", engine_help[verb].strip(), "```", ""])
    lines += ["| | environment | default | |", "| --- | --- | --- | --- |"]
    lines += [_row(parameter) for parameter in command.params if not _is_help(parameter)]
    examples = examples_text(name.removeprefix("httpdyno "))
    return "\n".join([*lines, "", *(["```text", examples.strip(), "```", ""] if examples else [])])


def _is_help(parameter: Any) -> bool:  # noqa: ANN401
    return "--help" in parameter.opts


def _row(parameter: Any) -> str:  # noqa: ANN401
    name = parameter.opts[0]
    metavar = (parameter.metavar or "").replace("|-", " or -")
    # An argument has no name that is typed: people know it by what stands in its place.
    typed = name.startswith("-")
    shown = f"{_spellings(parameter)} {metavar}".strip() if typed else parameter.metavar or name.upper()
    default = "" if parameter.default in (None, "") or callable(parameter.default) else f"`{parameter.default}`"
    environment = f"`{parameter.envvar}`" if parameter.envvar else ""
    return f"| `{_escaped(shown)}` | {environment} | {default} | {_escaped(parameter.help or '')} |"


def _spellings(parameter: Any) -> str:  # noqa: ANN401
    """Return all that can be typed for an option, the short ones first; after a slash what turns it off."""
    either = (sorted(names, key=_is_long) for names in (parameter.opts, parameter.secondary_opts) if names)
    return " / ".join(", ".join(names) for names in either)


def _is_long(name: str) -> bool:
    return name.startswith("--")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
