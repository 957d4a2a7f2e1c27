"""Where a report is shown: whether there are colours, and how much fits on a line."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

__all__ = ["Surface"]


@dataclass(frozen=True, slots=True)
class Surface:
    """What a report may use. The default is a file or a pipe: no colour, no limit."""

    colour: bool = False
    width: int | None = None
    """Characters on a line; None: no limit, nothing is ever cut."""

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] = os.environ) -> "Surface":
        """Describe a stream: a terminal has a width, and colours unless ``NO_COLOR`` is set or it is a dumb one."""
        if not stream.isatty():
            return cls()
        colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        return cls(colour=colour, width=shutil.get_terminal_size().columns)
