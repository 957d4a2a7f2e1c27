"""Finds the formats: each module of ``httpdyno.report.formats`` is one, under its own name."""

import pkgutil
from importlib import import_module
from typing import Final, Protocol, cast

from httpdyno.errors import UnknownName
from httpdyno.model import Table
from httpdyno.report import formats
from httpdyno.report.surface import Surface

__all__ = ["format_names", "render"]

_PLAIN: Final = Surface()


class _Format(Protocol):
    def render(self, table: Table, surface: Surface) -> str:
        """Write a table as text that ends with a line feed."""


def format_names() -> tuple[str, ...]:
    """List the formats by name, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(formats.__path__)))


def render(table: Table, name: str, surface: Surface = _PLAIN) -> str:
    """Write a table as text in the format of that name."""
    known = format_names()
    if name not in known:
        raise UnknownName(f"no format {name!r}; known are: {', '.join(known)}")
    return cast(_Format, import_module(f"{formats.__name__}.{name}")).render(table, surface)
