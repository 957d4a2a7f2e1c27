"""The verbs of the command line, and the results of a command: for tests that run them."""

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

from httpdyno.cli.verb import VerbCommand
from pages import command_line

CORRECT: Final = frozenset({"VALID", "ORIGIN_LIMITED", "DISTURBED", "UNSTEADY"})
"""Permitted validities of a correct client's trial: the machine of the tests may have other work."""

START: Final = (sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())")
"""The command as a process of its own."""

START_TO_MEASURE: Final = (
    sys.executable,
    "-c",
    "import sys; from httpdyno.cli import main, output; from httpdyno.lab import cool_down; "
    "cool_down.WINDOW_S = cool_down.LONGEST_S = cool_down.SHORTEST_WINDOW_S = 0.0; "
    "output.write_report = lambda run, path=None, report=None: path or run.folder / 'report.html'; sys.exit(main())",
)
"""The same for small runs, without the slow parts: it does not wait for a quiet machine, and draws no page."""


@dataclass(frozen=True)
class Ended:
    """Results of a command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its output with `--format json`."""
        return list(json.loads(self.out))

    def table(self, title: str) -> list[dict[str, str]]:
        """Return the rows of the table below a line that begins so, as printed: cells by their column."""
        names, rule, *below = f"\n{self.out}".partition(f"\n{title}")[2].splitlines()[1:]
        # Where a name begins, its column does; cells may be empty, and hold spaces.
        begins = [found.start() for found in re.finditer(r"(?<!\S)(?<!\S )\S", names)]
        columns = [slice(*ends) for ends in zip(begins, [*begins[1:], len(rule)], strict=True)]
        lines = takewhile(lambda line: line, (line[: len(rule)].rstrip() for line in below))
        return [{names[column].strip(): line[column].strip() for column in columns} for line in lines]


Command = Callable[..., Ended]
"""Runs `httpdyno` with the given arguments; `stdin=` pipes bytes in."""


@functools.cache
def all_commands() -> Mapping[str, VerbCommand]:
    """Return the command of each verb but the engine's, by its name: `subjects list`."""
    named = ((path.removeprefix("httpdyno "), command) for path, command in command_line.all_commands())
    return MappingProxyType({name: command for name, command in named if name not in command_line.ENGINE_VERBS})
