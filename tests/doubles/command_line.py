"""The verbs of the command line, and what a command left: for tests that run them."""

import functools
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

from typer.core import TyperGroup
from typer.main import get_command

from httpdyno.cli.app import app
from pages.command_line import ENGINE_VERBS

CORRECT: Final = frozenset({"VALID", "ORIGIN_LIMITED", "DISTURBED", "UNSTEADY"})
"""What the trial of a correct client may be: nobody keeps the machine of the tests from having other work."""

START: Final = (sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())")
"""The command as a process of its own."""

START_TO_MEASURE: Final = (
    sys.executable,
    "-c",
    "import sys; from httpdyno.cli import main, output; from httpdyno.lab import cool_down; "
    "cool_down.WINDOW_S = cool_down.LONGEST_S = cool_down.SHORTEST_WINDOW_S = 0.0; "
    "output.write_page = lambda report, path: path; sys.exit(main())",
)
"""The same for small runs, without what takes longer than they do: it waits for no quiet machine, and draws no page."""


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What it printed with `--format json`."""
        return list(json.loads(self.out))

    def table(self, title: str) -> list[dict[str, str]]:
        """Give the rows of the table below a line that begins so, as people see them: cells by their column."""
        names, rule, *below = f"\n{self.out}".partition(f"\n{title}")[2].splitlines()[1:]
        # Where a name begins, its column does; cells may be empty, and hold spaces.
        begins = [found.start() for found in re.finditer(r"(?<!\S)(?<!\S )\S", names)]
        columns = [slice(*ends) for ends in zip(begins, [*begins[1:], len(rule)], strict=True)]
        lines = takewhile(lambda line: line, (line[: len(rule)].rstrip() for line in below))
        return [{names[column].strip(): line[column].strip() for column in columns} for line in lines]


Command = Callable[..., Ended]
"""Runs `httpdyno` with the given arguments; `stdin=` pipes bytes in."""


@functools.cache
def all_commands() -> Mapping[str, Any]:
    """Give Typer's command for each verb but the engine's, by its name: `subjects list`."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return MappingProxyType(dict(_commands(group)))


def _commands(group: TyperGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            if command.invoke_without_command:
                yield name, command
            yield from _commands(command, f"{name} ")
        elif name not in ENGINE_VERBS:
            yield f"{path}{name}", command
