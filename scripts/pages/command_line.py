"""The reference page of the command line, generated from the commands themselves."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from httpdyno.cli import ENGINE_VERBS
from httpdyno.cli.app import app
from httpdyno.cli.verb import VerbCommand, VerbGroup, examples_text, option_spellings

__all__ = ["ENGINE_VERBS", "all_commands", "command_line_page", "command_line_pages"]

_INTRODUCTION: Final = """# Command line

How to install it: [getting started](../../start.md). These pages are generated from the commands (`make docs`).

Results go to stdout, progress and messages to stderr. Without a terminal there are no colours and no progress bars.

Exit codes: 0 done, 1 a check or threshold failed, 2 usage, 3 nothing, or too little, was measured, 4 a disk is full,
128 + N signal N stopped the command.
`room` exits with the status of its command: 128 + N if signal N ended it, 124 at its deadline, 125 if the engine
failed.

`HTTPDYNO_ENGINE` names another engine, `XDG_CACHE_HOME` another folder for the builds of subjects, `NO_COLOR` turns
colours off. The column *environment* names the variable that sets an option; a verb without that option ignores it, as
`cost` does `HTTP_VERSION`.
"""

_SECTION: Final = "\n## httpdyno "


def command_line_page(engine_help: Mapping[str, str]) -> str:
    """Write the reference of all commands as one text.

    Parameters
    ----------
    engine_help : mapping
        What the engine prints for ``--help`` of each of ``ENGINE_VERBS``.
    """
    sections = [_section(name, command, engine_help) for name, command in all_commands()]
    return "\n".join([_INTRODUCTION, *sections])


def command_line_pages(engine_help: Mapping[str, str]) -> dict[str, str]:
    """Write ``docs/reference/cli``: an index, and a page for each verb with its subcommands.

    Parameters
    ----------
    engine_help : mapping
        As for ``command_line_page``.

    Returns
    -------
    dict
        The text of each page by the name of its file.
    """
    introduction, *sections = command_line_page(engine_help).split(_SECTION)
    of_verb: dict[str, list[str]] = {}
    for section in sections:
        of_verb.setdefault(section.split(maxsplit=1)[0], []).append(section.rstrip("\n"))
    lines = ["| command | |", "| --- | --- |", *(_index_row(one, verb) for verb in of_verb for one in of_verb[verb])]
    pages = {f"{verb}.md": _page(verb, of_verb[verb]) for verb in of_verb}
    return {"README.md": "\n".join([introduction.rstrip("\n"), "", *lines, ""]), **pages}


def _index_row(section: str, verb: str) -> str:
    name, _, text = section.partition("\n")
    summary = re.split(r"(?<=\.) ", text.strip().partition("\n")[0], maxsplit=1)[0]
    return f"| [`httpdyno {name}`]({verb}.md) | {_escaped(summary)} |"


def _page(verb: str, sections: Sequence[str]) -> str:
    if [section.partition("\n")[0] for section in sections] == [verb]:
        return f"# httpdyno {sections[0]}\n"
    return "".join([f"# httpdyno {verb}\n", *(f"{_SECTION}{section}\n" for section in sections)])


def all_commands(group: VerbGroup = app, path: str = "httpdyno") -> Iterator[tuple[str, VerbCommand]]:
    """List the verbs as they are typed, those below a group, too; and a group that is a verb itself."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert isinstance(command, VerbCommand), name
        if not isinstance(command, VerbGroup) or command.invoke_without_command:
            yield f"{path} {name}", command
        if isinstance(command, VerbGroup):
            yield from all_commands(command, f"{path} {name}")


def _section(name: str, command: VerbCommand, engine_help: Mapping[str, str]) -> str:
    lines = [f"## {name}", "", " ".join((command.help or "").split()), ""]
    verb = name.rpartition(" ")[2]
    if verb in engine_help:
        return "\n".join([*lines, "```", engine_help[verb].strip(), "```", ""])
    lines += ["| | environment | default | |", "| --- | --- | --- | --- |"]
    lines += [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    examples = examples_text(command.examples)
    return "\n".join([*lines, "", *(["```text", examples.strip(), "```", ""] if examples else [])])


def _row(parameter: click.Parameter) -> str:
    metavar = (parameter.metavar or "").replace("|-", " or -")
    # An argument has no name that is typed: help shows the word that stands for it.
    shown = parameter.metavar or ""
    if isinstance(parameter, click.Option):
        shown = option_spellings(parameter).replace(parameter.metavar or "", metavar)
    default = "" if parameter.required or parameter.default in (None, "") else f"`{parameter.default}`"
    environment = f"`{parameter.envvar}`" if parameter.envvar else ""
    return f"| `{_escaped(shown)}` | {environment} | {default} | {_escaped(parameter.help or '')} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
