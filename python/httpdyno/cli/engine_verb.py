"""A verb that the engine takes over: Typer knows its name alone, the shell is offered what the engine's help lists."""

import re
import subprocess
from typing import Any, Final

from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand

from httpdyno.cli.completion import complete_formats, complete_links, complete_own_webs
from httpdyno.errors import HttpdynoError
from httpdyno.lab.location import find_engine

__all__ = ["EngineVerb"]

_OPTION: Final = re.compile(r"^ +(?:-\w, )?(--[\w-]+)", re.MULTILINE)
_PATIENCE_S: Final = 2.0
_VALUES: Final = {"--web": complete_own_webs, "--link": complete_links, "--format": complete_formats}


class EngineVerb(TyperCommand):
    """``room``, ``origin``, ``load``, ``fetch`` or ``link``."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:  # noqa: ANN401  # Typer's own
        """Offer the options of the verb, and the webs and links that have a name."""
        before = ctx.args[-1:]
        if before and before[0] in _VALUES:
            return [CompletionItem(name) for name in _VALUES[before[0]](incomplete)]
        if self.name == "link" and not incomplete.startswith("-"):
            return [CompletionItem(name) for name in complete_links(incomplete)]
        if not incomplete.startswith("-") or "--" in ctx.args:
            return []
        return [CompletionItem(name) for name in _options(str(self.name)) if name.startswith(incomplete)]


def _options(verb: str) -> list[str]:

    try:
        said = subprocess.run(
            [find_engine(), verb, "-h"], capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (HttpdynoError, OSError, subprocess.SubprocessError):
        return []  # the command itself will say what is wrong
    return list(dict.fromkeys(_OPTION.findall(said.stdout)))
