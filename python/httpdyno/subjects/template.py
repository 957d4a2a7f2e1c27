"""Argv templates of load tools: their placeholders, and the loops that a tool can run."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from httpdyno.errors import InvalidSubject, InvalidValue, suggestion
from httpdyno.model import Loop, Subject, format_exact

_OF_THE_BUILD: Final = ("folder", "target", "engine")
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_RATES: Final = frozenset({"rate", "rate_per_connection"})
_PORTS: Final = {"http": 80, "https": 443}
SEQUENCES: Final = {
    True: "requests one after another on one connection",
    False: "requests one after another, each on a new connection",
}
_LOOPS: Final = {Loop.OPEN: "an open loop", Loop.CLOSED: "a closed loop"}


@dataclass(frozen=True, slots=True)
class Load:
    """Load that a tool sends."""

    url: str
    connections: int
    duration_s: float
    requests: int
    """Number of requests, for tools that end after a number instead of a time."""
    rate_per_s: float | None = None
    """Rate of an open loop, over all connections; None: a closed loop."""
    threads: int = 1
    timeout_s: float = 30.0
    method: str = "GET"
    headers: tuple[str, ...] = ()
    """Header lines, each as ``Name: value``."""
    content: str | None = None
    """Content of each request, as text; it needs a template of its own (``fill_content``)."""
    keepalive: bool = True

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an impossible load."""
        if self.connections < 1 or self.threads < 1 or not self.duration_s > 0 or self.requests < 1:
            raise InvalidValue("a load needs one connection, one thread, one request and some time at least")

    @property
    def loop(self) -> Loop:
        """The loop: open if there is a rate."""
        return Loop.CLOSED if self.rate_per_s is None else Loop.OPEN


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


_VALUES: Final[Mapping[str, Callable[[Load], str]]] = {
    "url": lambda load: load.url,
    "host": lambda load: urlsplit(load.url).hostname or "",
    "port": lambda load: str(urlsplit(load.url).port or _PORTS.get(urlsplit(load.url).scheme, 80)),
    "path": lambda load: _path(urlsplit(load.url)),
    "connections": lambda load: str(load.connections),
    "threads": lambda load: str(load.threads),
    "duration_s": lambda load: format_exact(load.duration_s),
    "requests": lambda load: str(load.requests),
    "rate": lambda load: format_exact(load.rate_per_s or 0.0),
    "rate_per_connection": lambda load: format_exact((load.rate_per_s or 0.0) / load.connections),
    "timeout_s": lambda load: format_exact(load.timeout_s),
    "method": lambda load: load.method,
    "content": lambda load: load.content or "",
    "keepalive": lambda load: str(load.keepalive).lower(),
}
"""The values of the placeholders of a load. The build fills in ``{folder}``, ``{target}`` and ``{engine}``."""
_HEADERS: Final = "headers"


def check_template(argv: Sequence[str], *, section: str) -> None:
    """Raise ``InvalidSubject`` for an unknown placeholder; the message names the section of ``subject.toml``."""
    known = (*_VALUES, _HEADERS, *_OF_THE_BUILD)
    for name in _names(argv):
        if name not in known:
            raise InvalidSubject(f"{section}.argv: unknown placeholder {name!r}; {suggestion(name, known)}")


def loops_of(tool: Subject) -> tuple[Loop, ...]:
    """Return the loops that a tool can run, by its templates.

    A template with a rate is for an open loop, also under ``[run]``.
    """
    closed = not _RATES.intersection(_names(tool.run_argv))
    opened = bool(tool.open_argv) or not closed
    return tuple(loop for loop, can in ((Loop.CLOSED, closed), (Loop.OPEN, opened)) if can)


def fill_template(tool: Subject, load: Load) -> tuple[str, ...]:
    """Return the command of a tool for a load; keeps ``{folder}`` and ``{target}``.

    The argument ``{headers}`` becomes one header: it is repeated for each, together with the option before
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
    argv: list[str] = []
    for part in template:
        if part == f"{{{_HEADERS}}}":
            option = argv.pop()
            argv += [word for header in load.headers for word in (option, header)]
        else:
            argv.append(_PLACE.sub(lambda found: _VALUES[found[1]](load) if found[1] in _VALUES else found[0], part))
    return tuple(argv)


def _names(argv: Sequence[str]) -> list[str]:
    return [name for part in argv for name in _PLACE.findall(part)]
