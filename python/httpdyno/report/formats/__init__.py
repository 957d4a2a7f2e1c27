"""The formats of tables: each module here is a format and has ``render(table, surface) -> str``."""

import os
import pkgutil
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, TextIO

from httpdyno.errors import UnknownName
from httpdyno.model import Table


@dataclass(frozen=True, slots=True)
class Surface:
    """Output capabilities. The default is a file or a pipe: no colour, no limit of width."""

    colour: bool = False
    width: int | None = None
    """Characters on a line; None: no limit, nothing is ever cut."""

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] = os.environ) -> "Surface":
        """Describe a stream: a terminal has a width, and colours unless ``NO_COLOR`` is set or the terminal is dumb."""
        if not stream.isatty():
            return cls()
        colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        return cls(colour=colour, width=shutil.get_terminal_size().columns)


_PLAIN: Final = Surface()


def format_names() -> tuple[str, ...]:
    """List the formats by name, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def render(table: Table, name: str, surface: Surface = _PLAIN) -> str:
    """Write a table as text in the format of that name; it ends with a line feed."""
    known = format_names()
    if name not in known:
        raise UnknownName(f"no format {name!r}; choose from: {', '.join(known)}")
    text: str = import_module(f"{__name__}.{name}").render(table, surface)
    return text
