"""Libraries that a need can name beside programs: ``gem:curb`` of Ruby, ``pkg-config:libcurl`` of C."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from httpdyno.subjects.environment import tool_environment

__all__ = ["LIBRARY_KINDS", "find_library", "forget"]

_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_LONGEST_S: Final = 30
_LIST_GEMS: Final = 'require "json"; puts JSON.dump(Gem::Specification.map { |gem| [gem.name, gem.version.to_s] }.to_h)'


def find_library(kind: str, name: str) -> str | None:
    """Find a library and return its version, digits and dots; empty when it does not say, None when it is not there.

    ``kind`` is one of ``LIBRARY_KINDS``.
    """
    said = _FINDERS[kind](name)
    if said is None:
        return None
    match = _VERSION.match(said)
    return match[0] if match else ""


def _find_gem(name: str) -> str | None:
    return _gems().get(name)


@cache
def _gems() -> Mapping[str, str]:
    """Every library that Ruby finds, asked for once: a dozen subjects need one each."""
    said = _ask("ruby", "-e", _LIST_GEMS)
    gems: dict[str, str] = json.loads(said) if said else {}
    return gems


def _find_package(name: str) -> str | None:
    return _ask("pkg-config", "--modversion", name)


def _ask(*argv: str) -> str | None:
    try:
        asked = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=tool_environment(os.environ),
            timeout=_LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


_FINDERS: Final[Mapping[str, Callable[[str], str | None]]] = {"gem": _find_gem, "pkg-config": _find_package}
LIBRARY_KINDS: Final = tuple(_FINDERS)
"""What stands before the colon."""


def forget() -> None:
    """Forget what was found: something has been installed since."""
    _gems.cache_clear()
