"""What a subject needs before it can be built: which programs there are, in which version, and how to get them."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model import Need, Subject
from httpdyno.subjects.environment import tool_environment

__all__ = ["Miss", "ProgramVersion", "check_needs", "find_program", "install_line", "parse_constraint"]

_CONSTRAINT: Final = re.compile(r"\s*(?P<operator>>=|<=|==|!=|>|<)\s*(?P<version>[0-9]+(?:\.[0-9]+)*)\s*")
_VERSION: Final = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)+)")
_OPERATORS: Final[Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    ">=": lambda found, wanted: found >= wanted,
    "<=": lambda found, wanted: found <= wanted,
    "==": lambda found, wanted: found == wanted,
    "!=": lambda found, wanted: found != wanted,
    ">": lambda found, wanted: found > wanted,
    "<": lambda found, wanted: found < wanted,
}
_VERSION_ARGUMENTS: Final[Mapping[str, str]] = {"go": "version", "java": "-version", "javac": "-version"}
"""How a program is asked for its version, where it is not ``--version``."""

_INSTALL_LINES: Final[Mapping[str, str]] = {
    "cargo": "curl -sSf https://sh.rustup.rs | sh",
    "cc": "apt-get install build-essential",
    "chromium": "apt-get install chromium",
    "go": "apt-get install golang-go",
    "java": "apt-get install default-jdk-headless",
    "javac": "apt-get install default-jdk-headless",
    "mvn": "apt-get install maven",
    "node": "apt-get install nodejs",
    "npm": "apt-get install npm",
    "python3": "apt-get install python3 python3-venv",
    "rustc": "curl -sSf https://sh.rustup.rs | sh",
    "uv": "pip install uv",
}


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """A program that was found."""

    program: str
    path: Path
    version: str
    """Digits and dots; empty when the program does not say."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A need that this machine does not meet."""

    subject: str
    need: Need
    found: str | None
    """The version that was found; None when the program is not there."""

    def __str__(self) -> str:
        """One line: what is needed, what was found, what to install."""
        wanted = f"{self.need.program} {self.need.version}".rstrip(" *")
        cure = f"install it with: {install_line(self.need.program)}"
        return f"{self.subject}: needs {wanted}, found {self.found or 'none'}; {cure}"


def install_line(program: str) -> str:
    """Give the command that installs a program on a Debian or Ubuntu machine."""
    return _INSTALL_LINES.get(program, f"apt-get install {program}")


def parse_constraint(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Read a constraint such as ``>=1.22`` or ``>=3.11,<4``; empty and ``*`` allow every version.

    Returns
    -------
    tuple of (operator, version)
        All of them must hold.

    Raises
    ------
    InvalidValue
        If the text is no such constraint.
    """
    if text.strip() in {"", "*"}:
        return ()
    parts = []
    for part in text.split(","):
        match = _CONSTRAINT.fullmatch(part)
        if match is None:
            raise InvalidValue(f"needs: {text!r} is not understood; write it like '>=1.22' or '>=3.11,<4'")
        parts.append((match["operator"], _numbers(match["version"])))
    return tuple(parts)


def satisfies(version: str, constraint: str) -> bool:
    """Whether a version, such as ``1.26.8``, meets a constraint; missing parts count as 0, as 1.22 is 1.22.0."""
    if not version:
        return not parse_constraint(constraint)
    found = _numbers(version)
    for operator, wanted in parse_constraint(constraint):
        width = max(len(found), len(wanted))
        if not _OPERATORS[operator](_padded(found, width), _padded(wanted, width)):
            return False
    return True


def check_needs(subject: Subject, find: Callable[[str], ProgramVersion | None] | None = None) -> tuple[Miss, ...]:
    """Compare a subject's needs with what there is.

    Parameters
    ----------
    subject : Subject
        Whose ``[needs]`` are checked.
    find : callable, optional
        Looks a program up; default: this machine.

    Returns
    -------
    tuple of Miss
        Empty when the subject can be built.
    """
    look_up = find or find_program
    misses = []
    for need in subject.needs:
        found = look_up(need.program)
        if found is None or not satisfies(found.version, need.version):
            version = None if found is None else found.version or "an unknown version"
            misses.append(Miss(subject.id, need, version))
    return tuple(misses)


def toolchain(needs: Iterable[Need]) -> dict[str, str]:
    """Versions of the needed programs, by name; a program that is not there is left out."""
    found = (find_program(need.program) for need in needs)
    return {item.program: item.version for item in found if item is not None}


@cache
def find_program(program: str) -> ProgramVersion | None:
    """Find a program on the path, together with the version it claims; None when it is not there or does not start."""
    environment = tool_environment(os.environ)
    path = shutil.which(program, path=environment["PATH"])
    if path is None:
        return None
    try:
        asked = subprocess.run(
            [path, _VERSION_ARGUMENTS.get(program, "--version")],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            # Not the caller's folder: a go.mod or a .python-version there would answer for the program.
            cwd="/",
            env={**environment, "GOTOOLCHAIN": "local"},
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode != 0:
        return None
    match = _VERSION.search(asked.stdout + asked.stderr)
    return ProgramVersion(program, Path(path), match[1] if match else "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _padded(version: tuple[int, ...], width: int) -> tuple[int, ...]:
    return version + (0,) * (width - len(version))
