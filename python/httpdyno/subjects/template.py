"""Argv templates of load tools: their placeholders, and the loops that a tool can run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from httpdyno.errors import InvalidSubject, InvalidValue, suggestion
from httpdyno.model import Loop, Subject, format_exact

PLACEHOLDERS: Final = (
    "url",
    "host",
    "port",
    "path",
    "connections",
    "threads",
    "duration_s",
    "requests",
    "rate",
    "rate_per_connection",
    "timeout_s",
    "method",
    "headers",
    "content",
    "keepalive",
)
"""Placeholders of a load; ``{folder}``, ``{target}`` and ``{engine}`` are filled in by the build."""

_OF_THE_BUILD: Final = ("folder", "target", "engine")
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_RATES: Final = frozenset({"rate", "rate_per_connection"})
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Load:
    """Load that a tool sends."""

    url: str
    connections: int
    duration_s: float
    requests: int
    """For tools that end after a number instead of a time."""
    rate_per_s: float | None = None
    """Of an open loop, all connections together; None: a closed one."""
    threads: int = 1
    timeout_s: float = 30.0
    method: str = "GET"
    headers: tuple[str, ...] = ()
    """Each as ``Name: value``."""
    content: str | None = None
    """What is sent with each request, as text; it takes a template of its own (``fill_content``)."""
    keepalive: bool = True

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an impossible load."""
        if self.connections < 1 or self.threads < 1 or not self.duration_s > 0 or self.requests < 1:
            raise InvalidValue("a load needs one connection, one thread, one request and some time at least")

    @property
    def loop(self) -> Loop:
        """Open when there is a rate."""
        return Loop.CLOSED if self.rate_per_s is None else Loop.OPEN


def check_template(argv: Sequence[str], *, section: str) -> None:
    """Raise ``InvalidSubject`` for an unknown placeholder; the message names the section of ``subject.toml``."""
    known = (*PLACEHOLDERS, *_OF_THE_BUILD)
    for name in _names(argv):
        if name not in known:
            raise InvalidSubject(f"{section}.argv: unknown placeholder {name!r}; {suggestion(name, known)}")


def loops_of(tool: Subject) -> tuple[Loop, ...]:
    """Return the loops that a tool can run, by its templates.

    A template with a rate is that of an open loop, also under ``[run]``.
    """
    closed = not _RATES.intersection(_names(tool.run_argv))
    opened = bool(tool.open_argv) or not closed
    return tuple(loop for loop, can in ((Loop.CLOSED, closed), (Loop.OPEN, opened)) if can)


def fill_template(tool: Subject, load: Load) -> tuple[str, ...]:
    """Return the command of a tool for a load; keeps ``{folder}`` and ``{target}``.

    An argument that is ``{headers}`` stands for one header: it is repeated for each, together with the option before
    it; without headers both are left out.
    """
    if load.loop not in loops_of(tool):
        raise InvalidValue(
            f"{tool.id}: cannot run {_LOOPS[load.loop]}: its subject.toml has no template for one; name another tool"
        )
    template = tool.open_argv if load.loop is Loop.OPEN and tool.open_argv else tool.run_argv
    return _fill(template, load)


def fill_sequence(tool: Subject, load: Load) -> tuple[str, ...]:
    """Return the command of a tool that sends the requests of a load one after another, as ``fill_template`` does."""
    template = tool.sequence_argv if load.keepalive else tool.sequence_close_argv
    if not template:
        raise InvalidValue(
            f"{tool.id}: cannot send {SEQUENCES[load.keepalive]}: its subject.toml has no template for it;"
            " name another tool"
        )
    return _fill(template, load)


def fill_content(tool: Subject, load: Load) -> tuple[str, ...]:
    """Return the command of a tool that sends content with its requests, as ``fill_template`` does."""
    if not tool.content_argv:
        raise InvalidValue(
            f"{tool.id}: cannot send content: its subject.toml has no template for that, [content]; name another tool"
        )
    if load.loop is Loop.OPEN:
        raise InvalidValue(f"{tool.id}: cannot send content in {_LOOPS[Loop.OPEN]}; name httpdyno-load, which can")
    return _fill(tool.content_argv, load)


def _fill(template: Sequence[str], load: Load) -> tuple[str, ...]:
    values = _values(load)
    argv: list[str] = []
    for part in template:
        if part == "{headers}":
            option = argv.pop()
            argv += [word for header in load.headers for word in (option, header)]
        else:
            argv.append(_PLACE.sub(lambda found: values.get(found[1], found[0]), part))
    return tuple(argv)


SEQUENCES: Final = {
    True: "requests one after another on one connection",
    False: "requests one after another, each on a connection of its own",
}
_LOOPS: Final = {Loop.OPEN: "an open loop", Loop.CLOSED: "a closed loop"}


def _values(load: Load) -> dict[str, str]:
    parts = urlsplit(load.url)
    rate = load.rate_per_s or 0.0
    return {
        "url": load.url,
        "host": parts.hostname or "",
        "port": str(parts.port or _PORTS.get(parts.scheme, 80)),
        "path": (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        "connections": str(load.connections),
        "threads": str(load.threads),
        "duration_s": format_exact(load.duration_s),
        "requests": str(load.requests),
        "rate": format_exact(rate),
        "rate_per_connection": format_exact(rate / load.connections),
        "timeout_s": format_exact(load.timeout_s),
        "method": load.method,
        "content": load.content or "",
        "keepalive": str(load.keepalive).lower(),
    }


def _names(argv: Sequence[str]) -> list[str]:
    return [name for part in argv for name in _PLACE.findall(part)]
